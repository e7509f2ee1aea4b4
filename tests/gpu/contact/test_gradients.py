"""Derivatives: right where nothing switches, finite where shapes coincide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from torch.func import jvp, vmap

from isoscope.gpu.contact.contacts import KINDS
from isoscope.gpu.dynamics.dynamics import Dynamics
from tests.gpu.contact.scenes import (
    GROUND,
    Motion,
    body,
    box,
    capsule,
    compiled,
    placed,
    random_motion,
    scene,
    sphere,
)

if TYPE_CHECKING:
    from isoscope.gpu.model.spec import Model

SHAPES = {
    "sphere": sphere(0.13),
    "capsule": capsule(0.11, 0.15),
    "box": box(0.12, 0.17, 0.14),
}
IDENTITY = (0.0, 0.0, 0.0, 1.0)


def model_of(kind: tuple[str, str]) -> Model:
    first = body("a", SHAPES[kind[0]])
    if kind[1] == "plane":
        return scene(first, world=(GROUND,))
    return scene(first, body("b", SHAPES[kind[1]]))


def touching_state(
    kind: tuple[str, str], seed: int
) -> tuple[Dynamics, torch.Tensor, torch.Tensor, int]:
    """A random state of few that touches."""
    tree, parameters, contacts = compiled(model_of(kind))
    dynamics = Dynamics(tree, parameters)
    random = np.random.default_rng(seed)
    for _ in range(200):
        q = np.zeros((tree.nq, 1))
        for start in range(0, tree.nq, 7):
            q[start : start + 3, 0] = 0.1 * random.normal(size=3)
            turn = random.normal(size=4)
            q[start + 3 : start + 7, 0] = turn / np.linalg.norm(turn)
        v = torch.from_numpy(0.3 * random.normal(size=(tree.nv, 1)))
        state = torch.from_numpy(q)
        report = contacts.evaluate(
            dynamics.kinematics(state, v, parameters), parameters
        )
        if bool((report.force.abs() > 1.0).any()):
            return dynamics, state, v, report.points
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_both_modes_agree_with_differences(kind: tuple[str, str]) -> None:
    tree, parameters, contacts = compiled(model_of(kind))
    dynamics, q, v, _ = touching_state(kind, 5)

    def wrench(
        q: torch.Tensor,
        v: torch.Tensor,
        friction: torch.Tensor,
        stiffness: torch.Tensor,
    ) -> torch.Tensor:
        own = parameters.replaced("friction", friction).replaced(
            "contact_stiffness", stiffness
        )
        report = contacts.evaluate(dynamics.kinematics(q, v, parameters), own)
        return report.wrench

    inputs = (q, v, parameters.friction.clone(), parameters.contact_stiffness.clone())
    for tensor in inputs:
        tensor.requires_grad_()
    assert torch.autograd.gradcheck(
        wrench, inputs, eps=1e-7, atol=1e-2, rtol=1e-4, nondet_tol=0.0
    )

    # forward mode, all directions at once, as the Newton iteration asks for it
    def of_state(q: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return contacts.evaluate(
            dynamics.kinematics(q, v, parameters), parameters
        ).wrench

    fixed_q, fixed_v = q.detach(), v.detach()
    directions = torch.eye(tree.nv, dtype=torch.float64).unsqueeze(-1)

    def along(direction: torch.Tensor) -> torch.Tensor:
        still = torch.zeros_like(fixed_q)
        return jvp(of_state, (fixed_q, fixed_v), (still, direction))[1]

    forward = vmap(along)(directions)
    reverse = torch.autograd.functional.jacobian(
        lambda v: of_state(fixed_q, v), fixed_v
    )[..., 0]
    torch.testing.assert_close(
        forward[..., 0], reverse[:, :, 0].movedim(-1, 0), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", ["one in the other", "side by side", "random"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gradients_are_finite_where_features_coincide(
    kind: tuple[str, str], case: str, dtype: torch.dtype
) -> None:
    model = model_of(kind)
    _, parameters, contacts = compiled(model)
    links = len(model.actors)
    beside = (0.2, 0.0, 0.0) if case == "side by side" else (0.0, 0.0, 0.0)
    motion: Motion = placed(*(((0.0, 0.0, 0.0), IDENTITY), (beside, IDENTITY))[:links])
    if case == "random":
        motion = random_motion(np.random.default_rng(1), links, 200, 0.15)
    motion = motion.to(dtype)
    leaves = [
        getattr(motion, name).clone().requires_grad_()
        for name in ("position", "matrix", "linear", "angular")
    ]
    report = contacts.evaluate(Motion(*leaves), parameters.to(dtype=dtype))
    assert bool(torch.isfinite(report.wrench).all())
    gradients = torch.autograd.grad(
        report.wrench.square().sum() + report.position.sum() + report.distance.sum(),
        leaves,
    )
    for gradient in gradients:
        assert bool(torch.isfinite(gradient).all())
