"""How many native steps a control step has, from the runs of steps."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.core.attribution.attributor import attribute
from isoscope.core.errors import UsageError
from tests.core.attribution.shared_scene import H_S, Env, Scene, Truth, run


def turns_of(lengths: list[int], substeps: int, envs: int = 2) -> tuple[Scene, Truth]:
    """Environments in turn, each with so many control steps."""
    scene, truth = Scene(), Truth()
    made = [Env(scene, k, truth, k, substeps=substeps) for k in range(envs)]
    for env in made:
        env.reset()
    for k, count in enumerate(lengths):
        for _ in range(count):
            made[k % envs].act()
    return scene, truth


def test_the_greatest_common_divisor_of_the_runs() -> None:
    scene, truth = turns_of([2, 3, 3, 2, 5, 2, 1, 4], 3)
    found = attribute(scene.recording())
    assert found.substeps == 3
    assert found.labels.control_step.tolist() == truth.control_step


def test_two_environments_that_never_take_turns() -> None:
    scene, _ = turns_of([6, 4], 2)
    found = attribute(scene.recording())
    assert found.substeps is None
    assert "undecidable" in found.substeps_how


def test_a_control_step_that_was_broken_off() -> None:
    # an exception: the environment is reset before it goes on
    scene, truth = Scene(), Truth()
    made = [Env(scene, k, truth, k, substeps=4) for k in range(3)]
    for env in made:
        env.reset()
    for k in range(12):
        for env in made:
            if (k, env.number) == (5, 1):
                assert env.snapshot is not None
                scene.state = env.snapshot.copy()
                scene.step(H_S, 1.0)
                env._note(env.control + 1, 0)
                env.reset()
                continue
            env.act()
    found = attribute(scene.recording())
    assert found.substeps == 4
    assert found.labels.env.tolist() == truth.env
    assert found.labels.control_step.tolist() == truth.control_step
    assert found.labels.substep.tolist() == truth.substep
    (broken,) = found.odd_runs
    assert truth.env[broken] == 1
    assert any("no multiple of 4 substeps" in note for note in found.notes)


def test_a_number_that_can_not_be() -> None:
    scene, _ = run(2, 5)
    for wrong in (0, -2):
        with pytest.raises(UsageError, match="can't have"):
            attribute(scene.recording(), substeps=wrong)


def test_a_restored_state_takes_the_count_of_control_steps_back() -> None:
    scene, truth = Scene(), Truth()
    made = [Env(scene, k, truth, k) for k in range(2)]
    for env in made:
        env.reset()
    saved = None
    for k in range(20):
        for env in made:
            if (k, env.number) == (12, 0):
                assert saved is not None
                env.snapshot, env.control = saved
            env.act()
            if (k, env.number) == (6, 0):
                assert env.snapshot is not None
                saved = (env.snapshot.copy(), env.control)
    found = attribute(scene.recording())
    assert found.missed_restores == []
    (seen,) = found.rewinds
    assert seen.env == 0
    assert truth.control_step[seen.to_native] == 7
    np.testing.assert_array_equal(found.labels.control_step, truth.control_step)
    assert seen.scene_time_from_s == pytest.approx(1e-5 + 12 * 0.04)
    assert seen.scene_time_to_s == pytest.approx(1e-5 + 7 * 0.04)
