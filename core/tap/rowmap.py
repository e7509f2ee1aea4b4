"""Which row of the merged stream a row of a source became; lost ones became none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

MAX_PIECES = 4096  # of the last ones; whoever names an older row names none


class RowMap:
    """A source's rows, in pieces that stayed together.

    Attributes
    ----------
    length
        The source's rows, as far as they were heard of.
    """

    def __init__(self) -> None:
        self.length = 0
        self._pieces: list[tuple[int, int, int]] = []  # here, there, count

    def add(self, here: int, there: int, count: int) -> None:
        """Rows here .. here + count became there .. there + count."""
        self.length = here + count
        if self._pieces:
            a, b, n = self._pieces[-1]
            if a + n == here and b + n == there:
                self._pieces[-1] = (a, b, n + count)
                return
        self._pieces.append((here, there, count))
        if len(self._pieces) > 2 * MAX_PIECES:
            del self._pieces[:MAX_PIECES]

    def all(self, rows: Array, end: int) -> Array:
        """Where these rows are, int64 [n]: -1 where they are not.

        Parameters
        ----------
        rows
            int64 [n]; -1 is absent. The one after the last becomes `end`.
        end
            Length of the merged table.
        """
        if self._pieces and len(rows):  # mostly: all of them are in the last piece
            here, there, count = self._pieces[-1]
            low, high = int(rows.min()), int(rows.max())
            if here <= low and high < here + count:
                return np.asarray(rows + (there - here))
            if high == -1:
                return np.full(len(rows), -1, np.int64)
        out = np.full(len(rows), -1, np.int64)
        out[rows == self.length] = end
        if self._pieces:
            here, there, count = np.array(self._pieces, np.int64).T
            k = np.searchsorted(here, rows, "right") - 1
            inside = k >= 0
            k = np.where(inside, k, 0)
            ahead = rows - here[k]
            inside &= (ahead >= 0) & (ahead < count[k])
            out[inside] = (there[k] + ahead)[inside]
        return out

    def next(self, row: int, end: int) -> int:
        """Where a row is, or the first that is there after it."""
        for here, there, count in self._pieces:
            if row < here + count:
                return there + max(row - here, 0)
        return end
