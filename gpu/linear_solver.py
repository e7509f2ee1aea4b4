"""Solve W linear systems at once, each with its own status; the public door.

``A_w x_w = b_w`` for worlds w = 0 to W - 1, n unknowns each. A world that can't be
solved is a status, never an exception, and changes no bit of the others. On a CPU a
world's answer has the same bits in every batch and at every place of it, whatever
``check_every`` is; the rules for that are in :mod:`isoscope.gpu.device`.

Methods and preconditioners follow Y. Saad, Iterative Methods for Sparse Linear Systems,
2nd edition, SIAM 2003; each module names its sections.

>>> operator = DenseOperator(matrices)  # [W, n, n]
>>> result = solve(operator, rhs, options=SolveOptions(preconditioner=Jacobi()))
>>> adjoint = solve(operator.transpose(), gradient)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from isoscope.gpu.device import resolve_device, resolve_dtype
from isoscope.gpu.errors import LinearSystemError
from isoscope.gpu.linear.cg import cg_cycle
from isoscope.gpu.linear.driver import Method, run
from isoscope.gpu.linear.gmres import gmres_cycle
from isoscope.gpu.linear.operators import (
    DenseOperator,
    MatrixFreeOperator,
    Operator,
)
from isoscope.gpu.linear.preconditioners import BlockJacobi, Jacobi, Preconditioner
from isoscope.gpu.linear.sparse import CsrOperator, CsrPattern
from isoscope.gpu.linear.status import (
    STATUS_CAUSE,
    SolveCounts,
    SolveOptions,
    SolveResult,
    SolveStatus,
    SolveTiming,
)
from isoscope.gpu.linear.timing import PartTimer
from isoscope.gpu.transfer import Ledger

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "STATUS_CAUSE",
    "ArraySolution",
    "BlockJacobi",
    "CsrOperator",
    "CsrPattern",
    "DenseOperator",
    "Jacobi",
    "MatrixFreeOperator",
    "Operator",
    "Preconditioner",
    "SolveCounts",
    "SolveOptions",
    "SolveResult",
    "SolveStatus",
    "SolveTiming",
    "solve",
    "solve_arrays",
]

SYSTEM_CAUSE = "solver-system"
SOLUTION_CAUSE = "solver-solution"
_METHODS: dict[str, Method] = {"cg": cg_cycle, "gmres": gmres_cycle}
_DEFAULT = SolveOptions()


def solve(
    operator: Operator,
    rhs: torch.Tensor,
    *,
    guess: torch.Tensor | None = None,
    options: SolveOptions = _DEFAULT,
    ledger: Ledger | None = None,
) -> SolveResult:
    """Solve a batch of systems whose tensors are on their device already.

    Takes no part in autograd, so that it serves inside a ``torch.autograd.Function``,
    with ``operator.transpose()`` for the backward pass.

    Parameters
    ----------
    operator
        The matrices.
    rhs
        ``[W, n]`` right-hand sides, of the matrices' dtype and on their device.
    guess
        ``[W, n]`` where to begin; None for 0.
    options
        Method, preconditioner, tolerances.
    ledger
        Books what is read back; None books it nowhere.

    Returns
    -------
    SolveResult
        On the device; nothing of it was read back but whether all worlds are done.

    Raises
    ------
    LinearSystemError
        Where shapes, dtypes or devices don't fit together.
    """
    return _solve(operator, rhs, guess, options, ledger or Ledger(), None)


def _solve(
    operator: Operator,
    rhs: torch.Tensor,
    guess: torch.Tensor | None,
    options: SolveOptions,
    ledger: Ledger,
    timer: PartTimer | None,
) -> SolveResult:
    _check(operator, rhs, "right-hand sides")
    if guess is not None:
        _check(operator, guess, "first guesses")
    own_timer = timer or PartTimer(rhs.device, options.timing)
    with torch.no_grad():
        result = run(
            _METHODS[options.method], operator, rhs, guess, options, ledger, own_timer
        )
    if timer is not None:
        return result
    return replace(result, timing=own_timer.finish(ledger))


@dataclass(frozen=True)
class ArraySolution:
    """A :class:`SolveResult` on the host: arrays that the caller owns.

    Parameters
    ----------
    solution, status, iterations, relative_residual, timing
        As there.
    """

    solution: NDArray[np.generic]
    status: NDArray[np.generic]
    iterations: NDArray[np.generic]
    relative_residual: NDArray[np.generic]
    timing: SolveTiming | None


def solve_arrays(
    matrix: ArrayLike,
    rhs: ArrayLike,
    *,
    pattern: CsrPattern | None = None,
    device: str | torch.device = "auto",
    precision: str = "float64",
    options: SolveOptions = _DEFAULT,
    ledger: Ledger | None = None,
) -> ArraySolution:
    """Solve a batch of systems that lie in NumPy arrays: copy, solve, copy back.

    Parameters
    ----------
    matrix
        ``[W, n, n]``, or with a pattern its values ``[W, nnz]``.
    rhs
        ``[W, n]``.
    pattern
        Of sparse matrices.
    device, precision
        Where and in which precision to solve, as settings name them.
    options, ledger
        As for :func:`solve`. The copies are booked as ``"solver-system"`` and
        ``"solver-solution"``.

    Raises
    ------
    LinearSystemError, DeviceError, TransferError
        Where the arrays don't fit together, or there is no such device.
    """
    place, dtype = resolve_device(device), resolve_dtype(precision)
    books = ledger or Ledger()
    timer = PartTimer(place, options.timing)
    with timer.part("host_to_device"):
        entries = books.to_device(matrix, place, dtype, SYSTEM_CAUSE)
        right = books.to_device(rhs, place, dtype, SYSTEM_CAUSE)
    operator: Operator
    if pattern is None:
        operator = DenseOperator(entries)
    else:
        operator = CsrOperator(pattern, entries, books)
    result = _solve(operator, right, None, options, books, timer)
    with timer.part("device_to_host"):
        solution, status, iterations, residual = (
            books.to_host(tensor, SOLUTION_CAUSE)
            for tensor in (
                result.solution,
                result.status,
                result.iterations,
                result.relative_residual,
            )
        )
    return ArraySolution(
        solution, status, iterations, residual, timing=timer.finish(books)
    )


def _check(operator: Operator, vectors: torch.Tensor, what: str) -> None:
    """Compare right-hand sides or guesses with the matrices."""
    expected = (operator.worlds, operator.size)
    if tuple(vectors.shape) != expected:
        raise LinearSystemError(
            f"solving linear systems: the {what} have shape {list(vectors.shape)}, and "
            f"the {operator.worlds} matrices with {operator.size} unknowns need "
            f"{list(expected)}"
        )
    if vectors.dtype != operator.dtype or vectors.device != operator.device:
        raise LinearSystemError(
            f"solving linear systems: the {what} are {vectors.dtype} on "
            f"{vectors.device}, and the matrices {operator.dtype} on {operator.device}"
        )
