"""Semi-implicit Euler against laws of mechanics and analytic motion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
import torch

from isoscope.gpu.dynamics.dynamics import Dynamics, Kinematics
from isoscope.gpu.dynamics.joint_forces import Control
from isoscope.gpu.integrators.semi_implicit import SemiImplicitEuler
from tests.gpu.dynamics.models import (
    built,
    cartpole,
    double_pendulum,
    floating_pair,
    free_body,
    pendulum,
    random_state,
)

if TYPE_CHECKING:
    from isoscope.gpu.integrators.base import StepOutcome
    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.model.spec import Model

OFF = Control()


def run(
    model: Model, q: list[float], v: list[float], h: float, steps: int
) -> tuple[Dynamics, Parameters, torch.Tensor, torch.Tensor]:
    tree, parameters = built(model)
    dynamics = Dynamics(tree, parameters)
    integrator = SemiImplicitEuler(dynamics)
    at = torch.tensor(q, dtype=torch.float64)[:, None]
    speed = torch.tensor(v, dtype=torch.float64)[:, None]
    for _ in range(steps):
        outcome = integrator.step(at, speed, h, OFF, parameters)
        at, speed = outcome.q, outcome.v
    return dynamics, parameters, at, speed


def test_a_body_falls_as_galilei_says() -> None:
    h, steps = 0.01, 100
    start = [0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 1.0]
    spin = [1.0, 0.0, 2.0, 3.0, -1.0, 2.0]
    _, _, q, v = run(free_body(), start, spin, h, steps)
    assert v[2].item() == pytest.approx(2.0 - 9.81 * h * steps, abs=1e-12)
    assert v[:2, 0].tolist() == [1.0, 0.0]
    # v+ is summed: -g h^2 (1 + ... + n)
    fallen = 2.0 * h * steps - 9.81 * h * h * steps * (steps + 1) / 2
    assert q[2].item() == pytest.approx(5.0 + fallen, abs=1e-12)
    assert q[0].item() == pytest.approx(1.0, abs=1e-12)


def test_a_pendulum_swings_at_its_rate() -> None:
    length, h = 0.7, 1e-4
    quarter = 0.25 * 2 * math.pi * math.sqrt(length / 9.81)
    steps = round(quarter / h)
    _, _, q, v = run(pendulum(length), [0.01], [0.0], h, steps)
    assert q[0, 0].item() == pytest.approx(0.0, abs=1e-5)
    assert v[0, 0].item() == pytest.approx(-0.01 * math.sqrt(9.81 / length), rel=1e-3)


def test_a_symmetric_top_precesses_at_eulers_rate() -> None:
    # about its axis of symmetry w3 is constant; across it w turns at w3 (C - A) / A
    a, c, spin, across = 0.2, 0.3, 4.0, 0.5
    h, steps = 1e-4, 5000
    _, _, _, v = run(
        free_body((a, a, c)),
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0, across, 0.0, spin],
        h,
        steps,
    )
    angle = spin * (c - a) / a * h * steps
    assert v[5, 0].item() == pytest.approx(spin, abs=1e-12)
    assert v[3, 0].item() == pytest.approx(across * math.cos(angle), abs=1e-3)
    assert v[4, 0].item() == pytest.approx(across * math.sin(angle), abs=1e-3)


def test_an_undamped_double_pendulum_keeps_its_energy() -> None:
    tree, parameters = built(double_pendulum())
    dynamics = Dynamics(tree, parameters)
    integrator = SemiImplicitEuler(dynamics)
    # wider swings need smaller steps: the forces of v itself are taken at its old value
    q = torch.tensor([[0.5, 0.3], [0.25, 0.3]], dtype=torch.float64)
    v = torch.zeros_like(q)
    kinetic, potential = dynamics.energy(q, v, parameters)
    start = kinetic + potential
    # how much energy the swing moves about, from the lowest place
    lowest = dynamics.energy(torch.zeros_like(q), v, parameters)[1]
    swing = (start - lowest).abs()
    worst = torch.zeros(2, dtype=torch.float64)
    for step in range(10_000):
        outcome = integrator.step(q, v, 1e-3, OFF, parameters)
        q, v = outcome.q, outcome.v
        if step % 50 == 0:
            worst = worst.maximum(
                (sum(dynamics.energy(q, v, parameters)) - start).abs()
            )
    assert (worst / swing < 0.01).all()
    assert (worst > 0).all()


@pytest.mark.parametrize("center", [(0.0, 0.0, 0.0), (0.1, -0.2, 0.05)])
def test_a_tumbling_body_keeps_its_momentum(center: Any) -> None:
    model = free_body(center=center)
    start = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    check_momentum(model, start, [0.5, 0.2, -0.1, 3.0, -1.0, 2.0])


def test_a_floating_pair_keeps_its_momentum() -> None:
    start = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.3]
    check_momentum(floating_pair(), start, [0.5, 0.2, -0.1, 1.0, -1.0, 2.0, 4.0])


def check_momentum(model: Model, q: list[float], v: list[float]) -> None:
    """Without gravity both momenta stay, the better the smaller the step is."""
    errors = []
    for h, steps in ((2e-3, 250), (1e-3, 500)):
        tree, parameters = built(model)
        parameters = parameters.replaced("gravity", 0.0)
        dynamics = Dynamics(tree, parameters)
        integrator = SemiImplicitEuler(dynamics)
        at = torch.tensor(q, dtype=torch.float64)[:, None]
        speed = torch.tensor(v, dtype=torch.float64)[:, None]
        start = dynamics.momentum(at, speed, parameters)
        for _ in range(steps):
            outcome = integrator.step(at, speed, h, OFF, parameters)
            at, speed = outcome.q, outcome.v
        drift = dynamics.momentum(at, speed, parameters) - start
        errors.append((drift.norm() / start.norm()).item())
    assert errors[1] < 0.01
    assert errors[1] < 0.6 * errors[0]


def test_gravity_changes_momentum_by_weight_times_time() -> None:
    dynamics, parameters, q, v = run(
        floating_pair(),
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.3],
        [0.0] * 7,
        1e-3,
        100,
    )
    momentum = dynamics.momentum(q, v, parameters)[0, :3, 0]
    assert momentum[2].item() == pytest.approx(-9.81 * 3.0 * 0.1, rel=1e-9)
    assert momentum[:2].abs().max() < 1e-12


def test_a_world_that_diverges_is_named_and_leaves_the_others_alone() -> None:
    torch.set_num_threads(1)
    tree, parameters = built(cartpole())
    integrator = SemiImplicitEuler(Dynamics(tree, parameters))
    q, v, force = random_state(tree, 5)
    clean = integrator.step(q, v, 0.01, Control(forces=force), parameters)
    assert clean.status.tolist() == [0] * 5
    assert clean.status.dtype == torch.int8
    assert clean.iterations.dtype == torch.int32
    for bad in (math.nan, math.inf, -math.inf, 1e308):
        spoilt = force.clone()
        spoilt[0, 3] = bad
        outcome = integrator.step(q, v * 1e10, 1e5, Control(forces=spoilt), parameters)
        other = integrator.step(q, v * 1e10, 1e5, Control(forces=force), parameters)
        assert outcome.status.tolist() == [0, 0, 0, 2, 0]
        keep = [0, 1, 2, 4]
        assert torch.equal(outcome.q[:, keep], other.q[:, keep])
        assert torch.equal(outcome.v[:, keep], other.v[:, keep])


def test_inputs_are_left_as_they_are() -> None:
    tree, parameters = built(cartpole())
    integrator = SemiImplicitEuler(Dynamics(tree, parameters))
    q, v, force = random_state(tree, 4)
    before = [part.clone() for part in (q, v, force)]
    integrator.step(q, v, 0.01, Control(forces=force), parameters)
    assert all(torch.equal(a, b) for a, b in zip(before, (q, v, force), strict=True))


class Lift:
    """A law that carries the weight of every body, and says where it was asked."""

    def __init__(self) -> None:
        self.seen: list[Kinematics] = []

    def evaluate(self, kinematics: Kinematics, parameters: Parameters) -> Any:
        self.seen.append(kinematics)
        wrench = torch.zeros(1, 6, kinematics.position.shape[-1], dtype=torch.float64)
        wrench[:, 2] = -parameters.gravity[2] * parameters.mass
        return Report(wrench)


class Report:
    def __init__(self, wrench: torch.Tensor) -> None:
        self.wrench = wrench


def test_contact_forces_enter_with_the_other_wrenches() -> None:
    tree, parameters = built(free_body())
    law = Lift()
    integrator = SemiImplicitEuler(Dynamics(tree, parameters), law)
    q, v, _ = random_state(tree, 2)
    v = torch.zeros_like(v)
    push = torch.zeros(1, 6, 2, dtype=torch.float64)
    push[0, 0] = 4.0
    outcome: StepOutcome = integrator.step(
        q, v, 0.1, Control(wrenches=push), parameters
    )
    assert outcome.contacts is not None
    torch.testing.assert_close(law.seen[0].position[0], q[:3])
    assert outcome.v[2].abs().max() < 1e-12
    torch.testing.assert_close(outcome.v[0], torch.full_like(v[0], 4.0 / 2.0 * 0.1))
