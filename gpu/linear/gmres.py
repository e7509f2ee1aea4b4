"""Restarted GMRES with right preconditioning, batched.

Saad, Iterative Methods for Sparse Linear Systems, 2nd ed.: algorithm 9.5 (section
9.3.2) with the plane rotations of section 6.5.3 and the restarts of 6.5.5. On the right
the preconditioner leaves the residual what it is. The basis is made orthogonal (section
6.3.2) by modified Gram-Schmidt where there are few unknowns, which is the least work,
and by the classical one done twice where there are many: few large operations instead
of many small ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from isoscope.gpu.device import contract
from isoscope.gpu.linear.driver import CycleEnd, norm

if TYPE_CHECKING:
    from isoscope.gpu.linear.driver import State, System

FEW_UNKNOWNS = 12


def gmres_cycle(system: System, state: State) -> CycleEnd:
    """Build one Krylov space for each running world, and step to its best point."""
    active = state.running.clone()
    iterations = state.iterations.clone()
    claimed, broken, not_finite = (torch.zeros_like(active) for _ in range(3))
    zero = torch.zeros_like(state.norm)
    basis = state.x.new_empty((system.restart + 1, *state.x.shape))
    # A world that is frozen has zero vectors from there on, so zero coefficients.
    torch.mul(state.residual, torch.where(active, 1 / state.norm, zero), out=basis[0])
    triangle = _Triangle(torch.where(active, state.norm, zero))
    largest = zero
    # A column that is rounding beside what the matrix does to unit vectors adds none.
    negligible = 4 * system.size * torch.finfo(zero.dtype).eps
    for j in range(system.restart):
        w = system.multiply(system.precondition(basis[j]))
        largest = torch.maximum(largest, norm(w))
        h, w = _orthogonalise(basis[: j + 1], w)
        h_next = norm(w)
        pivot, estimate, usable = triangle.add(h, h_next, largest * negligible)
        finite = torch.isfinite(pivot)
        iterations += active
        reached = active & usable & (estimate <= state.target)
        claimed |= reached
        not_finite |= active & ~finite
        broken |= active & finite & ~usable
        active &= finite & usable & ~reached & (iterations < system.cap)
        if j + 1 == system.restart or system.all_done(active, j + 1):
            break
        factor = torch.where(active & (h_next > 0), 1 / h_next, zero)
        torch.mul(w, factor, out=basis[j + 1])
    coefficients = triangle.solve()
    step = contract(basis[: len(coefficients)], coefficients.unsqueeze(1), 0)
    x = state.x + system.precondition(step)
    return CycleEnd(x, iterations, claimed, broken, not_finite)


def _orthogonalise(
    basis: torch.Tensor, w: torch.Tensor
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Take the basis ``[j, n, W]`` out of ``w``, in place.

    Returns
    -------
    tuple
        How much of each vector there was, ``[W]`` each, and what is left, ``[n, W]``.
    """
    if len(w) <= FEW_UNKNOWNS:
        parts = []
        scratch = torch.empty_like(w)
        for vector in basis.unbind(0):
            part = contract(vector, w, 0)
            w -= torch.mul(vector, part, out=scratch)
            parts.append(part)
        return parts, w
    h = contract(basis, w.unsqueeze(0), 1)
    w -= contract(basis, h.unsqueeze(1), 0)
    again = contract(basis, w.unsqueeze(0), 1)
    w -= contract(basis, again.unsqueeze(1), 0)
    h += again
    return list(h.unbind(0)), w


class _Triangle:
    """The least-squares problem, kept triangular by one rotation a column.

    Parameters
    ----------
    first
        ``[W]``, the first residual's norm; the rest of the right-hand side is zero.
    """

    def __init__(self, first: torch.Tensor) -> None:
        self._columns: list[list[torch.Tensor]] = []
        self._rotations: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._usable: list[torch.Tensor] = []
        self._right = [first]

    def add(
        self, column: list[torch.Tensor], h_next: torch.Tensor, negligible: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Add a column, j + 1 entries (the list is taken over) and the one below.

        Returns
        -------
        tuple
            Its rotated pivot, the norm of the residual that is left, and whether the
            pivot can be divided by; all ``[W]``.
        """
        for k, (c, s) in enumerate(self._rotations):
            above, below = column[k], column[k + 1]
            column[k] = c * above + s * below
            column[k + 1] = c * below - s * above
        last = column[-1]
        pivot = torch.sqrt(last * last + h_next * h_next)
        # Not pivot > negligible: NaN counts as usable, and is seen by who looks for it.
        usable = ~(pivot <= negligible)
        divisor = torch.where(usable, pivot, 1.0)
        c, s = last / divisor, h_next / divisor
        column[-1] = divisor
        left = self._right[-1]
        self._right[-1] = c * left
        self._right.append(-(s * left))
        self._columns.append(column)
        self._rotations.append((c, s))
        self._usable.append(usable)
        return pivot, self._right[-1].abs(), usable

    def solve(self) -> torch.Tensor:
        """Return the coefficients of the basis, ``[columns, W]``."""
        count = len(self._columns)
        solution: list[torch.Tensor] = [self._right[0]] * count
        for i in reversed(range(count)):
            total = self._right[i]
            for k in range(i + 1, count):
                total = total - self._columns[k][i] * solution[k]
            # What can't be divided by takes no part.
            solution[i] = torch.where(self._usable[i], total / self._columns[i][i], 0.0)
        return torch.stack(solution)
