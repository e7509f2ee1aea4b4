"""The recorded cases of keys, parts, rewards, interventions, steps and trajectories.

Equal, but for what is listed with its reason: where RLinf goes on in silence with rows
that don't belong together, ours refuses.
"""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from isoscope.core.trajectory import keys, values, weights_id
from isoscope.core.trajectory.errors import (
    TrajectoryError,
    TrajectoryKeyError,
    TrajectoryRuntimeError,
    TrajectoryValueError,
)
from tests.golden import (
    ACCIDENTS,
    DATA,
    OURS,
    Case,
    assert_same,
    cases_of,
    class_of,
)

GROUPS = (
    "sources",
    "batch_values",
    "transport",
    "rewards",
    "history_rewards",
    "interventions",
    "steps",
    "trajectory",
)
FUNCTIONS: dict[str, Any] = {
    "split_batch_value": values.split_batch_value,
    "merge_batch_values": values.merge_batch_values,
    "split_episode_data": values.split_episode_data,
    "merge_episode_data": values.merge_episode_data,
    "get_model_weights_id": weights_id.get_model_weights_id,
    "TrajectorySource.split": keys.TrajectorySource.split,
    "TrajectorySource.merge": keys.TrajectorySource.merge,
}
# H13: RLinf lets the policy's flags overwrite the environment's; ours does with the
# option of that name, and is compared with it.
OVERWRITING = {"policy_overwrites": True}

CASES = [
    pytest.param(case, id=f"{group}-{case.name}")
    for group in GROUPS
    for case in cases_of(group)
]


def called(case: Case) -> tuple[Any, dict[str, Any]]:
    """Make a case's call; its result, and its arguments as they are afterwards."""
    arguments = case.decoded()
    if case.call in FUNCTIONS:
        return FUNCTIONS[case.call](**arguments), arguments
    kind, _, name = case.call.partition(".")
    found = class_of(kind)
    if not name:
        return found(**arguments), arguments
    if "self" in arguments:
        given = {k: v for k, v in arguments.items() if k != "self"}
        method = getattr(arguments["self"], name)
        return (method(**given) if callable(method) else method), arguments
    options = OVERWRITING if name == "from_parts" else {}
    return getattr(found, name)(**arguments, **options), arguments


def difference(case: Case) -> type[Exception] | None:
    """What ours refuses a case with that gives a result in RLinf; told by its data."""
    if case.raises:
        return None
    if "split_sizes" in case.args and case.call.endswith(("split", "batch_value")):
        total = case.args["split_sizes"]
        lengths = {len(case.tensors[each["$a"]]) for each in arrays_in(case.args)}
        if isinstance(total, list) and lengths - {sum(total)}:
            return TrajectoryRuntimeError  # section 9, 12: the last takes what is left
    if case.call == "Trajectory.from_steps":
        return uneven(case.args["steps"], whole=True)
    if case.call == "Trajectory.to_batch":
        return uneven(case.args["trajectories"], whole=False)
    return None


def arrays_in(value: Any) -> list[dict[str, str]]:
    """Every array that is written in an argument."""
    if isinstance(value, list):
        return [each for item in value for each in arrays_in(item)]
    if not isinstance(value, dict):
        return []
    return [value] if "$a" in value else arrays_in(list(value.values()))


def uneven(records: list[Any], *, whole: bool) -> type[Exception] | None:
    """H5: rows, or environments, of a field would belong to others than its fellows'.

    Of a batch, only what the first one has counts.
    """
    plain = [r for r in records if isinstance(r, dict)]
    first = plain[0] if plain else {}
    names = {n for r in plain for n in r} if whole else set(first)
    extra = ("initial_", "final_")  # of the chunks that an epoch begins or ends with
    for name in sorted(names):
        values = [record.get(name) for record in plain]
        trees = [value for value in values if isinstance(value, dict)]
        if trees and not any("$t" in tree for tree in trees):
            filled = [bool(tree) for tree in trees]
            if whole and len(set(filled)) > 1:
                return TrajectoryKeyError
            if not whole and any(set(first[name]) - set(tree) for tree in trees):
                return TrajectoryValueError
        elif None in values and not (whole and name.startswith(extra)):
            return TrajectoryValueError
    return None


@pytest.mark.parametrize("case", CASES)
def test_recorded(case: Case) -> None:
    kind = difference(case)
    if kind or case.raises:
        with pytest.raises(TrajectoryError) as caught:
            called(case)
        assert "\n" not in str(caught.value)
        assert ";" in str(caught.value) or ":" in str(caught.value)
        if kind:
            assert isinstance(caught.value, kind)
        elif case.raises not in ACCIDENTS:
            assert isinstance(caught.value, getattr(builtins, str(case.raises)))
    else:
        result, arguments = called(case)
        if case.after:
            result = {"return": result, **{k: arguments[k] for k in case.after}}
        assert_same(case.expect, result, case.tensors)


def test_differences_are_these() -> None:
    cases = [case for group in GROUPS for case in cases_of(group)]
    found = {case.name: difference(case) for case in cases if difference(case)}
    listed: dict[str, type[Exception]] = {
        # Section 9, 12: the last shard would take what the sizes don't account for.
        "split_array_short_sizes": TrajectoryRuntimeError,
        # H5: rows of this field would belong to other chunks than those of the others.
        "rewards_missing_on_one": TrajectoryValueError,
        "forward_inputs_on_one": TrajectoryKeyError,
        # H5 once more, along the batch: its environments would be others.
        "batch_field_missing_second": TrajectoryValueError,
        "batch_key_missing_second": TrajectoryValueError,
    }
    for name in found.keys() & listed.keys():
        assert found[name] is listed[name]
    if DATA == OURS:
        assert found == listed
