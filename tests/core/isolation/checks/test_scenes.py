"""Checks about what is done to a scene: restores, captures, reads, threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.isolation.tainting import tainted
from tests.core.isolation.building import Run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("envs", [1, 2, 5])
@pytest.mark.parametrize("substeps", [1, 2, 4])
def test_a_clean_run_has_no_finding(tmp_path: Path, envs: int, substeps: int) -> None:
    run = Run(tmp_path, envs, substeps=substeps).resets().steps(6)
    for env in range(envs):
        run.reset(env)
    assert run.steps(4).findings() == []


def test_independent_scenes_have_none_either(tmp_path: Path) -> None:
    assert Run(tmp_path, 3, scenes=[0, 1, 2]).resets().steps(6).findings() == []


# -- missed-restore --------------------------------------------------------------------


@pytest.mark.parametrize("states", [True, False])
def test_a_missed_restore(tmp_path: Path, states: bool) -> None:
    run = Run(tmp_path, 3, states=states).resets().steps(4)
    run.step(0)
    run.step(1, restore=False)
    run.step(2)
    run.steps(3)
    for env in range(3):
        run.reset(env)
    run.steps(2)
    row = 3 + 4 * 6 + 2
    found = run.only("missed-restore")
    assert (found.env, found.other_env) == (1, 0)
    assert (found.episode, found.control_step) == (1, 5)
    assert found.native == (row, row + 3 * 6 + 1)
    assert found.confidence == 1.0
    assert found.evidence["taken_from_native"] == row - 1
    examined = run.examine()
    spoilt = np.flatnonzero(tainted(examined, [found]).rows)
    labels = examined.attribution.labels
    expected = (labels.env == 1) & (labels.episode == 1) & (labels.control_step >= 5)
    np.testing.assert_array_equal(spoilt, np.flatnonzero(expected))


def test_what_no_velocity_shows_is_found_too(tmp_path: Path) -> None:
    # Both stand in the same place, at the same speed; only the rest of it differs.
    run = Run(tmp_path, 2).resets(at=0.5)
    run.own[1] = (*run.own[0][:2], 0.25)
    run.own[0] = (*run.own[0][:2], 0.5)
    for _ in range(3):
        for env in (0, 1):
            run.step(env, 1.0)
    seen = {f.id for f in run.findings()}
    # The states were set by hand, after the resets: nothing else is told of them.
    assert seen <= {"identical-start", "callback-moved-state", "restore-failed"}
    (tmp_path / "again").mkdir()
    again = Run(tmp_path / "again", 2)
    again.resets().steps(2)
    state = again.own[1]
    again.world[0] = (*state[:2], state[2])
    again.step(0, restore=False)
    found = again.only("missed-restore")
    assert (found.env, found.other_env, found.control_step) == (0, 1, 3)


def test_another_s_snapshot_is_restored(tmp_path: Path) -> None:
    run = Run(tmp_path, 3).resets().steps(3)
    run.k[1] += 1
    run.restore(1, run.own[0])
    # Somebody else stepped meanwhile, so it is no longer the scene's last state.
    rows = [run.native(1, s, 1.0) for s in range(2)]
    run.capture(1)
    run.transition(1, rows[0], rows[1], 1.0)
    found = run.only("missed-restore")
    assert (found.env, found.other_env) == (1, 0)
    assert "a snapshot was restored, but it was another" in found.message


# -- rewind ----------------------------------------------------------------------------


def test_an_earlier_state_restored_on_purpose(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(2)
    earlier = run.own[0]
    run.steps(3)
    run.own[0] = earlier
    run.steps(2)
    found = run.only("rewind")
    assert found.severity == "note"
    assert (found.env, found.control_step) == (0, 6)
    assert found.evidence["to_native"] == 2 + 4 + 1


# -- restore-failed --------------------------------------------------------------------


def test_a_restore_that_was_refused(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    run.event("restore", 1, ok=0, detail={"problem": "no state has handle -1"})
    run.failure("restore", 1, "no state has handle -1")
    run.failure("step", 1, "no state has handle -1", episode=1, control_step=4)
    run.step(0)
    run.reset(1)
    run.steps(2)
    found = run.only("restore-failed")
    assert (found.env, found.episode, found.control_step) == (1, 1, 4)
    assert "no state has handle -1" in found.message
    assert not found.evidence["partial"]


def test_a_restore_that_was_not_complete(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    place, _, rest = run.own[1]
    run.k[1] += 1
    run.restore(1, (place, run.world[0][1] + 0.125, rest))
    rows = [run.native(1, s, 1.0) for s in range(2)]
    run.capture(1)
    run.transition(1, rows[0], rows[1], 1.0)
    run.step(0)
    run.steps(2)
    found = run.only("restore-failed")
    assert (found.env, found.episode, found.control_step) == (1, 1, 4)
    assert found.evidence["partial"]
    assert found.native == (rows[0], rows[0])


# -- snapshot-lost ---------------------------------------------------------------------


@pytest.mark.parametrize("natives", [0, 1])
def test_an_exception_between_restore_and_capture(tmp_path: Path, natives: int) -> None:
    run = Run(tmp_path, 3).resets().steps(3)
    run.k[1] += 1
    run.restore(1)
    for substep in range(natives):
        run.native(1, substep, 1.0)
    run.event("exception", 1, ok=0, detail={"doing": "step", "problem": "torn"})
    run.failure("step", 1, "RuntimeError: torn", episode=1, control_step=4)
    run.step(0)
    run.step(2)
    run.reset(1)
    run.steps(2)
    found = run.only("snapshot-lost")
    assert (found.env, found.episode, found.control_step) == (1, 1, 4)
    assert "torn" in found.message
    spoilt = tainted(run.examine(), [found])
    assert np.count_nonzero(spoilt.rows) == natives


def test_an_exception_after_the_capture_costs_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    run.k[1] += 1
    run.restore(1)
    for substep in range(2):
        run.native(1, substep, 1.0)
    run.capture(1)
    run.failure("step", 1, "in the reward", episode=1, control_step=4)
    run.step(0)
    run.reset(1)
    found = run.steps(2).findings()
    # no snapshot is lost, but the step is
    assert [f.id for f in found] == ["incomplete-recording"]
    assert (found[0].env, found[0].episode, found[0].control_step) == (1, 1, 4)
    assert "in the reward" in found[0].message


def test_a_capture_that_follows_the_exception_saves_it(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    run.k[1] += 1
    run.restore(1)
    run.native(1, 0, 1.0)
    run.event("exception", 1, ok=0, detail={"doing": "step", "problem": "torn"})
    run.capture(1)
    run.reset(1)
    assert [f for f in run.findings() if f.id == "snapshot-lost"] == []


def test_without_restores_it_can_not_run(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, events=False).resets().steps(3)
    reason = run.not_run("snapshot-lost")
    assert reason is not None
    assert "restores" in reason.needs


# -- stale-read ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["read", "render", "last_step"])
def test_a_read_while_another_s_state_was_there(tmp_path: Path, kind: str) -> None:
    run = Run(tmp_path, 3).resets().steps(4)
    run.event(kind, 0)  # env 2 was the last
    found = run.steps(2).only("stale-read")
    assert (found.env, found.other_env) == (0, 2)
    assert (found.episode, found.control_step) == (1, 4)
    assert found.evidence["kind"] == kind


def test_reads_of_one_s_own_state(tmp_path: Path) -> None:
    run = Run(tmp_path, 3).resets()
    for _ in range(4):
        for env in range(3):
            run.step(env)
            run.event("read", env)
    run.restore(0)  # brought back for it
    run.event("render", 0)
    assert run.steps(2).findings() == []


def test_an_observation_that_is_another_s(tmp_path: Path) -> None:
    run = Run(tmp_path, 3).resets().steps(4)
    run.step(0)
    run.step(1, observation=run.observe(0) * 0 + run.seen[2])
    run.step(2)
    found = run.steps(2).only("stale-read")
    assert (found.env, found.other_env) == (1, 2)
    assert (found.episode, found.control_step) == (1, 5)
    spoilt = tainted(run.examine(), [found])
    assert np.flatnonzero(spoilt.transitions).tolist() == [found.transition]
    assert not spoilt.rows.any()


def _with_targets(run: Run, places: list[float], shown: dict[int, int]) -> Run:
    """Three environments whose observations hold a target each.

    In control step k of env 1, `shown[k]` is whose state it sees.
    """
    run.targets = {0: 0.5, 1: 1.5, 2: 2.5}
    for env, place in enumerate(places):
        run.reset(env, at=place)
    for k in range(1, 7):
        for env, place in enumerate(places):
            run.k[env] += 1
            run.restore(env)
            rows = [run.native(env, s, 0.3 * k + place) for s in range(2)]
            run.capture(env)
            seen = run.observe(env)
            if env == 1 and k in shown:
                theirs = run.seen[shown[k]]
                seen = np.where(np.arange(4) == 2, seen, theirs).astype(np.float32)
            run.transition(env, rows[0], rows[1], observation=seen)
    return run


def test_another_s_state_beside_one_s_own_target(tmp_path: Path) -> None:
    run = _with_targets(Run(tmp_path, 3), [0.0, 0.25, 0.5], {4: 0})
    found = run.only("stale-read")
    assert (found.env, found.other_env, found.control_step) == (1, 0, 4)


@pytest.mark.parametrize("places", [[0.0, 0.25, 0.5], [0.25, 0.25, 0.5]])
def test_of_one_s_own_state_beside_the_target(
    tmp_path: Path, places: list[float]
) -> None:
    run = _with_targets(Run(tmp_path, 3, digests=False), places, {})
    assert not [f for f in run.findings() if f.id == "stale-read"]


def test_a_frame_that_is_another_s(tmp_path: Path) -> None:
    from isoscope.core.recording.labelled import records as r

    run = Run(tmp_path, 2).resets()
    for k in range(4):
        for env in range(2):
            run.step(env)
            seen = run.seen[0 if (env, k) == (1, 2) else env]
            sample = r.StreamSample("camera", k, env=env, row=run.rows - 1, data=seen)
            run.recorder.stream(sample)
    found = run.only("stale-read")
    assert (found.env, found.other_env, found.control_step) == (1, 0, 3)
    assert found.field == "camera"


# -- cleanup-failed, thread-shared-scene -----------------------------------------------


def test_a_cleanup_that_failed(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(2)
    run.event("cleanup", -1, ok=0, detail={"problem": "the viewer is busy"})
    run.failure("cleanup viewer", -1, "the viewer is busy")
    found = run.only("cleanup-failed")
    assert "the viewer is busy" in found.message
    assert found.evidence["scene"] == 0


def test_one_that_went_well(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(2)
    run.event("cleanup", -1, ok=1)
    assert run.findings() == []


def test_a_second_thread_that_steps(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(2)
    run.thread = 12
    run.step(1)
    run.thread = 11
    found = run.steps(2).only("thread-shared-scene")
    assert (found.env, found.episode, found.control_step) == (1, 1, 3)
    assert (found.value, found.expected) == (12, 11)


def test_a_second_thread_that_was_refused(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(2)
    run.event("thread", 1, thread=12, detail={"owner": 11})
    found = run.steps(2).only("thread-shared-scene")
    assert (found.env, found.episode, found.control_step) == (1, 1, 3)
    assert found.evidence["refused"]


def test_scenes_of_their_own_may_have_threads_of_their_own(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, scenes=[0, 1])
    for _ in range(4):
        for env in range(2):
            run.thread = 11 + env
            if run.episode[env]:
                run.step(env)
            else:
                run.reset(env)
    assert run.findings() == []


# -- callback-moved-state, free-scene, zero-step ---------------------------------------


def test_a_body_that_was_moved_between_the_steps(tmp_path: Path) -> None:
    run = Run(tmp_path, 1).resets().steps(3)
    run.k[0] += 1
    rows = []
    for substep in range(2):
        rows.append(run.native(0, substep, 1.0))
        if substep == 0:
            place, speed, rest = run.world[0]
            run.world[0] = (place + 1e-3, speed, rest)
    run.capture(0)
    run.transition(0, rows[0], rows[1], 1.0)
    found = run.steps(2).findings()
    assert {f.id for f in found} == {"callback-moved-state"}
    exact = next(f for f in found if f.evidence.get("by") == "digest")
    assert (exact.env, exact.native) == (0, (rows[1], rows[1]))


def test_steps_of_the_bare_scene_and_of_no_time(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(2)
    run.native(0, 0, free=True)
    run.steps(2)
    assert [f.id for f in run.findings()] == ["free-scene"]


def test_a_step_of_no_time(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets().steps(2)
    run.restore(0)
    run.native(0, -1, h_s=0.0, kind=3)
    found = run.steps(2).findings()
    assert [f.id for f in found] == ["zero-step"]
    assert found[0].env == 0
