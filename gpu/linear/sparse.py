"""Sparse matrices that share one pattern: compressed sparse rows, values per world.

The format is Saad's CSR (Iterative Methods for Sparse Linear Systems, 2nd ed., section
3.4); for the product the rows are padded to one length, his Ellpack-Itpack format, so
that worlds and rows are worked on at once, in an order that no batch size changes.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from isoscope.gpu.device import contract
from isoscope.gpu.errors import LinearSystemError
from isoscope.gpu.linear.operators import check_dtype
from isoscope.gpu.transfer import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable

Indices = NDArray[np.int64]
PATTERN_CAUSE = "solver-pattern"
_DOING = "making a sparse pattern"


class CsrPattern:
    """Which entries of n by n matrices may differ from zero.

    Parameters
    ----------
    row_offsets
        ``[n + 1]`` integers: row i has the entries ``row_offsets[i]`` to
        ``row_offsets[i + 1]``.
    columns
        ``[nnz]`` integers, rising within each row.

    Raises
    ------
    LinearSystemError
        Where they are no pattern.
    """

    def __init__(self, row_offsets: object, columns: object) -> None:
        # What operators of this pattern keep on their devices, to bring it there once.
        self.held: dict[tuple[torch.device, str], torch.Tensor] = {}
        self.row_offsets = _integers(row_offsets, "row_offsets")
        self.columns = _integers(columns, "columns")
        offsets = self.row_offsets
        if len(offsets) < 2 or offsets[0] != 0 or bool((np.diff(offsets) < 0).any()):
            raise LinearSystemError(
                f"{_DOING}: row_offsets has to begin with 0, never fall, and have one "
                "entry more than there are rows"
            )
        if offsets[-1] != len(self.columns):
            raise LinearSystemError(
                f"{_DOING}: row_offsets ends with {offsets[-1]}, but there are "
                f"{len(self.columns)} columns"
            )
        if self.nnz and not 0 <= self.columns.min() <= self.columns.max() < self.size:
            raise LinearSystemError(
                f"{_DOING}: a column lies outside of 0 to {self.size - 1}"
            )
        if bool((np.diff(self._keys) <= 0).any()):
            raise LinearSystemError(f"{_DOING}: columns have to rise within each row")

    @classmethod
    def from_mask(cls, mask: object) -> CsrPattern:
        """Take the pattern of a boolean matrix ``[n, n]``."""
        dense = np.asarray(mask, dtype=bool)
        if dense.ndim != 2 or dense.shape[0] != dense.shape[1] or not dense.size:
            raise LinearSystemError(
                f"{_DOING}: the mask's shape has to be [n, n], not {list(dense.shape)}"
            )
        offsets = np.concatenate(([0], np.cumsum(dense.sum(1))))
        return cls(offsets, np.nonzero(dense)[1])

    @property
    def size(self) -> int:
        """The number of rows, n."""
        return len(self.row_offsets) - 1

    @property
    def nnz(self) -> int:
        """The number of entries."""
        return len(self.columns)

    @cached_property
    def rows(self) -> Indices:
        """``[nnz]``: each entry's row."""
        return np.repeat(np.arange(self.size), np.diff(self.row_offsets))

    @cached_property
    def slots(self) -> tuple[Indices, Indices]:
        """Entries and columns of the padded rows, ``[longest row, n]`` each.

        The entry of a slot that only pads is ``nnz``, where a zero is to be kept.
        """
        lengths = np.diff(self.row_offsets)
        place = np.arange(self.nnz) - self.row_offsets[self.rows]
        shape = (max(1, int(lengths.max())), self.size)
        entries = np.full(shape, self.nnz, dtype=np.int64)
        entries[place, self.rows] = np.arange(self.nnz)
        columns = np.zeros(shape, dtype=np.int64)
        columns[place, self.rows] = self.columns
        return entries, columns

    @cached_property
    def transposed(self) -> tuple[CsrPattern, Indices]:
        """The transposed pattern, and for each of its entries the one here, [nnz]."""
        order = np.lexsort((self.rows, self.columns))
        counts = np.bincount(self.columns, minlength=self.size)
        offsets = np.concatenate(([0], np.cumsum(counts)))
        return CsrPattern(offsets, self.rows[order]), order

    def find(self, rows: Indices, columns: Indices) -> Indices:
        """Return the entries at these places, ``nnz`` where the pattern has none."""
        wanted = rows * self.size + columns
        place = np.searchsorted(self._keys, wanted)
        padded = np.append(self._keys, -1)
        return np.where(padded[place] == wanted, place, self.nnz)

    @cached_property
    def _keys(self) -> Indices:
        return self.rows * self.size + self.columns


class CsrOperator:
    """Sparse matrices of one pattern, with values ``[W, nnz]``.

    On a CPU the product has the bits of the dense one with zeros in between; elsewhere
    it is added up in another order, so it agrees within rounding.

    Parameters
    ----------
    pattern
        Shared by all worlds.
    values
        float32 or float64, in the pattern's order; they are copied.
    ledger
        Books the pattern's way to the device, once for each device, as
        ``"solver-pattern"``; None books it nowhere.

    Raises
    ------
    LinearSystemError
        For another shape or dtype.
    """

    def __init__(
        self, pattern: CsrPattern, values: torch.Tensor, ledger: Ledger | None = None
    ) -> None:
        if values.dim() != 2 or values.shape[1] != pattern.nnz or not values.shape[0]:
            raise LinearSystemError(
                f"making sparse matrices: the values' shape has to be [W, "
                f"{pattern.nnz}], not {list(values.shape)}"
            )
        check_dtype(values.dtype, "making sparse matrices")
        self._pattern = pattern
        self._ledger = ledger
        self._values = values.detach()
        zero = self._values.new_zeros((1, values.shape[0]))
        # [entry, world], and one row of zeros for what is not in the pattern.
        self._padded = torch.cat((self._values.t(), zero))
        self._columns = self._index("columns", lambda: pattern.slots[1].ravel())
        self._rows = self._gather("rows", lambda: pattern.slots[0])

    @property
    def worlds(self) -> int:
        """W."""
        return self._values.shape[0]

    @property
    def size(self) -> int:
        """The number of unknowns, n."""
        return self._pattern.size

    @property
    def dtype(self) -> torch.dtype:
        """The numbers' precision."""
        return self._values.dtype

    @property
    def device(self) -> torch.device:
        """Where the numbers are."""
        return self._values.device

    def apply(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply each world's matrix by its column of ``x``, ``[n, W]``."""
        gathered = x.index_select(0, self._columns).view(self._rows.shape)
        return contract(self._rows, gathered, 0)

    def transpose(self) -> CsrOperator:
        """Return the transposed matrices."""
        pattern, order = self._pattern.transposed
        chosen = self._index("transposed", lambda: order)
        return CsrOperator(pattern, self._values.index_select(1, chosen), self._ledger)

    def diagonal(self) -> torch.Tensor:
        """Return the diagonals, ``[n, W]``; zero where the pattern has none."""

        def entries() -> Indices:
            places = np.arange(self.size)
            return self._pattern.find(places, places)

        return self._gather("diagonal", entries)

    def block(self, start: int, size: int) -> torch.Tensor:
        """Return the diagonal blocks at ``start``, ``[size, size, W]``."""

        def entries() -> Indices:
            rows, columns = np.mgrid[start : start + size, start : start + size]
            return self._pattern.find(rows, columns)

        return self._gather(f"block {start} {size}", entries)

    def _gather(self, name: str, entries: Callable[[], Indices]) -> torch.Tensor:
        chosen = self._index(name, entries)
        values = self._padded.index_select(0, chosen.flatten())
        return values.view(*chosen.shape, self.worlds)

    def _index(self, name: str, make: Callable[[], Indices]) -> torch.Tensor:
        """Bring indices to the device, once for each pattern and device."""
        held = self._pattern.held
        key = (self.device, name)
        if key not in held:
            ledger = self._ledger or Ledger()
            held[key] = ledger.to_device(make(), self.device, None, PATTERN_CAUSE)
        return held[key]


def _integers(values: object, name: str) -> Indices:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise LinearSystemError(f"{_DOING}: {name} has to be a list of integers")
    return array.astype(np.int64)
