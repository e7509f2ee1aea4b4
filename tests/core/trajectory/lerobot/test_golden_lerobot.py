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
from isoscope.core.trajectory.lerobot.frame import LAST_SEGMENT
from tests.golden import Case, assert_same, cases_of

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


def refused(case: Case) -> Any:
    """Expect an error of the recorded class, and of ours."""
    assert case.raises is not None
    return pytest.raises(getattr(builtins, case.raises))


@pytest.mark.parametrize(
    "case",
    [case for case in FRAMES if not difference(case)],
    ids=lambda case: case.name,
)
def test_recorded_frame(case: Case) -> None:
    if case.raises is None:
        assert_same(case.expect, call(case), case.tensors)
        return
    with refused(case) as caught:
        call(case)
    assert isinstance(caught.value, TrajectoryError)


@pytest.mark.parametrize(
    "case", [case for case in EPISODES if not case.events], ids=lambda case: case.name
)
def test_recorded_constructor(case: Case) -> None:
    with refused(case) as caught:
        LeRobotEpisodeAccumulator(**case.decoded())
    assert isinstance(caught.value, TrajectoryError)


@pytest.mark.parametrize(
    "case",
    [case for case in EPISODES if case.events and not difference(case)],
    ids=lambda case: case.name,
)
def test_recorded_episodes(case: Case) -> None:
    accumulator = LeRobotEpisodeAccumulator(**case.setup, options=RLINF)
    for number, event in enumerate(case.events):
        given = decoded_event(case, event)
        if "raises" in event:
            with pytest.raises(getattr(builtins, event["raises"])) as caught:
                accumulator.append(**given)
            assert isinstance(caught.value, TrajectoryError)
            continue
        accumulator.append(**given)
        where = f"event {number}"
        assert_same(event["expect"], accumulator.drain(), case.tensors, where)


def test_differences_are_these() -> None:
    found = {case.name: difference(case) for case in [*FRAMES, *EPISODES]}
    listed = {
        "task_none": NONE,
        "step_expert_short": SHORT,
        "mask_hole": HOLE,
        "masked_hole_end_in_prefix": HOLE,
        "error_mid_chunk": ATOMIC,
        "segment_over_255": SEGMENTS,
    }
    assert {name: found[name] for name in listed} == listed


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


@pytest.mark.parametrize(
    "case",
    [case for case in EPISODES if case.events and difference(case)],
    ids=lambda case: case.name,
)
def test_what_differs_in_episodes_is_as_said(case: Case) -> None:
    accumulator = LeRobotEpisodeAccumulator(**case.setup, options=RLINF)
    twin = LeRobotEpisodeAccumulator(**case.setup, options=RLINF)
    for number, event in enumerate(case.events):
        given = decoded_event(case, event)
        last_segment = difference(case) == SEGMENTS and number >= LAST_SEGMENT
        if has_hole(given) or "raises" in event or last_segment:
            with pytest.raises(TrajectoryError):
                accumulator.append(**given)
            continue
        accumulator.append(**given)
        twin.append(**given)
        # What was refused left nothing: the twin that never saw it agrees.
        ours, theirs = accumulator.drain(), twin.drain()
        assert [len(episode) for episode in ours] == [len(each) for each in theirs]
        for episode, other in zip(ours, theirs, strict=True):
            for frame, same in zip(episode, other, strict=True):
                assert np.array_equal(frame["state"], same["state"])
                assert np.array_equal(frame["actions"], same["actions"])
