"""The law at a point, and what holds for whole scenes of all kinds of pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.gpu.contact.law import contact_force, pair_friction
from tests.gpu.contact.scenes import (
    GROUND,
    LAW,
    body,
    box,
    capsule,
    compiled,
    numbers,
    random_motion,
    scene,
    sphere,
)

CROWD = scene(
    body("s1", sphere(0.1, friction=0.3)),
    body("s2", sphere(0.15)),
    body("c1", capsule(0.06, 0.2, friction=0.5)),
    body("c2", capsule(0.08, 0.1)),
    body("b1", box(0.1, 0.15, 0.2)),
    body("b2", box(0.2, 0.1, 0.1, friction=0.0)),
    world=(GROUND,),
)
LINKS = 6
SPEEDS = st.floats(-10.0, 10.0)


def one(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64).reshape(1, -1, 1)


def force_at(
    distance: float, velocity: tuple[float, float, float], friction: float = 0.5
) -> np.ndarray:
    force = contact_force(
        torch.tensor([[distance]], dtype=torch.float64),
        torch.tensor([[0.5]], dtype=torch.float64),
        one(0.0, 0.0, 1.0),
        one(*velocity),
        torch.tensor([[friction]], dtype=torch.float64),
        *(
            torch.tensor([[value]], dtype=torch.float64)
            for value in (LAW.stiffness, LAW.damping, LAW.slip_speed_m_s)
        ),
    )
    return np.asarray(force[0, :, 0].numpy())


def test_at_rest_it_is_a_spring() -> None:
    np.testing.assert_allclose(
        force_at(-1e-3, (0, 0, 0)), [0, 0, 0.5 * 2e4 * 1e-3], rtol=1e-14
    )
    assert force_at(1e-3, (1, 2, -3)).tolist() == [0.0, 0.0, 0.0]


@given(speed=SPEEDS, depth=st.floats(0.0, 0.1))
def test_approaching_adds_and_parting_never_pulls(speed: float, depth: float) -> None:
    normal = force_at(-depth, (0, 0, -speed))[2]
    assert normal >= 0.0
    assert normal == pytest.approx(
        max(0.5 * 2e4 * depth * (1 + 2.0 * speed), 0.0), rel=1e-12, abs=1e-12
    )


@given(x=SPEEDS, y=SPEEDS, z=SPEEDS, friction=st.floats(0.0, 2.0))
def test_friction_is_within_the_cone_and_against_the_slip(
    x: float, y: float, z: float, friction: float
) -> None:
    fx, fy, normal = force_at(-1e-3, (x, y, z), friction)
    size = math.hypot(fx, fy)
    assert size <= friction * normal * (1 + 1e-12) + 1e-12
    assert fx * x <= 0.0
    assert fy * y <= 0.0
    slip = math.hypot(x, y)
    expected = friction * normal * slip / math.hypot(slip, 1e-2)
    assert size == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_two_frictions_count_by_their_geometric_mean() -> None:
    a = torch.tensor([0.2, 0.0, 0.5], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([0.8, 1.0, 0.5], dtype=torch.float64)
    mean = pair_friction(a, b)
    torch.testing.assert_close(mean, torch.tensor([0.4, 0.0, 0.5], dtype=torch.float64))
    mean.sum().backward()
    assert a.grad is not None
    assert bool(torch.isfinite(a.grad).all())


@pytest.mark.parametrize("speed", [0.05, 0.1])
def test_a_blow_loses_what_hunt_and_crossley_say(speed: float) -> None:
    """At low speed e = 1 - 2/3 c w, to first order."""
    height, velocity, h = 0.0, -speed, 1e-5
    while height <= 0.0:
        velocity += h * 2.0 * force_at(height, (0, 0, velocity))[2]
        height += h * velocity
        if velocity > 0.0 and height > -1e-6:
            break
    loss = 2 / 3 * LAW.damping * speed
    assert velocity / speed == pytest.approx(1 - loss, abs=loss * loss)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_force_has_its_opposite(seed: int) -> None:
    """Without the ground: forces, and torques about one point, add up to zero."""
    random = np.random.default_rng(seed)
    model = scene(*CROWD.actors)
    _, parameters, contacts = compiled(model)
    motion = random_motion(random, LINKS, 8, 0.15)
    wrench = contacts.evaluate(motion, parameters).wrench
    force, torque = wrench[:, :3], wrench[:, 3:]
    about_origin = torque + torch.linalg.cross(motion.position, force, dim=1)
    scale = float(wrench.abs().max()) + 1.0
    assert float(force.sum(0).abs().max()) <= 1e-10 * scale
    assert float(about_origin.sum(0).abs().max()) <= 1e-10 * scale


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_wrenches_are_the_sum_of_the_reported_forces(seed: int) -> None:
    random = np.random.default_rng(seed)
    tree, parameters, contacts = compiled(CROWD)
    motion = random_motion(random, LINKS, 4, 0.15)
    report = contacts.evaluate(motion, parameters)
    assert bool(torch.isfinite(report.wrench).all())
    for world in range(4):
        expected = np.zeros((LINKS, 6))
        position = numbers(report, "position", world)
        force = numbers(report, "force", world)
        for point in range(report.points):
            a, b = int(report.link_a[point]), int(report.link_b[point])
            for link, sign in ((a, 1.0), (b, -1.0)):
                if link >= 0:
                    arm = position[point] - motion.position[link, :, world].numpy()
                    own = sign * force[point]
                    expected[link] += np.concatenate((own, np.cross(arm, own)))
        np.testing.assert_allclose(
            numbers(report, "wrench", world),
            expected,
            atol=1e-9 * (1 + np.abs(expected).max()),
        )
    # what does not touch has no force, and what has one touches
    silent = ~report.active
    assert float(report.force.transpose(0, 1)[:, silent].abs().max()) == 0.0
    assert len(tree.links) == LINKS


def test_the_relative_velocity_is_that_of_the_points() -> None:
    """A ball that rolls on the ground slips nowhere; one that only slides does."""
    _, parameters, contacts = compiled(scene(body("s", sphere(0.1)), world=(GROUND,)))
    motion = random_motion(np.random.default_rng(0), 1, 2, 0.0)
    motion.position[0, 2] = 0.1 - 1e-12
    motion.linear[0] = torch.tensor([[1.0], [0.0], [0.0]])
    motion.angular[0] = torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 0.0]])
    velocity = contacts.evaluate(motion, parameters).velocity[0]
    torch.testing.assert_close(
        velocity,
        torch.tensor([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]], dtype=torch.float64),
        atol=1e-10,
        rtol=0,
    )


def test_a_model_where_nothing_can_touch() -> None:
    _, parameters, contacts = compiled(scene(body("s", sphere(0.1))))
    motion = random_motion(np.random.default_rng(0), 1, 5, 1.0)
    report = contacts.evaluate(motion, parameters)
    assert report.points == 0
    assert report.position.shape == (0, 3, 5)
    assert report.wrench.shape == (1, 6, 5)
    assert float(report.wrench.abs().max()) == 0.0
