"""Checks about transitions and consumers, on runs made by the recorder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.isolation.tainting import tainted
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.stored import StoredRecorder
from tests.core.isolation.building import H_S, Run
from tests.core.isolation.told import episodes, last, store

if TYPE_CHECKING:
    from pathlib import Path

BOX = [r.Space(role="action", dtype="float32", shape=[1], low=[-3.0], high=[3.0])]


def test_ends_and_resets_as_they_should_be_have_no_finding(tmp_path: Path) -> None:
    run = episodes(Run(tmp_path, 3, spaces=BOX), terminated=1)
    audit = run.audit()
    assert audit.findings == []
    ran = {check.id for check in audit.checks if check.ran}
    assert ran >= {"step-after-done", "reset-row", "final-observation", "end-flags"}
    assert ran >= {"aliasing", "observation-schema", "action-range", "handle-as-env"}


@pytest.mark.parametrize(
    ("key", "word"),
    [
        ("masked-info", "stored"),
        ("target-as-action", "stored"),
        ("return-units", "return"),
        ("frame-restamped", "sensor"),
        ("profile-sum", "profile"),
        ("action-range", "limits"),
    ],
)
def test_what_is_missing_is_told(tmp_path: Path, key: str, word: str) -> None:
    reason = Run(tmp_path, 2).resets().steps(2).not_run(key)
    assert reason is not None
    assert word in f"{reason.reason} {reason.needs}"


# -- step-after-done, reset-row --------------------------------------------------------


def test_steps_after_the_end(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    run.step(1, truncated=1)
    run.steps(3)
    run.reset(1)
    found = run.steps(2).only("step-after-done")
    assert (found.env, found.episode, found.control_step) == (1, 1, 5)
    assert found.evidence["ended"] == "truncated"
    table = run.examine().recording.labelled.columns("transitions")
    expected = (table["env"] == 1) & (table["episode"] == 1)
    expected &= table["control_step"] >= 5
    np.testing.assert_array_equal(tainted(run.examine(), [found]).transitions, expected)


def test_a_row_that_resets_is_no_transition(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    run.step(1, terminated=1)
    run.reset(1, valid=1, reward=0.0)
    found = run.steps(2).only("reset-row")
    assert (found.env, found.episode, found.control_step) == (1, 2, 0)


def test_one_that_the_consumer_took(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    run.step(1, terminated=1)
    run.reset(1)
    store(run, last(run), transition=True)
    found = run.steps(2).only("reset-row")
    assert (found.env, found.episode, found.control_step) == (1, 2, 0)
    assert sum(tainted(run.examine(), [found]).transitions) == 1


# -- final-observation, end-flags ------------------------------------------------------


@pytest.mark.parametrize("stored", [True, False])
def test_the_last_observation_is_the_next_s(tmp_path: Path, stored: bool) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    first = np.array([0.5, 0.0, 0.0, 0.0], np.float32)
    run.step(1, truncated=1, **({} if stored else {"observation": first}))
    at = last(run)
    run.reset(1, observation=first)
    if stored:
        store(run, at, observation_after=first)
    found = run.steps(2).only("final-observation")
    assert (found.env, found.episode, found.control_step) == (1, 1, 4)
    assert found.evidence["truncated"]


@pytest.mark.parametrize("kept", [(1, 1), (0, 0), (0, 1)])
def test_flags_that_were_stored_otherwise(
    tmp_path: Path, kept: tuple[int, int]
) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    run.step(1, terminated=1)
    store(run, last(run), terminated=bool(kept[0]), truncated=bool(kept[1]))
    run.reset(1)
    found = run.steps(2).only("end-flags")
    assert (found.env, found.control_step) == (1, 4)
    assert (found.value, found.expected) == (list(kept), [1, 0])


def test_flags_that_their_reasons_deny(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    run.step(0, terminated=1, reasons={"truncated_reason": "time limit"})
    run.step(1, truncated=1, reasons={"truncated_reason": "time limit"})
    for env in range(2):
        run.reset(env)
    found = run.steps(2).only("end-flags")
    assert (found.env, found.value, found.expected) == (0, [1, 0], [0, 1])


# -- aliasing, observation-schema ------------------------------------------------------


def test_rows_that_are_views_of_one_buffer(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets()
    numbers = []
    for _ in range(6):
        for env in range(2):
            run.step(env)
            numbers += [last(run)] if env == 1 else []
    values = np.repeat(run.seen[1][None], 4, axis=0)
    StoredRecorder(run.recorder).rows(
        np.array(numbers[2:]), {"observation_after": values}
    )
    found = run.only("aliasing")
    assert (found.env, found.control_step) == (1, 3)
    assert found.evidence["rows"] == 3  # the last one holds its own


def test_observations_that_never_change(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets()
    fixed = np.array([0.25, 0.5, 0.75, 1.0], np.float32)
    for _ in range(10):
        run.step(0)
        run.step(1, observation=fixed)
    found = run.only("aliasing")
    assert (found.env, found.evidence["rows"]) == (1, 10)


def _changed(values: np.ndarray, how: str) -> np.ndarray:
    if how == "order":
        return values[::-1].copy()
    if how == "dtype":
        return values.astype(np.float16).astype(np.float32)
    return (values * np.float32(180.0 / np.pi)).astype(np.float32)


@pytest.mark.parametrize("how", ["order", "dtype", "unit"])
def test_an_observation_that_was_stored_in_another_form(
    tmp_path: Path, how: str
) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    run.step(1)
    store(run, last(run), observation_after=_changed(run.seen[1], how))
    found = run.steps(2).only("observation-schema")
    assert (found.env, found.control_step) == (1, 4)
    assert found.evidence["kind"] == how


@pytest.mark.parametrize("how", ["order", "dtype", "unit"])
def test_one_that_is_not_what_the_scene_held(tmp_path: Path, how: str) -> None:
    run = Run(tmp_path, 2).resets().steps(8)
    for k in range(8):
        for env in range(2):
            run.k[env] += 1
            run.restore(env)
            rows = [run.native(env, s, 0.5 + 0.1 * k) for s in range(2)]
            run.capture(env)
            seen = run.observe(env)
            if (env, k) == (1, 4):
                seen = _changed(seen, how)
            run.transition(env, rows[0], rows[1], 0.5 + 0.1 * k, observation=seen)
    run.steps(8)
    found = [f for f in run.findings() if f.id == "observation-schema"]
    assert [(f.env, f.control_step, f.evidence["kind"]) for f in found] == [
        (1, 13, how)
    ]


def test_two_numbers_next_to_nothing_are_no_units_of_each_other(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(8)
    run.k[1] += 1
    run.restore(1)
    first = run.native(1, 0)
    place, speed, hidden = run.world[0]
    there = (1e-10 - place) / H_S  # with this speed it gets next to the origin
    last_one = run.native(1, 1, (there - speed) / H_S + 9.8 - hidden)
    run.capture(1)
    seen = run.observe(1)
    seen[0] += np.float32(3e-10)
    run.transition(1, first, last_one, observation=seen)
    run.step(0)
    run.steps(8)
    assert not [f for f in run.findings() if f.id == "observation-schema"]


def test_a_scene_without_a_control_step_is_passed_over(tmp_path: Path) -> None:
    # as of an environment whose process died before it told one
    run = Run(tmp_path, 3, scenes=[0, 1, 2])
    for env in range(2):
        run.reset(env)
    run.episode[2], run.world[2] = 1, (0.7, 0.0, 0.0)
    run.native(2, 0)
    for _ in range(12):
        run.step(0)
        run.step(1)
    assert run.not_run("observation-schema") is None
    assert not [f for f in run.findings() if f.id == "observation-schema"]


def test_spaces_that_are_not_alike(tmp_path: Path) -> None:
    names = ["place", "speed", "hidden", "product"]
    spaces = [
        r.Space(role="observation", dtype="float32", shape=[4], names=names),
        r.Space(role="observation", dtype="float32", names=names[::-1], env=1),
    ]
    found = Run(tmp_path, 2, spaces=spaces).resets().steps(2)
    assert "order" in found.only("observation-schema").message


def test_environments_of_several_kinds_do_not_change_their_form(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets()
    for form in ("f4", "f8", "f4", "f8"):  # env 1 is another kind, and of f8
        field = r.Field(name="value", shape=(3,), group="observation_after")
        frame = run.recorder.frame([field], form, over="transitions")
        frame.put(0, np.ones(3))
        kind = r.Transition(env=7 if form == "f4" else 8, control_step=1, valid=1)
        run.recorder.transition(kind, frame)
    run.steps(3)
    differ = [f for f in run.findings() if "during the run" in f.message]
    assert differ == []


def test_an_environment_that_goes_on_in_another_form(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    field = r.Field(name="value", shape=(3,), group="observation_after")
    frame = run.recorder.frame([field], "f8", over="transitions")
    frame.put(0, np.ones(3))
    run.recorder.transition(r.Transition(env=1, control_step=4, valid=1), frame)
    [differs] = [f for f in run.findings() if "during the run" in f.message]
    assert "dtype or shape changes" in differs.message


# -- action-range ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "clipped", "word"),
    [
        (2.0, 4.5, "applied"),
        (3.0, 4.5, "wrong way round"),
        (2.0, 1.0, "another one"),
    ],
)
def test_actions_outside_or_confused(
    tmp_path: Path, raw: float, clipped: float, word: str
) -> None:
    run = Run(tmp_path, 2, spaces=BOX).resets().steps(3)
    original = np.clip
    run.k[1] += 1
    run.restore(1)
    rows = [run.native(1, s, raw) for s in range(2)]
    run.capture(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "clip", lambda *_: np.float32(clipped))
        run.transition(1, rows[0], rows[1], raw)
    assert np.clip is original
    found = run.steps(1).only("action-range")
    assert (found.env, found.control_step) == (1, 4)
    assert word in found.headline


def test_actions_that_saturate(tmp_path: Path) -> None:
    run = Run(tmp_path, 1, spaces=BOX).resets()
    for k in range(60):
        run.step(0, 0.1 * k, action=5.0 + k if k % 3 else 1.0 + 0.01 * k)
    found = run.only("action-range")
    assert found.severity == "warning"
    assert 0.5 < found.evidence["share"] < 0.8


# -- consumers -------------------------------------------------------------------------


def test_an_info_that_nobody_gave(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, info=("load",)).resets()
    for k in range(3):
        for env in range(2):
            run.step(env, values={"load": 0.5 * k} if env == 0 else {})
            store(run, last(run), info__load=0.5 * k)
    found = run.only("masked-info")
    assert (found.env, found.control_step) == (1, 1)
    assert found.evidence["rows"] == 3


def test_a_field_that_nobody_has(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(2)
    run.step(1)
    columns: dict[str, Any] = {"native/Ball.targetPose": np.zeros((1, 1))}
    StoredRecorder(run.recorder).rows(np.array([last(run)]), columns)
    found = run.only("absent-field")
    assert (found.env, found.control_step) == (1, 3)
    assert found.field == "Ball.targetPose"


def test_a_place_that_was_stored_as_the_action(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(2)
    run.step(0)
    store(run, last(run), action=np.array([run.seen[0][0] * 0 + 2.5], np.float32))
    run.step(1)
    place = np.array([run.world[0][0]], np.float32)
    store(run, last(run), action=place)
    found = [f for f in run.findings() if f.id == "target-as-action"]
    assert [(f.env, f.control_step) for f in found] == [(1, 3)]
    assert found[0].field == "Ball.translationCom"


def test_a_handle_for_a_number(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(2)
    run.step(1)
    store(run, last(run), env=float((1 << 32) + 1))
    found = run.only("handle-as-env")
    assert (found.env, found.control_step) == (1, 3)
    assert found.value == (1 << 32) + 1
    assert found.evidence["handle"]


def test_returns(tmp_path: Path) -> None:
    run = Run(tmp_path, 2)
    episodes(run, 1, 4, terminated=1)
    store(run, last(run) - 1, **{"return": 4.0})
    store(run, last(run), **{"return": 4.0 / 25.0})
    found = run.only("return-units")
    assert (found.env, found.episode, found.control_step) == (1, 1, 4)
    assert "divided by f_c (25)" in found.message
    assert (found.value, found.expected) == (pytest.approx(0.16), 4.0)


# -- sensors, profiles -----------------------------------------------------------------


def _frames(run: Run, change: Any) -> Run:
    run.resets()
    for k in range(8):
        for env in range(run.envs):
            run.step(env)
            told = {"capture_id": k, "data": run.seen[env].copy()}
            told |= {"capture_time_s": 0.04 * (k + 1)}
            if env == 1:
                change(k, told)
            sample = r.StreamSample("camera", env=env, row=run.rows - 1, **told)
            run.recorder.stream(sample)
    return run


def test_frames_that_are_new_each_time(tmp_path: Path) -> None:
    assert _frames(Run(tmp_path, 2), lambda k, told: None).findings() == []


def test_an_old_frame_under_a_new_stamp(tmp_path: Path) -> None:
    kept: dict[str, Any] = {}

    def again(k: int, told: dict[str, Any]) -> None:
        if k == 4:
            told["data"] = kept["data"]
        kept["data"] = told["data"]

    found = _frames(Run(tmp_path, 2), again).only("frame-restamped")
    assert (found.env, found.control_step) == (1, 5)


def test_a_stamp_that_stands_still(tmp_path: Path) -> None:
    def still(k: int, told: dict[str, Any]) -> None:
        told["capture_id"] = min(k, 3) if k < 5 else k

    found = _frames(Run(tmp_path, 2), still).only("frame-restamped")
    assert (found.env, found.control_step, found.value) == (1, 5, 3)


def test_a_camera_that_sees_nothing_move(tmp_path: Path) -> None:
    fixed = np.arange(12, dtype=np.uint8)

    def same(k: int, told: dict[str, Any]) -> None:
        told["data"] = fixed

    assert _frames(Run(tmp_path, 2), same).findings() == []


def _profile(run: Run, parts: list[tuple[str, float, str]]) -> Run:
    for k in range(3):
        for env in range(2):
            run.step(env)
            told = [("step", 0.010, "s", ""), ("step/a", 6.0, "ms", "step")]
            told += [("step/b", 0.004, "s", "step")]
            if (env, k) == (1, 1):
                told += [(name, value, unit, "step") for name, value, unit in parts]
            for entry in told:
                run.recorder.profile(
                    r.ProfileEntry(*entry, env=env, transition=last(run))
                )
    return run


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ([("step/a", 6.0, "ms")], "added twice"),
        ([("step/c", 0.1, "s")], "milliseconds where it says seconds"),
    ],
)
def test_profiles(tmp_path: Path, parts: Any, word: str) -> None:
    found = _profile(Run(tmp_path, 2).resets(), parts).only("profile-sum")
    assert (found.env, found.control_step) == (1, 2)
    assert word in found.message


def test_a_profile_that_adds_up(tmp_path: Path) -> None:
    assert _profile(Run(tmp_path, 2).resets(), []).findings() == []


# -- whole recordings ------------------------------------------------------------------


def test_control_steps_that_are_missing(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    run.k[1] += 2
    place, speed, rest = run.own[1]
    run.own[1] = (place + 0.1, speed, rest)  # where those brought it
    found = [f for f in run.steps(2).findings() if f.id == "incomplete-recording"]
    assert [(f.env, f.control_step) for f in found] == [(1, 6)]
    assert found[0].evidence["missing"] == 2


def test_records_that_were_dropped(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    run.recorder.dropped(r.Dropped("events", 12, run.rows, why="too much waits"))
    found = run.steps(2).only("incomplete-recording")
    assert found.value == 12
    assert "too much waits" in found.message


def test_control_steps_that_are_no_control_step_long(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, control_hz=20.0).resets().steps(3)
    found = [f for f in run.findings() if f.id == "clock-mismatch"]
    assert [(f.env, f.control_step) for f in found] == [(0, 1), (1, 1)]
    assert found[0].expected == pytest.approx(0.05)


@pytest.mark.parametrize("told", [0, 1, 2])
def test_a_process_that_died_is_told_of_whose_turn_it_was(
    tmp_path: Path, told: int
) -> None:
    run = Run(tmp_path, 3, scenes=[0, 1, 2]).resets().steps(3)
    for env in range(told):  # their native steps were sent, the transitions not
        run.k[env] += 1
        run.restore(env)
        for substep in range(2):
            run.native(env, substep, 0.5)
    for env in range(3):
        run.failure("worker", env, "process 7 with environments 0, 1, 2 died")
    found = run.only("incomplete-recording")
    assert (found.env, found.episode, found.control_step) == (told, 1, 4)
    assert found.evidence["environments"] == [0, 1, 2]
