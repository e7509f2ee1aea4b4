"""Restore twice: what follows a snapshot is a function of it alone, contact or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoscope.app.environments import EnvFactory

SETTINGS = {"control_hz": 50, "simulation_hz": 250}
ACTIONS = np.random.default_rng(0).uniform(-1, 1, (60, 3)).astype(np.float32)


def falling(scene: Any) -> Any:
    return EnvFactory("FallingBodies", SETTINGS, scene=scene, precision="float32")()


def steps(one: Any, first: int, n: int) -> tuple[list[Any], float]:
    """Observations of n steps, and in how many of them the ball touched something."""
    seen, touched = [], 0.0
    for action in ACTIONS[first : first + n]:
        seen.append(one.step(action)[0])
        touched += float(one.read(0, "contacts_active").any())
    return seen, touched


@pytest.mark.parametrize("scene", ["independent", "shared"])
def test_what_follows_a_snapshot_is_the_same_twice(scene: str) -> None:
    one = falling(scene)
    one.reset(seed=1)
    assert steps(one, 0, 20)[1] == 0
    snapshot = one.capture()
    steps(one, 20, 5)
    one.restore(snapshot)
    a, touched = steps(one, 20, 25)
    steps(one, 45, 10)
    one.restore(snapshot)
    b, _ = steps(one, 20, 25)
    assert touched > 0, "nothing touches: the case shows nothing"
    assert np.array_equal(np.stack(a), np.stack(b))
    one.close()


def test_in_the_scene_itself_too() -> None:
    one = falling("independent")
    one.reset(seed=1)
    scene, ran = one.scene, []
    for _ in range(60):
        scene.step(0.005)
    before = scene.capture()
    for ahead in (5, 35):
        for _ in range(ahead):
            scene.step(0.005)
        scene.restore(before)
        for _ in range(60):
            scene.step(0.005)
        ran.append(scene.capture())
    assert scene.is_equal(*ran)
    assert not scene.is_equal(before, ran[0])
    one.close()
