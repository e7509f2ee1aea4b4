"""Preconditioned conjugate gradients, batched.

Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 9.2.1, algorithm
9.1. The matrix and the preconditioner have to be symmetric and positive definite; a
direction p with p'Ap <= 0, or r'Mr <= 0, shows that one is not, and ends the world's
solve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from isoscope.gpu.device import contract
from isoscope.gpu.linear.driver import CycleEnd, norm

if TYPE_CHECKING:
    from isoscope.gpu.linear.driver import State, System


def cg_cycle(system: System, state: State) -> CycleEnd:
    """Iterate until every running world is done or at its cap of iterations."""
    active = state.running.clone()
    x, residual = state.x.clone(), state.residual.clone()
    iterations = state.iterations.clone()
    claimed, broken, not_finite = (torch.zeros_like(active) for _ in range(3))
    zero, scratch = torch.zeros_like(state.norm), torch.empty_like(x)
    z = system.precondition(residual)
    direction = z * active.to(z.dtype)
    rz = contract(residual, z, 0)
    for iteration in range(1, system.cap + 1):
        product = system.multiply(direction)
        curvature = contract(direction, product, 0)
        finite = torch.isfinite(curvature) & torch.isfinite(rz)
        positive = (curvature > 0) & (rz > 0)
        not_finite |= active & ~finite
        broken |= active & finite & ~positive
        active &= finite & positive
        # A world that is frozen has alpha, beta and direction 0, and keeps its bits.
        alpha = torch.where(active, rz / curvature, zero)
        x += torch.mul(direction, alpha, out=scratch)
        residual -= product.mul_(alpha)
        iterations += active
        size = norm(residual)
        reached = active & (size <= state.target)
        claimed |= reached
        active &= ~reached & (size <= state.limit) & (iterations < system.cap)
        if system.all_done(active, iteration):
            break
        z = system.precondition(residual)
        rz_next = contract(residual, z, 0)
        beta = torch.where(active, rz_next / rz, zero)
        direction.mul_(beta).add_(z).mul_(active.to(z.dtype))
        rz = torch.where(active, rz_next, zero)
    return CycleEnd(x, iterations, claimed, broken, not_finite)
