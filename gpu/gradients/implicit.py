"""One differentiable step; through backward Euler by the implicit function theorem.

The step's speeds x solve r(x, p) = 0, with p everything that the step was given. Then
dx/dp = -J⁻¹ ∂r/∂p with J = ∂r/∂x, and a gradient g with respect to x becomes
-λᵀ ∂r/∂p, where Jᵀ λ = g: one linear system with the transposed matrix, whatever the
iterations were that found x (A. Griewank, A. Walther, Evaluating Derivatives, 2nd
edition, SIAM 2008, section 15.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch

from isoscope.gpu.gradients.errors import GradientError, Refusal
from isoscope.gpu.integrators.newton import row_sizes
from isoscope.gpu.linear_solver import DenseOperator, SolveOptions, solve
from isoscope.gpu.transfer import Ledger

if TYPE_CHECKING:
    from torch import Tensor

    from isoscope.gpu.integrators.linearised import BackwardEulerResidual
    from isoscope.gpu.linear.preconditioners import Preconditioner

# What the adjoint's residual may be of its right-hand side.
ADJOINT_TOLERANCE = 1e-12
# Where rounding stops it before, it must have come to this.
ADJOINT_ENOUGH = 1e-9


def implicit_speeds(
    equations: BackwardEulerResidual,
    solution: Tensor,
    preconditioner: Preconditioner,
    ledger: Ledger | None = None,
) -> Tensor:
    """Return the solved speeds [nv, W] with their derivatives by all that was given.

    Parameters
    ----------
    equations
        With tensors that autograd follows: q, v, control, parameters.
    solution
        Their solution, [nv, W].

    Returns
    -------
    Tensor
        The solution's own numbers.

    Raises
    ------
    GradientError
        When a gradient is computed and the transposed system has no solution.
    """
    x = solution.detach()
    residual, report = equations.value(x)
    with torch.no_grad():
        _, matrix = equations.linearise(x, report)
    answer = _Implicit.apply(  # type: ignore[no-untyped-call]
        residual, x, matrix, preconditioner, ledger or Ledger()
    )
    return cast("Tensor", answer)


class _Implicit(torch.autograd.Function):
    """Gives x; passes the gradient -J⁻ᵀ g to the residual."""

    @staticmethod
    def forward(
        ctx: Any,
        residual: Tensor,
        x: Tensor,
        matrix: Tensor,
        preconditioner: Preconditioner,
        ledger: Ledger,
    ) -> Tensor:
        ctx.save_for_backward(x, matrix)
        ctx.preconditioner = preconditioner
        ctx.ledger = ledger
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, matrix = ctx.saved_tensors
        adjoint = solve_adjoint(matrix, x, gradients[0], ctx.preconditioner, ctx.ledger)
        return -adjoint, None, None, None, None


def solve_adjoint(
    matrix: Tensor,
    x: Tensor,
    gradient: Tensor,
    preconditioner: Preconditioner,
    ledger: Ledger,
) -> Tensor:
    """Solve Jᵀ λ = g for [n, W]; `matrix` is J, [n, n, W], at x."""
    unit = row_sizes(matrix, x)
    scaled = (matrix / unit.unsqueeze(1)).permute(2, 0, 1)
    operator = DenseOperator(scaled).transpose()
    guess = preconditioner.build(operator)(gradient)
    result = solve(
        operator,
        gradient.t(),
        guess=guess.t(),
        options=SolveOptions(
            preconditioner=preconditioner, relative_tolerance=ADJOINT_TOLERANCE
        ),
        ledger=ledger,
    )
    failed = ~(result.converged | (result.relative_residual <= ADJOINT_ENOUGH))
    if ledger.read_flag(failed.any(), "adjoint-status"):
        worlds = tuple(failed.nonzero()[:, 0].tolist())
        raise GradientError(
            [Refusal("unconverged", "the adjoint system was not solved", worlds=worlds)]
        )
    return result.solution.t() / unit
