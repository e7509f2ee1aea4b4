"""Noise at a reset: each degree of freedom in its own unit, rotations turned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoscope.core.envs.randomisation.reset_noise import (
    DofNoise,
    NoisyStart,
    ResetNoise,
)
from isoscope.core.errors import UsageError
from tests.core.envs.making import batch, env, rails
from tests.core.envs.rail_scene import RailScene


def test_pose_noise_is_uniform_and_velocity_noise_normal_as_in_the_lab() -> None:
    many = batch(n=400, reset_noise=0.5)
    # without the reset's own short step
    places: list[Any] = []
    scene = rails(many)
    scene.on_pre_step(
        lambda s, h: places.append((s.positions(0).copy(), s.velocities(0).copy()))
    )
    many.reset(seed=0)
    q, v = places[0]
    assert np.abs(q).max() <= 0.5
    assert q.std() == pytest.approx(0.5 / np.sqrt(3.0), rel=0.06)
    assert v.std() == pytest.approx(0.5, rel=0.06)
    assert np.abs(v).max() > 1.0


def test_no_noise_is_no_noise() -> None:
    one = env(reset_noise=0.0)
    # only the short step of the reset itself moves anything
    assert np.abs(one.reset(seed=1)[0]).max() < 1e-5


def test_the_noise_can_be_another_than_the_tasks() -> None:
    noise = ResetNoise((DofNoise(0, 1, "rad", position=0.5),))
    observation, _ = env(noise=noise).reset(seed=1)
    omega, speed, place, angle = observation
    assert abs(angle) > 1e-3
    assert max(abs(omega), abs(speed), abs(place)) < 1e-4


def test_a_free_body_is_moved_and_turned_by_unit_quaternions() -> None:
    scene = RailScene("pusher", 50)
    dofs = tuple(
        DofNoise(1, d, "m" if d < 3 else "rad", position=0.3, velocity=0.1 * (d == 4))
        for d in range(6)
    )
    start = NoisyStart(ResetNoise(dofs), scene)
    rng = np.random.default_rng(0)
    before = scene.positions(1).copy()
    drawn = rng.uniform(-1, 1, (50, 6))
    some = np.arange(50) < 40
    start.add(drawn, np.ones((50, 6)), some)
    after = scene.positions(1)
    assert np.array_equal(after[~some], before[~some])
    moved = after[some, :3] - before[some, :3]
    assert moved == pytest.approx(0.3 * drawn[some, :3])
    assert np.linalg.norm(after[:, 3:], axis=1) == pytest.approx(1.0)
    # half the drawn turn is the tangent of half the angle
    tangent = after[some, 3:6] / after[some, 6:]
    assert tangent == pytest.approx(0.15 * drawn[some, 3:])
    assert scene.velocities(1)[0].tolist() == [0, 0, 0, 0, 0.1, 0]


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (DofNoise(0, 0, "rad", 0.1), "is in m, the noise in rad"),
        (DofNoise(0, 2, "m", 0.1), "no number 2"),
        (DofNoise(3, 0, "m", 0.1), "no actor 3"),
        (DofNoise(0, 0, "m", -0.1), "negative"),
    ],
)
def test_noise_that_does_not_fit_is_refused(noise: DofNoise, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        NoisyStart(ResetNoise((noise,)), RailScene("cartpole", 1))
