"""The real engine's recordings against their truth: what must come out of each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.attribution.attributor import attribute
from isoscope.core.attribution.report import reasons
from isoscope.core.recording.model import Recording, StepKind
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.attribution.result import Attribution

LABELS = ("env", "episode", "control_step", "substep")
SHARED = [
    "shared_cartpole_2env",
    "fp64_shared_cartpole_2env",
    "shared_cartpole_short_episodes",
    "shared_cartpole_leak_gravity",
    "shared_cartpole_leak_inertia",
    "shared_cartpole_missed_restore",
    "fp64_shared_cartpole_missed_restore",
]


def opened(recordings: Path, name: str) -> tuple[Recording, Attribution]:
    recording = load(recordings / f"{name}.h5")
    return recording, attribute(recording)


def truth(recordings: Path, name: str) -> dict[str, Any]:
    content = (recordings / f"{name}.truth.json").read_text()
    found: dict[str, Any] = json.loads(content)
    return found


def columns(recordings: Path, name: str) -> dict[str, np.ndarray[Any, Any]]:
    steps = truth(recordings, name)["native_steps"]
    return {key: np.array([step[key] for step in steps]) for key in LABELS}


@pytest.mark.parametrize("name", SHARED)
def test_every_step_of_a_shared_scene(recordings: Path, name: str) -> None:
    _, found = opened(recordings, name)
    for key, expected in columns(recordings, name).items():
        np.testing.assert_array_equal(getattr(found.labels, key), expected, key)
    assert not found.reason.any()
    assert not found.unknown.any()
    assert found.linked.all()
    assert found.substeps == 2
    assert found.origin == "reset"
    assert found.environments == 2
    # The right state is there to the last bits, and any other is far away.
    bound = 1e-17 if name.startswith("fp64") else 1e-9
    assert np.nanmax(found.residual_m) < bound
    assert np.nanmin(found.margin_m) > 1e-4
    assert found.confidence.min() > 0.999
    assert found.rewinds == []
    assert found.jumps == []


@pytest.mark.parametrize("name", SHARED)
def test_the_scene_time_after_every_step(recordings: Path, name: str) -> None:
    _, found = opened(recordings, name)
    steps = truth(recordings, name)["native_steps"]
    for row, step in enumerate(steps):
        if step["scene_time_after"] is not None:
            assert found.scene_time_s[row] == step["scene_time_after"]


@pytest.mark.parametrize("name", SHARED)
def test_missed_restores(recordings: Path, name: str) -> None:
    _, found = opened(recordings, name)
    if "missed_restore" not in name:
        assert found.missed_restores == []
        return
    (seen,) = found.missed_restores
    assert (seen.place.env, seen.place.episode, seen.place.control_step) == (0, 1, 9)
    assert seen.victim.env == 1
    assert (seen.victim.episode, seen.victim.control_step) == (1, 8)
    assert (seen.native, seen.victim_native, seen.orphan_native) == (34, 33, 31)
    assert seen.tainted == (34, 39)
    assert seen.linked
    assert seen.kind == "scene"


def test_alone_the_substeps_can_not_be_known(recordings: Path) -> None:
    name = "independent_cartpole_env0"
    _, found = opened(recordings, name)
    expected = columns(recordings, name)
    np.testing.assert_array_equal(found.labels.env, expected["env"])
    np.testing.assert_array_equal(found.labels.episode, expected["episode"])
    assert found.substeps is None
    resets = found.labels.kind == StepKind.RESET
    np.testing.assert_array_equal(resets, expected["control_step"] == 0)
    assert (found.labels.control_step[~resets] == -1).all()
    assert (found.labels.substep[~resets] == -1).all()
    assert reasons(found) == {"m_undecidable": int((~resets).sum())}
    assert int(found.unknown.sum()) == int((~resets).sum())


def test_alone_they_are_known_once_they_are_given(recordings: Path) -> None:
    name = "independent_cartpole_env0"
    found = attribute(load(recordings / f"{name}.h5"), substeps=2)
    for key, expected in columns(recordings, name).items():
        np.testing.assert_array_equal(getattr(found.labels, key), expected, key)
    assert not found.reason.any()
    assert found.substeps_how == "given"
    assert found.odd_runs == ()


def test_a_wrong_number_of_substeps_is_told(recordings: Path) -> None:
    found = attribute(load(recordings / "shared_cartpole_2env.h5"), substeps=4)
    assert found.substeps == 4
    assert len(found.odd_runs) > 10
    assert any("no multiple of 4" in note for note in found.notes)


def test_a_recording_begun_in_the_middle(recordings: Path) -> None:
    name = "shared_cartpole_midstart"
    _, found = opened(recordings, name)
    expected = columns(recordings, name)
    assert found.origin == "recording"
    np.testing.assert_array_equal(found.labels.env, expected["env"])
    np.testing.assert_array_equal(found.labels.substep, expected["substep"])
    for env in (0, 1):
        rows = np.flatnonzero(expected["env"] == env)
        episode = expected["episode"][rows]
        np.testing.assert_array_equal(
            found.labels.episode[rows], episode - episode[0] + 1
        )
        # The first, cut episode counts from the first control step that was seen.
        shift = expected["control_step"][rows][0] - 1
        control = expected["control_step"][rows] - shift * (episode == episode[0])
        np.testing.assert_array_equal(found.labels.control_step[rows], control)
    assert not found.unknown.any()
    assert found.missed_restores == []


@pytest.mark.parametrize(
    "name",
    [
        "rigid_contacts_all",
        "fp64_rigid_contacts_all",
        "create_destroy",
        "soft_body",
        "variable_steps",
        "post_callback",
        "restore_twice",
    ],
)
def test_one_environment_that_nobody_resets(recordings: Path, name: str) -> None:
    _, found = opened(recordings, name)
    assert found.environments == 1
    assert (found.labels.env == 0).all()
    assert (found.labels.episode == 1).all()
    assert found.substeps is None
    free = found.labels.kind == StepKind.FREE
    zero = found.labels.kind == StepKind.ZERO
    assert (free | zero).all()
    assert zero.sum() == (name == "variable_steps")
    assert not found.unknown.any()
    assert found.missed_restores == []
    assert found.jumps == []
    assert (np.diff(found.track) == 0).all()


def test_a_short_step_that_goes_on_is_no_reset(recordings: Path) -> None:
    recording, found = opened(recordings, "variable_steps")
    assert recording.steps.h_s[4] == pytest.approx(1e-5)
    assert found.labels.kind[4] == StepKind.FREE
    assert found.parent.tolist() == [-1, 0, 1, 2, 3, 4, 5, 6, -1]
    assert found.labels.kind[8] == StepKind.ZERO


def test_a_state_restored_twice_is_two_rewinds(recordings: Path) -> None:
    _, found = opened(recordings, "restore_twice")
    seen = [(r.native, r.env, r.left_native, r.to_native) for r in found.rewinds]
    # The state was captured before the recording's first step.
    assert seen == [(15, 0, 14, -1), (30, 0, 29, -1)]
    assert found.parent[15] == found.parent[30] == -1
    expected = truth(recordings, "restore_twice")["scene_time_after"]
    np.testing.assert_allclose(found.scene_time_since_s, expected, atol=1e-12)


def test_a_body_moved_by_a_callback(recordings: Path) -> None:
    recording, found = opened(recordings, "post_callback")
    (moved,) = (recording.actors[k].name for k in found.displaced_actors)
    assert moved == "BallA"
    # The crate tells where the steps began, so that they are known all the same.
    assert found.parent.tolist() == [-1, *range(9)]
    assert reasons(found) == {"callback_moved": 10}


def test_without_velocities_nothing_is_guessed(recordings: Path) -> None:
    _, found = opened(recordings, "no_state")
    assert (found.labels.env == -1).all()
    assert found.environments == 0
    assert reasons(found) == {"no_velocities": len(found)}
    assert found.unknown.all()
    assert (found.confidence == 0).all()


def test_actors_that_come_and_go(recordings: Path) -> None:
    recording, found = opened(recordings, "create_destroy")
    assert len(recording.actors) == 4
    assert found.parent.tolist() == [-1, *range(len(found) - 1)]


def test_the_long_recording(cartpole_20k: Path) -> None:
    found = attribute(load(cartpole_20k))
    assert found.environments == 1
    assert (found.labels.env == 0).all()
    assert found.parent.tolist() == list(range(-1, len(found) - 1))
    assert found.rewinds == []
