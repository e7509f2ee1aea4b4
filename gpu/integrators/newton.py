"""Newton's method for W worlds at once, each with its own course and its own end.

A world's course depends on its own numbers alone: what it is at a step of the method
(trying a length, done, given up) is kept for each world, and worlds that are done are
frozen while the others go on.

Steps are damped by backtracking (J. Nocedal, S. Wright, Numerical Optimization, 2nd
edition, Springer 2006, section 11.2): the residual in the units of the last accepted
point has to fall, or the step is halved; after a few halvings it is taken anyway,
because at a kink every step may look bad.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch

from isoscope.gpu.integrators.base import CONVERGED, DIVERGED, STOPPED
from isoscope.gpu.linear_solver import DenseOperator, SolveOptions, solve

if TYPE_CHECKING:
    from torch import Tensor

    from isoscope.gpu.linear.operators import Operator
    from isoscope.gpu.linear.preconditioners import Apply, Preconditioner
    from isoscope.gpu.transfer import Ledger

STATUS_CAUSE = "newton-status"
# a step has to take this part of its length off the residual
DECREASE = 0.1
SHORTEST = 1 / 16


@dataclass(frozen=True)
class NewtonOptions:
    """When a world is done.

    Attributes
    ----------
    tolerance
        Of the scaled residual: the part of an unknown's size that is still missing.
        Unknowns are speeds; their size is 1 (m/s or rad/s) more than what they are.
    max_iterations
        How often the equations are evaluated after the first time.
    check_every
        After how many iterations to ask whether all worlds are done, which the host
        has to wait for; changes no bit.
    """

    tolerance: float
    max_iterations: int = 50
    check_every: int = 1


class Equations(Protocol):
    """n equations in n unknowns for W worlds; each world by itself."""

    def value(self, x: Tensor) -> tuple[Tensor, Any]:
        """Compute the residual [n, W], and whatever else comes with it."""

    def linearise(self, x: Tensor, found: Any) -> tuple[Tensor, Tensor]:
        """Compute the residual [n, W] and its derivative by x, [n, n, W].

        Parameters
        ----------
        found
            What came with the residual at x; None if it was not computed there.
        """


@dataclass(frozen=True, slots=True, eq=False)
class NewtonResult:
    """Where W worlds came to.

    Attributes
    ----------
    solution
        [n, W].
    status
        int8 [W]: CONVERGED, STOPPED or DIVERGED.
    iterations
        int32 [W].
    residual
        Scaled, [W].
    found
        What came with the residual at the solution.
    """

    solution: Tensor
    status: Tensor
    iterations: Tensor
    residual: Tensor
    found: Any


def newton(
    equations: Equations,
    start: Tensor,
    slack: Tensor,
    options: NewtonOptions,
    preconditioner: Preconditioner,
    ledger: Ledger,
) -> NewtonResult:
    """Solve the equations from `start`; at least one iteration is made.

    Parameters
    ----------
    start
        [n, W].
    slack
        [W], added to the tolerance: what rounding leaves open.
    """
    tolerance = slack + options.tolerance
    value, matrix = equations.linearise(start, None)
    unit = row_sizes(matrix, start)
    active = torch.ones(start.shape[1], dtype=torch.bool, device=start.device)
    status = active.to(torch.int8) * STOPPED
    iterations = torch.zeros_like(status, dtype=torch.int32)
    base, trial, length = start, start, torch.ones_like(slack)
    merit = scaled_size(value, unit)
    direction = _direction(value, matrix, unit, preconditioner, ledger)
    for iteration in range(1, options.max_iterations + 1):
        trial = torch.where(active, base + length * direction, trial)
        value, found = equations.value(trial)
        residual = scaled_size(value, unit)
        iterations += active
        finite = residual < torch.inf
        last_try = length <= SHORTEST
        done = active & (residual <= tolerance)
        lost = active & ~finite & last_try
        status = torch.where(done, CONVERGED, status)
        status = torch.where(lost, DIVERGED, status)
        active = active & ~(done | lost)
        if iteration == options.max_iterations:
            break
        if iteration % options.check_every == 0 and not ledger.read_flag(
            active.any(), STATUS_CAUSE
        ):
            break
        enough = residual <= (1 - DECREASE * length) * merit
        accepted = active & finite & (last_try | enough)
        _, matrix = equations.linearise(trial, found)
        # a world that is done keeps its unit, by which its residual is told
        unit = torch.where(accepted, row_sizes(matrix, trial), unit)
        fresh = _direction(value, matrix, unit, preconditioner, ledger)
        base = torch.where(accepted, trial, base)
        direction = torch.where(accepted, fresh, direction)
        merit = torch.where(accepted, scaled_size(value, unit), merit)
        length = torch.where(accepted, 1.0, length * 0.5)
    return NewtonResult(trial, status, iterations, residual, found)


def row_sizes(matrix: Tensor, unknowns: Tensor) -> Tensor:
    """Return what each equation's residual is measured by, [n, W].

    The largest of |J_ij| u_j, in the equation's own unit, where u_j = 1 + |x_j| is the
    size of an unknown: 1 in its SI unit, or more where it is more.
    """
    size = (matrix.abs() * (1 + unknowns.abs())).amax(1)
    return torch.where((size > 0) & (size < torch.inf), size, 1.0)


def scaled_size(residual: Tensor, unit: Tensor) -> Tensor:
    """Return the largest part |r_i| / unit_i, [W]; NaN where one is NaN."""
    return (residual / unit).abs().amax(0)


def _direction(
    value: Tensor,
    matrix: Tensor,
    unit: Tensor,
    preconditioner: Preconditioner,
    ledger: Ledger,
) -> Tensor:
    """Solve J d = -r, with each equation divided by its unit, [n, W].

    Where the preconditioner is the inverse, its product is the answer already.
    """
    matrix = matrix / unit.unsqueeze(1)
    right = value / -unit
    operator = DenseOperator(matrix.permute(2, 0, 1))
    apply = preconditioner.build(operator)
    result = solve(
        operator,
        right.t(),
        guess=apply(right).t(),
        options=SolveOptions(preconditioner=_Built(apply)),
        ledger=ledger,
    )
    return result.solution.t()


@dataclass(frozen=True)
class _Built:
    """A preconditioner that was built already."""

    apply: Apply

    def build(self, operator: Operator) -> Apply:
        return self.apply
