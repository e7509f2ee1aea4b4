"""Somebody steps the scene itself between two turns: nobody goes on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.attribution.attributor import attribute
from isoscope.core.recording.model import StepKind
from tests.core.attribution.shared_scene import H_S, Env, Scene, Truth, turns

if TYPE_CHECKING:
    from isoscope.core.attribution.result import Attribution

NOBODY = -1


def _bare(scene: Scene, truth: Truth, steps: int) -> None:
    for _ in range(steps):
        scene.step(H_S)
        for column in (truth.env, truth.episode, truth.control_step, truth.substep):
            column.append(NOBODY)
        truth.parent.append(scene.parents[-1])


def _made(
    bare: dict[int, int],
    *,
    order: str = "fixed",
    substeps: int = 2,
    missed: tuple[int, ...] = (),
) -> tuple[Scene, Truth]:
    """Three environments; `bare` steps after the turn of that number."""
    scene, truth = Scene(), Truth()
    envs = [Env(scene, k, truth, k, substeps=substeps) for k in range(3)]
    for env in envs:
        env.reset()
    last = 2
    planned = turns(order, 3, 16, np.random.default_rng(3))
    for number, k in enumerate(planned):
        envs[k].act(restore=number not in missed, whose=last)
        last = k
        if envs[k].control == 10:
            envs[k].reset()
        _bare(scene, truth, bare.get(number, 0))
    return scene, truth


def _assert_exact(found: Attribution, truth: Truth) -> None:
    env = np.array(truth.env)
    somebody = env != NOBODY
    _, first = np.unique(env[somebody], return_index=True)
    appear = env[somebody][np.sort(first)].tolist()
    expected = [appear.index(e) for e in env[somebody]]
    np.testing.assert_array_equal(found.labels.env[somebody], expected)
    for name in ("episode", "control_step", "substep"):
        column = getattr(found.labels, name)
        np.testing.assert_array_equal(
            column[somebody], np.array(getattr(truth, name))[somebody], err_msg=name
        )


@pytest.mark.parametrize("order", ["fixed", "rounds", "any"])
@pytest.mark.parametrize("steps", [1, 3, 5])
def test_a_part_of_a_control_step_is_free(order: str, steps: int) -> None:
    scene, truth = _made({19: steps}, order=order)
    found = attribute(scene.recording())
    assert found.substeps == 2
    assert found.odd_runs == ()
    _assert_exact(found, truth)
    bare = np.array(truth.env) == NOBODY
    np.testing.assert_array_equal(found.labels.kind == StepKind.FREE, bare)
    assert (found.labels.control_step[bare] == NOBODY).all()
    assert found.missed_restores == []
    (back,) = found.rewinds
    assert back.left_native == np.flatnonzero(bare)[-1]
    assert back.to_native == np.flatnonzero(bare)[0] - 1


@pytest.mark.parametrize("order", ["fixed", "rounds", "any"])
@pytest.mark.parametrize("steps", [2, 4])
def test_whole_control_steps_are_no_missed_restore(order: str, steps: int) -> None:
    scene, truth = _made({19: steps}, order=order)
    found = attribute(scene.recording())
    assert found.substeps == 2
    assert found.environments == 3
    _assert_exact(found, truth)
    assert found.missed_restores == []
    assert len(found.rewinds) == 1


def test_they_may_come_again_and_again() -> None:
    scene, truth = _made({5: 1, 10: 2, 21: 3, 31: 1}, substeps=4)
    found = attribute(scene.recording())
    assert found.substeps == 4
    _assert_exact(found, truth)
    assert found.missed_restores == []
    assert len(found.rewinds) == 4


@pytest.mark.parametrize("order", ["fixed", "rounds", "any"])
def test_a_missed_restore_elsewhere_is_still_found(order: str) -> None:
    scene, truth = _made({7: 1}, order=order, missed=(22,))
    found = attribute(scene.recording())
    assert found.substeps == 2
    _assert_exact(found, truth)
    assert [m.native for m in found.missed_restores] == [t[0] for t in truth.missed]
