"""The recorded runs of joiner and plan, and of the collector in rollout mode.

Equal, but for what is listed with its reason.
"""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from isoscope.core.channel.hooks import ChannelContext
from isoscope.core.trajectory.collector import TrajectoryCollector
from isoscope.core.trajectory.errors import TrajectoryError, TrajectoryValueError
from isoscope.core.trajectory.joiner import ChunkJoiner
from isoscope.core.trajectory.plan import RolloutGeometry, TrajectoryPlan
from tests.core.trajectory.recorded_runs import collector, emitted, replay
from tests.golden import Case, assert_same, cases_of, decode

ROLLOUT = {case.name: case for case in cases_of("collector_rollout")}
# Tests of their own below say what ours does.
OTHERWISE = {
    "duplicate_after_flush": "H3: emitted again in RLinf, refused here",
    "duplicate_after_flush_two_epochs": "H3: emitted again in RLinf, refused here",
    "chunks_out_of_order": "H1: in order of arrival in RLinf, in their own here",
    "values_on_some_chunks": "H5: fields of different length in RLinf, refused here",
    "envs_not_divisible_by_sources": "H17: one environment lost in RLinf, refused here",
}


def named(cases: list[Case]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def overwriting(case: Case) -> dict[str, Any]:
    """Its configuration, with RLinf's rule for flags of both sides by name (H13)."""
    cfg: dict[str, Any] = decode(case.setup["config"], case.tensors)
    cfg["algorithm"]["intervene_flags"] = "policy_overwrites"
    return cfg


@named([case for name, case in ROLLOUT.items() if name not in OTHERWISE])
def test_rollout_runs(case: Case) -> None:
    replay(case, overwriting(case))


def test_what_is_listed_is_there() -> None:
    assert set(OTHERWISE) <= set(ROLLOUT)


@pytest.mark.parametrize(
    "name", ["duplicate_after_flush", "duplicate_after_flush_two_epochs"]
)
def test_a_duplicate_after_a_flush_is_refused_and_nothing_comes_of_it(
    name: str,
) -> None:
    case = ROLLOUT[name]
    made = collector(case)
    half = len(case.events) // 2
    for at, event in enumerate(case.events):
        part = decode(event["in"], case.tensors)
        if at < half:
            assert_same(event["expect"], emitted(made, part), case.tensors)
        elif at % 2 == 0:  # one half again: ignored and told
            assert emitted(made, part) == []
        else:
            with pytest.raises(TrajectoryValueError, match="duplicate"):
                emitted(made, part)
    assert not made.pending()


def test_chunks_out_of_order_are_put_in_order() -> None:
    case = ROLLOUT["chunks_out_of_order"]
    parts = [decode(event["in"], case.tensors) for event in case.events]
    ordered, late = collector(case), collector(case)
    expected = [emitted(ordered, part) for part in (*parts[2:], *parts[:2])][-1]
    found = [emitted(late, part) for part in parts][-1]
    recorded = case.events[-1]["expect"]
    # As recorded, but with each chunk where it belongs.
    actions = case.tensors[recorded[0][1]["actions"]["$t"]]
    assert found[0][1].actions.equal(actions.flip(0))
    for name, value in vars(expected[0][1]).items():
        other = vars(found[0][1])[name]
        assert value.equal(other) if hasattr(value, "equal") else True, name


def test_a_field_in_some_chunks_only_is_refused_with_its_chunk() -> None:
    case = ROLLOUT["values_on_some_chunks"]
    made = collector(case)
    parts = [decode(event["in"], case.tensors) for event in case.events]
    for part in parts[:-1]:
        assert emitted(made, part) == []
    with pytest.raises(TrajectoryValueError, match=r"chunk 1: prev_values .*every"):
        emitted(made, parts[-1])


def test_environments_that_sources_can_t_share_are_refused() -> None:
    case = ROLLOUT["envs_not_divisible_by_sources"]
    with pytest.raises(TrajectoryValueError, match=r"7, which 2 sources"):
        collector(case)


def given_to(joiner: ChunkJoiner, event: dict[str, Any], tensors: Any) -> Any:
    if "acknowledge" in event:
        return joiner.acknowledge(decode(event["acknowledge"], tensors))
    return joiner.push(decode(event["push"], tensors))


@named(cases_of("joiner"))
def test_joining(case: Case) -> None:
    joiner = ChunkJoiner(**case.setup)
    for number, event in enumerate(case.events):
        if "raises" in event:
            with pytest.raises(getattr(builtins, event["raises"])) as caught:
                given_to(joiner, event["in"], case.tensors)
            assert isinstance(caught.value, TrajectoryError)
            continue
        joined = given_to(joiner, event["in"], case.tensors)
        assert_same(event["expect"], joined, case.tensors, f"event {number}")
        if not event["in"].get("keep"):
            for chunk in joined or []:
                joiner.acknowledge(chunk.key)


@named([case for case in cases_of("plan") if case.call.startswith("TrajectoryPlan")])
def test_modes(case: Case) -> None:
    cfg = case.decoded()["cfg"]
    if case.raises:
        with pytest.raises(ValueError, match="does not support") as caught:
            TrajectoryPlan.mode_from_cfg(cfg)
        assert isinstance(caught.value, TrajectoryError)
        return
    mode = TrajectoryPlan.mode_from_cfg(cfg)
    assert {"mode": str(mode), "dispatcher": mode.dispatcher} == case.expect


@named([case for case in cases_of("plan") if case.call.startswith("RolloutGeometry")])
def test_geometries(case: Case) -> None:
    sizes = case.args
    cfg = {
        "rollout": {"pipeline_stage_num": sizes["stages"]},
        "env": {"train": {"max_steps_per_rollout_epoch": sizes["max_steps"]}},
        "actor": {"model": {"num_action_chunks": sizes["chunks"]}},
    }
    geometry = RolloutGeometry.from_cfg(
        cfg, env_world_size=sizes["env"], actor_world_size=sizes["actor"]
    )
    assert {name: getattr(geometry, name) for name in case.expect} == case.expect


def test_setting_up_without_configuration_is_refused() -> None:
    (case,) = (c for c in cases_of("plan") if c.call == "TrajectoryCollector.setup")
    assert case.raises == "ValueError"
    with pytest.raises(TrajectoryValueError, match="no configuration"):
        TrajectoryCollector().setup(ChannelContext("trajectory", cfg=None))
