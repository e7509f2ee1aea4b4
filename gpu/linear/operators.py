"""Matrices that a batched solve multiplies by: dense ones, and functions.

A solve keeps its vectors as ``[n, W]``, worlds last, so that every elementwise
operation runs along the worlds; callers see ``[W, n]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from isoscope.gpu.device import PRECISIONS, contract
from isoscope.gpu.errors import LinearSystemError

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


class Operator(Protocol):
    """A batch of W square matrices with n rows each."""

    @property
    def worlds(self) -> int:
        """W."""

    @property
    def size(self) -> int:
        """The number of unknowns, n."""

    @property
    def dtype(self) -> torch.dtype:
        """The numbers' precision."""

    @property
    def device(self) -> torch.device:
        """Where the numbers are."""

    def apply(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply each world's matrix by its column of ``x``, ``[n, W]``."""

    def transpose(self) -> Operator:
        """Return the transposed matrices; nothing is copied that needs not be."""

    def diagonal(self) -> torch.Tensor:
        """Return the diagonals, ``[n, W]``."""

    def block(self, start: int, size: int) -> torch.Tensor:
        """Return the diagonal blocks at ``start``, ``[size, size, W]``."""


class DenseOperator:
    """Dense matrices ``[W, n, n]``.

    Parameters
    ----------
    matrix
        float32 or float64. Where its first axis lies densest in memory (a permuted
        view of ``[n, n, W]``) it is used as it is, without a copy; don't change it
        meanwhile.

    Raises
    ------
    LinearSystemError
        For another shape or dtype.
    """

    def __init__(self, matrix: torch.Tensor) -> None:
        if matrix.dim() != 3 or matrix.shape[1] != matrix.shape[2] or 0 in matrix.shape:
            raise LinearSystemError(
                "making dense matrices: the shape has to be [W, n, n], not "
                f"{list(matrix.shape)}"
            )
        check_dtype(matrix.dtype, "making dense matrices")
        rows = matrix.detach().permute(1, 2, 0)
        if rows.stride(2) != 1:
            # In this order of axes the copy is a plain transposition, which is quick.
            rows = rows.contiguous()
        # [column, row, world]: a column times an unknown is one pass over memory.
        self._columns = rows.transpose(0, 1)

    @property
    def worlds(self) -> int:
        """W."""
        return self._columns.shape[2]

    @property
    def size(self) -> int:
        """The number of unknowns, n."""
        return self._columns.shape[0]

    @property
    def dtype(self) -> torch.dtype:
        """The numbers' precision."""
        return self._columns.dtype

    @property
    def device(self) -> torch.device:
        """Where the numbers are."""
        return self._columns.device

    def apply(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply each world's matrix by its column of ``x``, ``[n, W]``."""
        return contract(self._columns, x.unsqueeze(1), 0)

    def transpose(self) -> DenseOperator:
        """Return the transposed matrices, as a view."""
        return DenseOperator(self._columns.permute(2, 0, 1))

    def diagonal(self) -> torch.Tensor:
        """Return the diagonals, ``[n, W]``."""
        return self._columns.diagonal(dim1=0, dim2=1).t()

    def block(self, start: int, size: int) -> torch.Tensor:
        """Return the diagonal blocks at ``start``, ``[size, size, W]``."""
        rows = slice(start, start + size)
        return self._columns[rows, rows].transpose(0, 1)


class MatrixFreeOperator:
    """Matrices known by what they do.

    For bits that no batch size changes, the functions have to follow the rules of
    :mod:`isoscope.gpu.device`, and treat each world by itself.

    Parameters
    ----------
    apply
        Takes ``[W, n]`` (a strided view, not to be changed) and returns A x,
        ``[W, n]``.
    example
        Any tensor ``[W, n]`` of the dtype and on the device of the vectors, such as the
        right-hand side.
    apply_transposed
        The same for the transposed matrices; needed for :meth:`transpose` only.
    diagonal
        ``[W, n]``; needed for the Jacobi preconditioner only.
    """

    def __init__(
        self,
        apply: Callable[[torch.Tensor], torch.Tensor],
        example: torch.Tensor,
        *,
        apply_transposed: Callable[[torch.Tensor], torch.Tensor] | None = None,
        diagonal: torch.Tensor | None = None,
    ) -> None:
        if example.dim() != 2 or 0 in example.shape:
            raise LinearSystemError(
                "making matrix-free operators: the example's shape has to be [W, n], "
                f"not {list(example.shape)}"
            )
        if diagonal is not None and diagonal.shape != example.shape:
            raise LinearSystemError(
                "making matrix-free operators: the diagonal's shape is "
                f"{list(diagonal.shape)}, and the example's {list(example.shape)}"
            )
        check_dtype(example.dtype, "making matrix-free operators")
        self._apply = apply
        self._apply_transposed = apply_transposed
        self._example = example.detach()
        self._diagonal = diagonal

    @property
    def worlds(self) -> int:
        """W."""
        return self._example.shape[0]

    @property
    def size(self) -> int:
        """The number of unknowns, n."""
        return self._example.shape[1]

    @property
    def dtype(self) -> torch.dtype:
        """The numbers' precision."""
        return self._example.dtype

    @property
    def device(self) -> torch.device:
        """Where the numbers are."""
        return self._example.device

    def apply(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply each world's matrix by its column of ``x``, ``[n, W]``.

        Raises
        ------
        LinearSystemError
            Where the function returns another shape or dtype.
        """
        product = self._apply(x.t())
        if product.shape != self._example.shape or product.dtype != x.dtype:
            raise LinearSystemError(
                "applying a matrix-free operator: its function returned "
                f"{product.dtype} {list(product.shape)} instead of {x.dtype} "
                f"{list(self._example.shape)}"
            )
        # The solve changes what it is given, and the function may keep its own.
        return product.detach().t().clone()

    def transpose(self) -> MatrixFreeOperator:
        """Return the transposed matrices.

        Raises
        ------
        LinearSystemError
            Where nobody said how to apply them.
        """
        if self._apply_transposed is None:
            raise LinearSystemError(
                "transposing a matrix-free operator: nobody said how; give "
                "apply_transposed"
            )
        return MatrixFreeOperator(
            self._apply_transposed,
            self._example,
            apply_transposed=self._apply,
            diagonal=self._diagonal,
        )

    def diagonal(self) -> torch.Tensor:
        """Return the diagonals, ``[n, W]``.

        Raises
        ------
        LinearSystemError
            Where nobody gave them.
        """
        if self._diagonal is None:
            raise LinearSystemError(
                "preconditioning a matrix-free operator: its diagonal is not known; "
                "give diagonal, or another preconditioner"
            )
        return self._diagonal.detach().t()

    def block(self, start: int, size: int) -> torch.Tensor:
        """Refuse: a function shows no blocks.

        Raises
        ------
        LinearSystemError
            Always.
        """
        raise LinearSystemError(
            f"preconditioning a matrix-free operator: its block of {size} at {start} "
            "is not known; use Jacobi with a diagonal"
        )


def check_dtype(dtype: torch.dtype, doing: str) -> None:
    """Refuse numbers of another precision than float32 and float64."""
    if dtype not in PRECISIONS.values():
        raise LinearSystemError(
            f"{doing}: the numbers are {dtype}, not one of {', '.join(PRECISIONS)}"
        )
