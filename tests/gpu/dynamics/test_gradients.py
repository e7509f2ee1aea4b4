"""Autograd and torch.func go through the generated code."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
import torch
from torch.autograd import forward_ad

from isoscope.gpu.dynamics.dynamics import Dynamics
from isoscope.gpu.dynamics.joint_forces import Control
from tests.gpu.dynamics.models import (
    arm,
    cartpole,
    double_pendulum,
    forest,
    random_state,
)
from tests.gpu.dynamics.models import built as build

if TYPE_CHECKING:
    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.model.spec import Model


@pytest.mark.parametrize("model", [cartpole(), double_pendulum()])
def test_a_steps_gradient_is_exact(model: Model) -> None:
    tree, parameters = build(model)
    dynamics = Dynamics(tree, parameters)
    q, v, force = random_state(tree, 2)
    mass = parameters.mass.clone().requires_grad_()

    def step(*inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        q, v, force, mass = inputs
        changed = parameters.replaced("mass", mass)
        return dynamics.semi_implicit(q, v, 0.01, Control(forces=force), changed)

    inputs = tuple(part.requires_grad_() for part in (q, v, force, mass))
    assert torch.autograd.gradcheck(step, inputs)


def test_gradients_pass_quaternions_limits_and_drives() -> None:
    tree, parameters = build(forest())
    dynamics = Dynamics(tree, parameters)
    q, v, force = random_state(tree, 1)
    targets = torch.full((len(tree.drives), 1), 0.3, dtype=torch.float64)

    def step(*inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        q, v, force, targets = inputs
        control = Control(targets, force)
        return dynamics.semi_implicit(q, v, 0.01, control, parameters)

    inputs = tuple(part.requires_grad_() for part in (q, v, force, targets))
    assert torch.autograd.gradcheck(step, inputs)


def test_a_body_at_rest_has_a_finite_gradient() -> None:
    tree, parameters = build(forest())
    dynamics = Dynamics(tree, parameters)
    q, v, _ = random_state(tree, 2)
    still = torch.zeros_like(v, requires_grad=True)
    moved = dynamics.integrate(q, still, 0.01, parameters)
    (slope,) = torch.autograd.grad(moved.sum(), still)
    assert torch.isfinite(slope).all()
    assert (slope != 0).any()


# torch's own first use of forward mode says it
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_forward_mode_agrees_with_backward_mode() -> None:
    tree, parameters = build(forest())
    dynamics = Dynamics(tree, parameters)
    q, v, after = random_state(tree, 3)

    def residual(after: torch.Tensor) -> torch.Tensor:
        return dynamics.residual(q, v, after, 0.01, Control(), parameters)

    def column(direction: torch.Tensor) -> torch.Tensor:
        spread = direction[:, None].expand_as(after)
        tangent = torch.func.jvp(residual, (after,), (spread,))[1]
        assert isinstance(tangent, torch.Tensor)
        return tangent

    units = torch.eye(tree.nv, dtype=torch.float64)
    forward = torch.func.vmap(column)(units)  # [column, row, W]
    # [row, W, column, W]
    whole = torch.autograd.functional.jacobian(residual, after)  # type: ignore[no-untyped-call]
    for world in range(3):
        torch.testing.assert_close(
            forward[:, :, world].T, whole[:, world, :, world], rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize(
    "model", [cartpole(), double_pendulum(), arm(), forest()], ids=lambda m: m.name
)
def test_the_residuals_jacobian_is_exact(model: Model) -> None:
    tree, parameters = build(model)
    dynamics = Dynamics(tree, parameters)
    q, v, after = random_state(tree, 3)
    wrench = torch.randn(len(tree.links), 6, 3, dtype=torch.float64)
    targets = torch.full((len(tree.drives), 3), 0.3, dtype=torch.float64)
    control = Control(targets, v, wrench)

    def residual(after: torch.Tensor) -> torch.Tensor:
        return dynamics.residual(q, v, after, 0.01, control, parameters)

    value, slopes = dynamics.residual_jacobian(q, v, after, 0.01, control, parameters)
    assert torch.equal(value, residual(after))
    whole = torch.autograd.functional.jacobian(residual, after)  # type: ignore[no-untyped-call]
    for world in range(3):
        torch.testing.assert_close(
            slopes[:, :, world], whole[:, world, :, world], rtol=1e-9, atol=1e-9
        )


def test_a_wrenchs_generalised_force_is_what_the_bias_loses() -> None:
    tree, parameters = build(forest())
    dynamics = Dynamics(tree, parameters)
    q, v, _ = random_state(tree, 3)
    wrench = torch.randn(len(tree.links), 6, 3, dtype=torch.float64)
    lost = dynamics.bias(q, v, parameters) - dynamics.bias(q, v, parameters, wrench)
    torch.testing.assert_close(dynamics.wrench_force(q, wrench, parameters), lost)


def test_what_is_kept_of_parameters_holds_no_graph() -> None:
    tree, parameters = build(cartpole())
    dynamics = Dynamics(tree, parameters)
    q, v, _ = random_state(tree, 2)
    learned = parameters.replaced("mass", parameters.mass.clone().requires_grad_())
    for _ in range(2):
        # a second pass through a graph that was kept would fail
        _, next_v = dynamics.semi_implicit(q, v, 0.01, Control(), learned)
        next_v.sum().backward()  # type: ignore[no-untyped-call]


# torch's own first use of forward mode says it
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_a_parameter_that_is_zero_has_its_derivative() -> None:
    tree, parameters = build(cartpole())
    dynamics = Dynamics(tree, parameters)
    q, v, _ = random_state(tree, 2)

    def speed(damping: torch.Tensor) -> torch.Tensor:
        # as `replaced` can't look at values that torch.func follows
        changed = dataclasses.replace(parameters, damping=damping)
        return dynamics.semi_implicit(q, v, 0.01, Control(), changed)[1].sum()

    assert not parameters.damping.any()
    learned = torch.zeros_like(parameters.damping, requires_grad=True)
    (slope,) = torch.autograd.grad(speed(learned), learned)
    assert (slope != 0).all()
    torch.testing.assert_close(torch.func.grad(speed)(parameters.damping), slope)
    with forward_ad.dual_level():
        unit = torch.ones_like(slope)
        dual = forward_ad.make_dual(parameters.damping, unit)  # type: ignore[no-untyped-call]
        tangent = forward_ad.unpack_dual(speed(dual)).tangent  # type: ignore[no-untyped-call]
        torch.testing.assert_close(tangent, slope.sum())
    # what was made for the dual numbers is not used for others
    assert torch.equal(speed(parameters.damping), speed(learned).detach())


def test_gradients_of_parameters_under_func() -> None:
    tree, parameters = build(double_pendulum())
    dynamics = Dynamics(tree, parameters)
    q, v, _ = random_state(tree, 2)

    def speed(gravity: torch.Tensor) -> torch.Tensor:
        changed: Parameters = dataclasses.replace(parameters, gravity=gravity)
        return dynamics.semi_implicit(q, v, 0.01, Control(), changed)[1].sum()

    slope = torch.func.grad(speed)(parameters.gravity)
    h = 1e-6
    up = torch.zeros_like(parameters.gravity)
    up[2] = h
    central = speed(parameters.gravity + up) - speed(parameters.gravity - up)
    torch.testing.assert_close(slope[2, 0], central / (2 * h), rtol=1e-6, atol=1e-9)
