"""The recorded runs of joiner and plan, and of the collector in rollout mode.

Equal, but for what is listed with its reason.
"""

from __future__ import annotations

import builtins
import contextlib
import re
from typing import Any

import pytest

from isoscope.core.channel.hooks import ChannelContext
from isoscope.core.trajectory.collector import TrajectoryCollector
from isoscope.core.trajectory.errors import TrajectoryError, TrajectoryValueError
from isoscope.core.trajectory.joiner import ChunkJoiner
from isoscope.core.trajectory.plan import RolloutGeometry, TrajectoryPlan
from tests.core.trajectory.recorded_runs import (
    AGAIN,
    LATE,
    SOME,
    UNEVEN,
    Story,
    check,
    collector,
    emitted,
    overwriting,
)
from tests.golden import ACCIDENTS, DATA, OURS, Case, assert_same, cases_of, decode

ROLLOUT = cases_of("collector_rollout")
# What differs is told by the data; of the cases that are known it is this, and tests
# below say more of what ours does.
OTHERWISE = {
    "duplicate_after_flush": AGAIN,
    "duplicate_after_flush_two_epochs": AGAIN,
    "chunks_out_of_order": LATE,
    "values_on_some_chunks": SOME,
    "envs_not_divisible_by_sources": UNEVEN,
}


def named(cases: list[Case]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def differing(reason: str) -> list[Case]:
    return [case for case in ROLLOUT if Story(case).differences() == {reason}]


@named(ROLLOUT)
def test_rollout_runs(case: Case) -> None:
    check(case, overwriting(case))


def test_differences_are_these() -> None:
    found = {case.name: Story(case).differences() for case in ROLLOUT}
    for name in found.keys() & OTHERWISE.keys():
        assert found[name] == {OTHERWISE[name]}
    if DATA == OURS:
        assert {name for name, reasons in found.items() if reasons} == set(OTHERWISE)


@named(differing(AGAIN))
def test_a_duplicate_after_a_flush_leaves_nothing_waiting(case: Case) -> None:
    made = collector(case)
    for event in case.events:
        with contextlib.suppress(TrajectoryValueError):
            emitted(made, decode(event["in"], case.tensors))
    assert not made.pending()


@named(differing(SOME))
def test_a_field_in_some_chunks_only_is_refused_with_its_chunk(case: Case) -> None:
    error = check(case, overwriting(case))
    assert isinstance(error, TrajectoryValueError)
    assert re.search(r"chunk \d+: \w+ .*every", str(error))


@named(differing(UNEVEN))
def test_environments_that_sources_can_t_share_are_refused(case: Case) -> None:
    with pytest.raises(TrajectoryValueError, match=r"\d, which \d+ sources"):
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
            with pytest.raises(TrajectoryError) as caught:
                given_to(joiner, event["in"], case.tensors)
            recorded = getattr(builtins, event["raises"])
            assert event["raises"] in ACCIDENTS or isinstance(caught.value, recorded)
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


@named([case for case in cases_of("plan") if case.call == "TrajectoryCollector.setup"])
def test_setting_up_without_configuration_is_refused(case: Case) -> None:
    assert case.raises == "ValueError"
    with pytest.raises(TrajectoryValueError, match="no configuration"):
        TrajectoryCollector().setup(ChannelContext("trajectory", **case.decoded()))
