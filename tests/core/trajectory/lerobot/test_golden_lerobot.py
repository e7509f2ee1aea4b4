"""The recorded frames and episodes, with RLinf's conventions as named options.

What differs, and why, is decided by what the data holds, so that it also holds for
other recorded cases; `test_differences_are_these` lists the cases it applies to.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest

from isoscope.core.trajectory.errors import TrajectoryError, TrajectoryValueError
from isoscope.core.trajectory.lerobot import (
    LeRobotChunk,
    LeRobotEpisodeAccumulator,
    LeRobotFrame,
    LeRobotOptions,
    LeRobotStep,
)
from tests.golden import ACCIDENTS, DATA, OURS, Case, assert_same, cases_of

RLINF = LeRobotOptions.rlinf()
FRAMES = cases_of("lerobot_frames")
EPISODES = cases_of("lerobot_episodes")

HOLE = "a mask with a hole is refused (H19)"
SHORT = "an expert's action shorter than A is refused (section 9, 10)"
NONE = "a task that is None is missing, not the text None (section 9, 10)"
SEGMENTS = (
    "the 256th segment is refused when it begins, not when its episode ends (H14)"
)
ATOMIC = "a chunk that fails leaves no frame behind (H2)"


def has_hole(args: dict[str, Any]) -> bool:
    mask = args.get("valid_action_mask")
    if mask is None:
        return False
    mask = np.asarray(mask).astype(bool)
    return bool((mask[:, 1:] & ~mask[:, :-1]).any())


def difference(case: Case) -> str | None:
    """Say why ours differs from what was recorded; None if it must be equal."""
    if case.events:
        events = [decoded_event(case, event) for event in case.events]
        if any(has_hole(event) for event in events):
            return HOLE
        raised = {event.get("raises") for event in case.events}
        if "OverflowError" in raised:
            return SEGMENTS
        if "KeyError" in raised:
            return ATOMIC
        return None
    args = case.decoded()
    if has_hole(args):
        return HOLE
    if case.call == "LeRobotFrame.from_step" and isinstance(args["info"], dict):
        expert = args["info"].get("intervene_action")
        flag = args["info"].get("intervene_flag")
        if expert is not None and flag is not None:
            if np.asarray(expert).size < args["action_dim"]:
                return SHORT
    if case.call.startswith("LeRobotFrame.from") and args.get("task") is None:
        observation = args["observation"]
        if isinstance(observation, dict):
            if observation.get("task_descriptions", "") is None:
                return NONE
    return None


def decoded_event(case: Case, event: dict[str, Any]) -> dict[str, Any]:
    return Case(**{**vars(case), "args": event["in"]}).decoded()


def call(case: Case) -> Any:
    args = case.decoded()
    if case.call.startswith("LeRobotChunk.from_data"):
        chunk = LeRobotChunk.from_data(**args)
        return [
            chunk.step(slot, env)
            for slot in range(chunk.step_count)
            for env in range(chunk.num_envs)
        ]
    if case.call.startswith("LeRobotStep.info_flag"):
        step = LeRobotStep(env_index=0, observation=None, info=args["info"])
        return [step.info_flag(key) for key in args["keys"]]
    if case.call == "LeRobotFrame.to_dict":
        return args.pop("self").to_dict(**args)
    if case.call == "LeRobotFrame.success_from_info":
        return LeRobotFrame.success_from_info(args["info"])
    return getattr(LeRobotFrame, case.call.split(".")[1])(**args, options=RLINF)


def check_type(error: Exception, recorded: str | None) -> None:
    """It is of the recorded class, but where that was an accident."""
    assert recorded is not None
    assert recorded in ACCIDENTS or isinstance(error, getattr(builtins, recorded))


@pytest.mark.parametrize(
    "case",
    [case for case in FRAMES if not difference(case)],
    ids=lambda case: case.name,
)
def test_recorded_frame(case: Case) -> None:
    if case.raises is None:
        assert_same(case.expect, call(case), case.tensors)
        return
    with pytest.raises(TrajectoryError) as caught:
        call(case)
    check_type(caught.value, case.raises)


@pytest.mark.parametrize(
    "case", [case for case in EPISODES if not case.events], ids=lambda case: case.name
)
def test_recorded_constructor(case: Case) -> None:
    with pytest.raises(TrajectoryError) as caught:
        LeRobotEpisodeAccumulator(**case.decoded())
    check_type(caught.value, case.raises)


@pytest.mark.parametrize(
    "case", [case for case in EPISODES if case.events], ids=lambda case: case.name
)
def test_recorded_episodes(case: Case) -> None:
    accumulator = LeRobotEpisodeAccumulator(**case.setup, options=RLINF)
    twin = LeRobotEpisodeAccumulator(**case.setup, options=RLINF)
    refused = False
    for number, event in enumerate(case.events):
        given = decoded_event(case, event)
        error = problem_of(accumulator, given)
        if error is not None:
            refused = True
            if "raises" in event:
                check_type(error, event["raises"])
            else:
                later = any("raises" in other for other in case.events[number:])
                assert has_hole(given) or (later and difference(case) == SEGMENTS)
            continue
        twin.append(**given)
        found, theirs = accumulator.drain(), twin.drain()
        if refused:  # nothing was left of it: the twin that never saw it agrees
            assert repr(found) == repr(theirs)
        else:
            assert "raises" not in event
            assert_same(event["expect"], found, case.tensors, f"event {number}")
    assert refused or not difference(case)


def problem_of(
    accumulator: LeRobotEpisodeAccumulator, given: dict[str, Any]
) -> TrajectoryError | None:
    try:
        accumulator.append(**given)
    except TrajectoryError as error:
        return error
    return None


def test_differences_are_these() -> None:
    found = {case.name: difference(case) for case in [*FRAMES, *EPISODES]}
    differing = {name: why for name, why in found.items() if why}
    listed = {
        "task_none": NONE,
        "step_expert_short": SHORT,
        "mask_hole": HOLE,
        "masked_hole_end_in_prefix": HOLE,
        "error_mid_chunk": ATOMIC,
        "segment_over_255": SEGMENTS,
    }
    for name in differing.keys() & listed.keys():
        assert differing[name] == listed[name]
    if DATA == OURS:
        assert differing == listed


@pytest.mark.parametrize(
    "case", [case for case in FRAMES if difference(case)], ids=lambda case: case.name
)
def test_what_differs_in_a_frame_is_as_said(case: Case) -> None:
    if difference(case) == NONE:
        frame = call(case)
        assert frame.task == RLINF.missing_task
        assert case.expect["task"] == "None"
        return
    with pytest.raises(TrajectoryValueError):
        call(case)
