"""Rows to step between: a bit for each row, so that a million of them take little.

The bits are in pieces of 65,536 rows, of which only those are there that have a mark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.core.recording.tracks import Array, Int64Array

PIECE_ROWS = 1 << 16


class RowMarks:
    """A set of rows, 0 or more; others that are given are left out."""

    def __init__(self, rows: Array | list[int] | None = None) -> None:
        self._pieces: dict[int, np.ndarray[Any, np.dtype[np.uint8]]] = {}
        if rows is not None:
            self.add(rows)

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self._pieces)

    def add(self, rows: Array | list[int]) -> None:
        """Mark more rows, in any order."""
        given = np.asarray(rows, np.int64)
        given = given[given >= 0]
        number = given // PIECE_ROWS
        for which in np.unique(number).tolist():
            inside = given[number == which] - which * PIECE_ROWS
            bits = np.zeros(PIECE_ROWS, np.bool_)
            bits[inside] = True
            packed = np.packbits(bits)
            known = self._pieces.get(which)
            self._pieces[which] = packed if known is None else known | packed

    def rows(self) -> list[int]:
        """All of them, ascending."""
        parts = [self._inside(which) for which in sorted(self._pieces)]
        return np.concatenate(parts).tolist() if parts else []

    def step(self, row: int, count: int, stop: int) -> int | None:
        """The count-th next (or, below 0, previous) one before `stop`, or the last one.

        None where there is none in that direction.
        """
        found: int | None = None
        left = abs(count)
        if count == 0:
            return None
        for which in self._on_the_way(row, count > 0):
            inside = self._inside(which)
            inside = inside[inside < stop]
            if count > 0:
                inside = inside[inside > row]
            else:
                inside = inside[inside < row][::-1]
            if len(inside):
                found = int(inside[min(left, len(inside)) - 1])
                left -= len(inside)
            if left <= 0:
                break
        return found

    def _on_the_way(self, row: int, ahead: bool) -> Iterable[int]:
        """The pieces from this row on, the nearest first."""
        here = row // PIECE_ROWS
        if ahead:
            return sorted(which for which in self._pieces if which >= here)
        return sorted((w for w in self._pieces if w <= here), reverse=True)

    def _inside(self, which: int) -> Int64Array:
        """The marked rows of a piece, ascending."""
        at = np.flatnonzero(np.unpackbits(self._pieces[which]))
        return np.asarray(at + which * PIECE_ROWS, np.int64)
