"""Bodies at rest, sliding and stacked, against what statics and Coulomb say."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from isoscope.gpu.contact.contacts import Contacts
from isoscope.gpu.dynamics.dynamics import Dynamics
from isoscope.gpu.dynamics.joint_forces import Control
from isoscope.gpu.integrators.semi_implicit import SemiImplicitEuler
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.parameters import Parameters
from isoscope.gpu.model.spec import NO_TURN, Contact, Quaternion, Shape
from tests.gpu.contact.scenes import (
    GROUND,
    LAW,
    body,
    box,
    capsule,
    compiled,
    placed,
    scene,
    sphere,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.gpu.model.spec import Model

G = 9.81
HALF = math.sqrt(0.5)
LYING: Quaternion = (0.0, HALF, 0.0, HALF)
ON_EDGE: Quaternion = (math.sin(math.pi / 8), 0.0, 0.0, math.cos(math.pi / 8))
# Turns a cube's diagonal upright.
ANGLE = math.acos(1 / math.sqrt(3))
ON_CORNER: Quaternion = (
    math.sin(ANGLE / 2) * HALF,
    -math.sin(ANGLE / 2) * HALF,
    0.0,
    math.cos(ANGLE / 2),
)


@pytest.mark.parametrize(
    ("shape", "turn", "height"),
    [
        (sphere(0.1), NO_TURN, 0.1),
        (capsule(0.05, 0.1), NO_TURN, 0.15),
        (capsule(0.05, 0.1), LYING, 0.05),
        (box(0.1, 0.2, 0.3), NO_TURN, 0.3),
        (box(), ON_EDGE, 0.1 * math.sqrt(2)),
        (box(), ON_CORNER, 0.1 * math.sqrt(3)),
    ],
)
def test_a_body_is_in_balance_at_a_depth_of_its_weight_by_the_stiffness(
    shape: Shape, turn: Quaternion, height: float
) -> None:
    """However many points carry it."""
    weight = 7.0
    _, parameters, contacts = compiled(scene(body("a", shape), world=(GROUND,)))
    motion = placed(((0.0, 0.0, height - weight / LAW.stiffness), turn))
    wrench = contacts.evaluate(motion, parameters).wrench[0, :, 0].numpy()
    np.testing.assert_allclose(wrench, [0, 0, weight, 0, 0, 0], atol=1e-9)


def run(
    model: Model,
    h: float,
    seconds: float,
    *,
    worlds: int = 1,
    gravity: list[list[float]] | None = None,
    watch: Callable[[float, torch.Tensor, torch.Tensor], None] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    tree = build_tree(model)
    parameters = Parameters.from_tree(tree, worlds=worlds)
    if gravity is not None:
        parameters = parameters.replaced("gravity", np.array(gravity).T)
    dynamics = Dynamics(tree, parameters)
    integrator = SemiImplicitEuler(dynamics, Contacts(tree))
    start = torch.tensor(tree.start, dtype=torch.float64)
    q = start[:, None].repeat(1, worlds)
    v = torch.zeros(tree.nv, worlds, dtype=torch.float64)
    for step in range(round(seconds / h)):
        outcome = integrator.step(q, v, h, Control(), parameters)
        q, v = outcome.q, outcome.v
        if watch is not None:
            watch((step + 1) * h, q, v)
    return q, v


def test_dropped_bodies_come_to_rest_at_that_depth() -> None:
    capsule(0.05, 0.1)
    model = scene(
        body("s", sphere(0.1), position=(0.0, 0.0, 0.11)),
        body(
            "c", capsule(0.05, 0.1), position=(1.0, 0, 0.052), rotation=LYING, mass=2.0
        ),
        body("b", box(), position=(2.0, 0.0, 0.102), mass=3.0),
        world=(GROUND,),
    )
    q, v = run(model, 1e-3, 0.6)
    for index, (height, mass) in enumerate(((0.1, 1.0), (0.05, 2.0), (0.1, 3.0))):
        depth = height - q[7 * index + 2, 0].item()
        assert depth == pytest.approx(mass * G / LAW.stiffness, rel=0.05)
    assert float(v.abs().max()) < 0.02


def test_a_box_on_a_slope_sticks_or_slides_as_coulomb_says() -> None:
    """Gravity is tilted instead of the ground; friction is sqrt(0.64 · 0.25) = 0.4."""
    friction, ratios = 0.4, [0.5, 0.9, 1.5, 2.0]
    angles = [math.atan(ratio * friction) for ratio in ratios]
    model = scene(
        body("b", box(0.1, 0.1, 0.02, friction=0.64), position=(0.0, 0.0, 0.02)),
        world=(Shape(name="slope", type="plane", friction=0.25),),
    )
    gravity = [[G * math.sin(a), 0.0, -G * math.cos(a)] for a in angles]
    speeds: dict[float, torch.Tensor] = {}

    def watch(time: float, _: torch.Tensor, v: torch.Tensor) -> None:
        speeds[round(time, 9)] = v[0].clone()

    run(model, 1e-3, 0.5, worlds=4, gravity=gravity, watch=watch)
    for world, (ratio, angle) in enumerate(zip(ratios, angles, strict=True)):
        speed = speeds[0.5][world].item()
        if ratio < 1.0:
            creep = LAW.slip_speed_m_s * ratio / math.sqrt(1 - ratio * ratio)
            assert speed == pytest.approx(creep, rel=0.05)
        else:
            gained = (speed - speeds[0.25][world].item()) / 0.25
            expected = G * (math.sin(angle) - friction * math.cos(angle))
            assert gained == pytest.approx(expected, rel=0.01)


def bounced_height(seconds: float, h: float) -> float:
    """A ball of 1 kg that falls 2 cm on the ground, by the law alone."""
    height, speed = 0.02, 0.0
    for _ in range(round(seconds / h)):
        depth = max(-height, 0.0)
        press = LAW.stiffness * depth * max(1.0 - LAW.damping * speed, 0.0)
        speed += h * (press - G)
        height += h * speed
    return height


def test_a_bounce_converges_with_the_step() -> None:
    model = scene(body("s", sphere(0.1), position=(0, 0, 0.12)), world=(GROUND,))
    exact = bounced_height(0.12, 1e-6)
    errors = [
        abs(run(model, h, 0.12)[0][2, 0].item() - 0.1 - exact)
        for h in (1e-3, 5e-4, 2.5e-4)
    ]
    assert errors[0] < 2e-3
    for coarse, fine in itertools.pairwise(errors):
        assert 1.5 < coarse / fine < 2.7


# How deep each of the stacks' bodies is below where shapes would only meet.
MASSES = {"lower": 1.0, "upper": 1.0, "base": 1.0, "roll": 0.5}
SUNK = np.array([2.0, 2.0 + 1.0, 1.5, 1.5 + 0.5]) * G / LAW.stiffness


def stacks(slip_speed: float) -> Model:
    """A box on a box, a little aside, and a capsule on a box, all as deep as due."""
    law = Contact(
        stiffness=LAW.stiffness, damping=LAW.damping, slip_speed_m_s=slip_speed
    )
    places = {
        "lower": (box(), 0.0, 0.0, 0.1),
        "upper": (box(), 0.02, 0.01, 0.3),
        "base": (box(0.15, 0.1, 0.1), 1.0, 0.0, 0.1),
        "roll": (capsule(0.05, 0.1), 1.02, 0.0, 0.25),
    }
    bodies = [
        body(
            name,
            shape,
            position=(x, y, z - float(sunk)),
            rotation=LYING if name == "roll" else NO_TURN,
            mass=MASSES[name],
        )
        for (name, (shape, x, y, z)), sunk in zip(places.items(), SUNK, strict=True)
    ]
    return scene(*bodies, world=(GROUND,), law=law)


def assert_stacks_stand(
    model: Model, h: float, seconds: float, still_m_s: float
) -> None:
    tree = build_tree(model)
    start = torch.tensor(tree.start, dtype=torch.float64)
    q, v = run(model, h, seconds)
    moved = (q[:, 0] - start).reshape(-1, 7)
    assert float(moved[:, :2].abs().max()) < 3e-3
    assert float(moved[:, 2].abs().max()) < 2e-4
    assert float(moved[:, 3:].abs().max()) < 0.01
    assert float(v.abs().max()) < still_m_s


def test_stacks_stand() -> None:
    assert_stacks_stand(stacks(0.1), 1e-3, 0.3, 0.03)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_stacks_stand_for_ten_seconds() -> None:
    """With the model's own law and the step that explicit friction needs."""
    assert_stacks_stand(stacks(LAW.slip_speed_m_s), 2e-4, 10.0, 1e-3)
