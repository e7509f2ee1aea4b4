"""Which rows a timeline shows, and which of them lie under which pixel.

Row r takes the room ``r .. r + 1`` of the axis; its centre, where the playhead stands
and where its time is true, is ``r + 0.5``. Rows are evenly wide whatever their h: a
reset's step of 1e-5 s must be as easy to hit as any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import BoolArray, Int64Array

WIDEST_ROW_PX = 96.0


@dataclass(frozen=True, eq=False, slots=True)
class Columns:
    """Rows under each pixel column: ``start[p] .. stop[p]``, never empty.

    Attributes
    ----------
    start, stop
        int64 [columns]. Where a column holds a row or more, each row lies in exactly
        one column; where a row is wider than a column, the columns share it.
    fresh
        Bool [columns]: whether the column is the first that shows its row.
    row_px
        Columns per row.
    """

    start: Int64Array
    stop: Int64Array
    fresh: BoolArray
    row_px: float

    def __len__(self) -> int:
        """How many columns."""
        return len(self.start)


@dataclass(frozen=True, slots=True)
class View:
    """A visible stretch of the rows.

    Attributes
    ----------
    first
        Row coordinate at the left edge.
    per_px
        Rows a pixel, above 0.
    width
        Pixels.
    rows
        How many rows there are (or may come), at least 1.
    """

    first: float
    per_px: float
    width: int
    rows: int

    @classmethod
    def fit(cls, rows: int, width: int) -> View:
        """All rows in the width, but no row absurdly wide."""
        return cls(0.0, 1.0, max(width, 1), max(rows, 1)).scaled(0.0, 1e18)

    @property
    def last(self) -> float:
        """Row coordinate at the right edge."""
        return self.first + self.width * self.per_px

    @property
    def all_shown(self) -> bool:
        """Whether no row lies outside."""
        return self.first <= 0 and self.last >= self.rows - 1e-6

    def row_at(self, x: float) -> int:
        """The row under a pixel; clamped to the rows there are."""
        row = int(np.floor(self.first + x * self.per_px))
        return min(max(row, 0), self.rows - 1)

    def x_of(self, row: float) -> float:
        """Pixel of a row coordinate, perhaps outside; r + 0.5 is a row's centre."""
        return (row - self.first) / self.per_px

    def x_mid(self, row: float) -> float:
        """Pixel of a row's centre."""
        return self.x_of(row + 0.5)

    def shows(self, row: int) -> bool:
        """Whether the row's centre is inside."""
        return self.first <= row + 0.5 <= self.last

    def scaled(self, x: float, factor: float) -> View:
        """Show `factor` times as many rows, keeping what is under pixel x."""
        widest = max(self.rows / self.width, 1 / WIDEST_ROW_PX)
        per_px = min(max(self.per_px * factor, 1 / WIDEST_ROW_PX), widest)
        first = self.first + x * (self.per_px - per_px)
        return replace(self, first=first, per_px=per_px)._inside()

    def panned(self, px: float) -> View:
        """Move by pixels; positive shows later rows."""
        return replace(self, first=self.first + px * self.per_px)._inside()

    def spanning(self, low: float, high: float) -> View:
        """Show the row coordinates low .. high, as far as the limits allow."""
        middle = (low + high) / 2
        per_px = max((high - low) / self.width, 1e-12)
        grown = self.scaled(0.0, per_px / self.per_px)
        first = middle - grown.width * grown.per_px / 2
        return replace(grown, first=first)._inside()

    def resized(self, width: int, rows: int) -> View:
        """For another width and number of rows; the left edge and scale stay."""
        other = replace(self, width=max(width, 1), rows=max(rows, 1))
        return other.scaled(0.0, 1.0)

    def paged(self, row: int, backwards: bool = False) -> View:
        """Turn the page so that the row is inside, with what follows it ahead."""
        if self.shows(row):
            return self
        ahead = 0.9 if backwards else 0.1
        first = row + 0.5 - ahead * self.width * self.per_px
        return replace(self, first=first)._inside()

    def columns(self, scale: float = 1.0) -> Columns:
        """The rows under each pixel, with about `scale` columns a pixel."""
        count = max(round(self.width * scale), 1)
        step = self.width * self.per_px / count  # so that the last one ends the view
        edges = np.floor(self.first + np.arange(count + 1) * step + 1e-9)
        edges = edges.astype(np.int64)
        start = edges[:-1]
        stop = np.maximum(edges[1:], start + 1)
        fresh = np.ones(count, np.bool_)
        fresh[1:] = start[1:] != start[:-1]
        if step < 1:  # whether the first column begins its row, or only goes on with it
            fresh[0] = self.first - start[0] < step
        return Columns(start, stop, fresh, 1 / step)

    def _inside(self) -> View:
        most = max(self.rows - self.width * self.per_px, 0.0)
        first = min(max(self.first, 0.0), most)
        return self if first == self.first else replace(self, first=first)
