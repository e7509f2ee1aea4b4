"""Steps of no duration in a shared scene: whose state they show, and no new M."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from isoscope.core.attribution.attributor import attribute
from isoscope.core.attribution.zero_steps import homes
from isoscope.core.recording.model import Actor, Labels, Recording, StepKind
from isoscope.core.recording.tracks import Track
from tests.core.attribution.shared_scene import Env, Scene, Truth

LABELS = ("env", "episode", "control_step", "substep")


def _step_by_zero(scene: Scene, truth: Truth, env: Env, control: int = -1) -> None:
    """The engine writes transforms in such a step, and garbage for the rest."""
    shown = scene.columns[scene.state.row]
    column = {name: np.full_like(v, 1e-40) for name, v in shown.items()}
    column["rotation"] = shown["rotation"].copy()
    scene.columns.append(column)
    scene.h.append(0.0)
    scene.parents.append(-1)
    env._note(control, -1 if control < 0 else 0)


def _run(rounds: int = 12, envs: int = 3, substeps: int = 2) -> list[Env]:
    scene, truth = Scene(), Truth()
    made = [Env(scene, k, truth, 40 + k, substeps=substeps) for k in range(envs)]
    for env in made:
        env.reset()
    return made * rounds


@pytest.mark.parametrize("every", [False, True])
def test_on_the_side_they_are_of_whose_state_is_in_the_scene(every: bool) -> None:
    turns = _run()
    scene, truth = turns[0].scene, turns[0].truth
    for number, env in enumerate(turns):
        env.act()
        if every or number in (10, 20):
            _step_by_zero(scene, truth, env)
    found = attribute(scene.recording())
    for name in LABELS:
        np.testing.assert_array_equal(
            getattr(found.labels, name), getattr(truth, name), name
        )
    zero = found.labels.kind == StepKind.ZERO
    assert zero.sum() == (len(turns) if every else 2)
    assert not found.reason.any()
    assert found.substeps == 2


def test_before_a_turn_they_are_of_whose_state_was_restored() -> None:
    turns = _run()
    scene, truth = turns[0].scene, turns[0].truth
    for number, env in enumerate(turns):
        if number == 13:
            assert env.snapshot is not None
            scene.state = env.snapshot.copy()
            _step_by_zero(scene, truth, env)
        env.act()
    found = attribute(scene.recording())
    np.testing.assert_array_equal(found.labels.env, truth.env)
    np.testing.assert_array_equal(found.labels.control_step, truth.control_step)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_as_a_substep_they_count(place: int) -> None:
    turns = _run(substeps=2)
    scene, truth = turns[0].scene, turns[0].truth
    # control steps of three native steps, and one of them has a 0 s step in it
    for number, env in enumerate(turns):
        assert env.snapshot is not None
        env.control += 1
        scene.state = env.snapshot.copy()
        force = env.rng.standard_normal((2, 3))
        for substep in range(3):
            if number == 16 and substep == place:
                _step_by_zero(scene, truth, env, env.control)
                truth.substep[-1] = substep
                continue
            scene.step(0.02, force)
            env._note(env.control, substep)
        env.snapshot = scene.state.copy()
    found = attribute(scene.recording())
    assert found.substeps == 3
    for name in LABELS:
        np.testing.assert_array_equal(
            getattr(found.labels, name), getattr(truth, name), name
        )


def test_of_equal_states_it_is_nobody_s() -> None:
    scene, truth = Scene(turn=False), Truth()
    made = [Env(scene, k, truth, 50 + k) for k in range(2)]
    for env in made:
        env.reset()
    for _ in range(8):
        for env in made:
            env.act()
    # without turning bodies all rotations are equal
    _step_by_zero(scene, truth, made[1])
    made[0].act()
    found = attribute(scene.recording())
    zero = np.flatnonzero(found.labels.kind == StepKind.ZERO)
    assert found.labels.env[zero].tolist() == [-1]


def _shown(places: list[float], first: int, envs: list[int], rows: int) -> Any:
    """A body that is made before row `first`; from then on `envs` step in turn."""
    labels = Labels.unknown(rows)
    labels.env[first : first + len(envs)] = envs
    labels.kind[first : first + len(envs)] = StepKind.SUBSTEP
    ball = Actor(0, 1, "Ball", "Rigid", static=False, created_native=first)
    ball.fields.tracks["translation"] = Track.of(np.array(places)[:, None], first=first)
    recording = Recording(None, "test")
    recording.actors.append(ball)
    return recording, SimpleNamespace(labels=labels)


def test_nothing_is_compared_where_nobody_stepped_before() -> None:
    recording, attribution = _shown([10.0, 11.0], 0, [], 2)
    assert homes(recording, attribution, np.array([0, 1])) == {}


def test_a_body_that_was_made_late_is_compared_in_its_own_rows() -> None:
    recording, attribution = _shown([10.0, 11.0, 12.0, 11.0], 3, [0, 1, 2], 7)
    assert homes(recording, attribution, np.array([6])) == {6: 4}
