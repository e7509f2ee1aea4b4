"""Contact under backward Euler: what stands, slides and rests, by closed forms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch

from isoscope.gpu.contact.contacts import Contacts
from isoscope.gpu.dynamics.dynamics import Dynamics
from isoscope.gpu.dynamics.joint_forces import NO_CONTROL
from isoscope.gpu.integrators.backward_euler import BackwardEuler
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.parameters import Parameters
from tests.gpu.integrators.bodies import body, box, capsule, on_ground

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.gpu.integrators.base import StepOutcome
    from isoscope.gpu.model.spec import Model

G = 9.81


def steps(
    model: Model,
    h: float,
    seconds: float,
    v: list[float] | None = None,
    *,
    worlds: int = 1,
    gravity: torch.Tensor | None = None,
) -> Iterator[StepOutcome]:
    """Step from the model's start; every step has to converge."""
    tree = build_tree(model)
    parameters = Parameters.from_tree(tree, worlds=worlds)
    if gravity is not None:
        parameters = parameters.replaced("gravity", gravity)
    integrator = BackwardEuler(Dynamics(tree, parameters), Contacts(tree))
    place = torch.tensor(tree.start, dtype=torch.float64)[:, None].repeat(1, worlds)
    speed = torch.zeros(tree.nv, worlds, dtype=torch.float64)
    if v is not None:
        speed[: len(v)] = torch.tensor(v, dtype=torch.float64)[:, None]
    for _ in range(math.ceil(seconds / h)):
        outcome = integrator.step(place, speed, h, NO_CONTROL, parameters)
        assert outcome.status.tolist() == [0] * worlds
        place, speed = outcome.q, outcome.v
        yield outcome


def last(outcomes: Iterator[StepOutcome]) -> StepOutcome:
    *_, outcome = outcomes
    return outcome


def depth_per_kg() -> float:
    tree = build_tree(on_ground(box("a", (0.0, 0.0, 0.1))))
    return G / Parameters.from_tree(tree).contact_stiffness.item()


STACKS = {
    "boxes": (box("a", (0.0, 0.0, 0.1)), box("b", (0.02, 0.01, 0.3))),
    "capsule": (box("a", (0.0, 0.0, 0.1)), capsule("b", (0.0, 0.0, 0.3))),
}


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_comes_to_rest(stack: str) -> None:
    check_stack(stack, 0.02, 0.6)


@pytest.mark.slow
@pytest.mark.parametrize("h", [0.01, 0.02])
@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_stands_for_ten_seconds(stack: str, h: float) -> None:
    check_stack(stack, h, 10.0)


def check_stack(stack: str, h: float, seconds: float) -> None:
    outcome = last(steps(on_ground(*STACKS[stack]), h, seconds))
    start = build_tree(on_ground(*STACKS[stack])).start
    q, each = outcome.q[:, 0], depth_per_kg()
    # the lower one carries both; it leans where the upper one is off its centre
    assert q[2].item() == pytest.approx(0.1 - 2 * each, abs=0.3 * each)
    assert q[9].item() == pytest.approx(0.3 - 3 * each, abs=0.6 * each)
    for row in (0, 1, 7, 8):
        assert q[row].item() == pytest.approx(start[row], abs=2e-3)
    for upright in (q[3:6], q[10:13]):
        assert upright.abs().max() < 5e-3
    # friction that is regularised lets what sticks creep, slowly
    assert outcome.v.abs().max() < 1e-3
    assert outcome.iterations.item() <= 2


@pytest.mark.parametrize(("kind", "mass"), [("sphere", 0.5), ("box", 4.0)])
def test_what_rests_is_as_deep_as_its_weight_says(kind: str, mass: float) -> None:
    size = (0.1,) if kind == "sphere" else (0.1, 0.1, 0.1)
    model = on_ground(body("a", kind, size, (0.0, 0.0, 0.1), mass=mass))
    outcome = last(steps(model, 0.01, 1.0))
    expected = 0.1 - mass * depth_per_kg()
    assert outcome.q[2].item() == pytest.approx(expected, abs=1e-9)
    assert outcome.contacts is not None
    force = outcome.contacts.force.sum(0)[:, 0]
    assert force.abs().max().item() == pytest.approx(mass * G, rel=1e-6)


def test_friction_holds_within_its_cone_and_not_beyond() -> None:
    friction = 0.5
    # gravity leans instead of the ground: tan of the angle over the coefficient
    ratios = torch.tensor([0.5, 0.9, 1.1, 1.5], dtype=torch.float64)
    angle = torch.atan(ratios * friction)
    gravity = torch.stack(
        (G * torch.sin(angle), torch.zeros_like(angle), -G * torch.cos(angle))
    )
    flat = body("a", "box", (0.1, 0.1, 0.02), (0.0, 0.0, 0.02), friction=friction)
    model = on_ground(flat, friction=friction)
    tree = build_tree(model)
    slip = Parameters.from_tree(tree).slip_speed.item()
    speeds = [
        outcome.v[0] for outcome in steps(model, 0.01, 0.5, worlds=4, gravity=gravity)
    ]
    speed = speeds[-1]
    # what holds creeps at the regularised law's speed
    held = ratios[:2]
    creep = slip * held / torch.sqrt(1 - held**2)
    torch.testing.assert_close(speed[:2], creep, rtol=1e-4, atol=0.0)
    # what slides is pulled by what friction leaves: g (sin - mu cos)
    left = G * (torch.sin(angle) - friction * torch.cos(angle))[2:]
    gained = (speed - speeds[-26])[2:] / 0.25
    torch.testing.assert_close(gained, left, rtol=2e-2, atol=0.0)


def test_a_dropped_box_comes_to_rest_and_never_gains_energy() -> None:
    model = on_ground(box("a", (0.0, 0.0, 0.25)))
    highest = 0.25
    before = math.inf
    for outcome in steps(model, 0.01, 0.8):
        height, speed = outcome.q[2].item(), outcome.v[2].item()
        energy = G * height + 0.5 * speed * speed
        # what it lent to the compliant ground it may have back
        assert energy < G * highest + 1e-9
        before = outcome.v.abs().max().item()
    assert before < 1e-6
    assert height == pytest.approx(0.1 - depth_per_kg(), abs=1e-9)
