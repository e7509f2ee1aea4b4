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
from tests.golden import Case, assert_same, cases_of, class_of

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
# RLinf gives a result; ours refuses with this type, because of this.
REFUSED = {
    # Section 9, 12: the last shard would take what the sizes don't account for.
    "split_array_short_sizes": (TrajectoryRuntimeError, "don't fit shape"),
    # H5: rows of this field would belong to other chunks than those of the others.
    "rewards_missing_on_one": (TrajectoryValueError, "rewards"),
    "forward_inputs_on_one": (TrajectoryKeyError, "forward_inputs['action']"),
    # H5 once more, along the batch: its environments would be others.
    "batch_field_missing_second": (TrajectoryValueError, "rewards"),
    "batch_key_missing_second": (
        TrajectoryValueError,
        "forward_inputs['model_action']",
    ),
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


@pytest.mark.parametrize("case", CASES)
def test_recorded(case: Case) -> None:
    if case.name in REFUSED:
        kind, names = REFUSED[case.name]
        with pytest.raises(kind) as refused:
            called(case)
        assert names in str(refused.value)
    elif case.raises:
        with pytest.raises(getattr(builtins, case.raises)) as caught:
            called(case)
        assert isinstance(caught.value, TrajectoryError)
        assert "\n" not in str(caught.value)
        assert ";" in str(caught.value) or ":" in str(caught.value)
    else:
        result, arguments = called(case)
        if case.after:
            result = {"return": result, **{k: arguments[k] for k in case.after}}
        assert_same(case.expect, result, case.tensors)


def test_what_is_listed_is_there() -> None:
    names = {case.name for group in GROUPS for case in cases_of(group)}
    assert set(REFUSED) <= names
