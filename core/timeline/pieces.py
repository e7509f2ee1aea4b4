"""What lies on the lanes of a timeline: items, marks, and a value for every row.

Rows are native steps, counted from 0. An item covers ``start .. stop`` (half open); a
mark sits on one row. Whatever can be crowded carries an importance, so that what is
drawn for several things under one pixel is the most important of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.timeline.reduce import RangeReducer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.recording.model import Severity
    from isoscope.core.recording.tracks import Array, Int64Array
    from isoscope.core.timeline.reduce import Reducer

NO_ROWS: Int64Array = np.zeros(0, np.int64)


class Look(IntEnum):
    """How an item is drawn; the value is a bit, and the highest one wins a pixel."""

    PALE = 1  # known to be there, nothing more
    LINED = 2  # half of it is there: pale with a line below
    SOLID = 4
    HATCHED = 8  # not to be trusted, or unknown


class StepLook(IntEnum):
    """What is special about a native step; a bit, and the highest one wins a pixel."""

    USUAL = 1
    LONGER = 2
    SHORTER = 4
    TINY = 8  # as long as a reset's own step, 1e-5 s
    ABSENT = 16  # the file doesn't say how long
    ZERO = 32


class Shape(IntEnum):
    """Outline of a mark, from the least to the most important."""

    RESET = 1
    TINY = 2
    EPISODE = 3
    TRUNCATED = 4
    DONE = 5
    BOOKMARK = 6
    NOTE = 7
    INTERVENTION = 8
    GRAVITY = 9
    ZERO = 10
    WARNING = 11
    ERROR = 12
    DIVERGENCE = 13  # what was stepped again departs from what was recorded
    GOES_ON = 14  # what was stepped again goes on past the recorded end


SEVERITY_SHAPES: dict[Severity, Shape] = {
    "note": Shape.NOTE,
    "warning": Shape.WARNING,
    "error": Shape.ERROR,
}


@dataclass(frozen=True, eq=False)
class Items:
    """Items of one lane, ascending and not overlapping.

    Attributes
    ----------
    start, stop
        int64 [n].
    active_stop
        int64 [n]: up to where the item was really at work; the rest of it is waiting
        for its next turn. At least `start`, at most `stop`.
    look
        uint8 [n] of `Look`.
    number
        int32 [n]: written into the item where there is room; -1 for nothing.
    """

    start: Int64Array
    stop: Int64Array
    active_stop: Int64Array
    look: Array
    number: Array

    @classmethod
    def none(cls) -> Items:
        """No item."""
        empty = np.zeros(0, np.uint8), np.zeros(0, np.int32)
        return cls(NO_ROWS, NO_ROWS, NO_ROWS, *empty)

    @classmethod
    def bars(cls, spans: list[tuple[int, int]], look: Look = Look.SOLID) -> Items:
        """Plain bars over these half-open row ranges."""
        start = np.array([low for low, _ in spans], np.int64)
        stop = np.array([high for _, high in spans], np.int64)
        looks = np.full(len(spans), look, np.uint8)
        return cls(start, stop, stop, looks, np.full(len(spans), -1, np.int32))

    def __len__(self) -> int:
        """How many."""
        return len(self.start)

    def at(self, row: int) -> int | None:
        """The item that covers a row, or None."""
        i = int(np.searchsorted(self.start, row, "right")) - 1
        return i if i >= 0 and row < self.stop[i] else None

    @cached_property
    def present(self) -> int:
        """Union of all looks."""
        return int(np.bitwise_or.reduce(self.look)) if len(self.look) else 0

    @cached_property
    def looks(self) -> Reducer:
        """Union of looks over ranges of items."""
        return RangeReducer(self.look, np.bitwise_or)


def _no_text(_index: int) -> str:
    return ""


@dataclass(frozen=True, eq=False)
class Marks:
    """Marks, ascending by row.

    Attributes
    ----------
    rows
        int64 [n].
    shapes
        uint8 [n] of `Shape`.
    text
        What the i-th mark says; asked only for what is pointed at.
    """

    rows: Int64Array = field(default_factory=lambda: NO_ROWS)
    shapes: Array = field(default_factory=lambda: np.zeros(0, np.uint8))
    text: Callable[[int], str] = _no_text

    def __len__(self) -> int:
        """How many."""
        return len(self.rows)

    @classmethod
    def listed(cls, marks: list[tuple[int, Shape, str]]) -> Marks:
        """From (row, shape, text), in any order."""
        ordered = sorted(marks, key=lambda mark: mark[0])
        texts = [text for _, _, text in ordered]
        rows = np.array([row for row, _, _ in ordered], np.int64)
        shapes = np.array([shape for _, shape, _ in ordered], np.uint8)
        return cls(rows, shapes, texts.__getitem__)

    @classmethod
    def merged(cls, parts: list[Marks]) -> Marks:
        """All of them in one."""
        parts = [part for part in parts if len(part)]
        if len(parts) <= 1:
            return parts[0] if parts else cls()
        rows = np.concatenate([part.rows for part in parts])
        order = np.argsort(rows, kind="stable")
        shapes = np.concatenate([part.shapes for part in parts])
        begins = np.cumsum([0, *(len(part) for part in parts)])

        def text(index: int) -> str:
            source = int(order[index])
            at = int(np.searchsorted(begins, source, "right")) - 1
            return parts[at].text(source - int(begins[at]))

        return cls(rows[order], shapes[order], text)

    def between(self, low: int, high: int) -> Sequence[int]:
        """Indices of the marks on the rows low .. high, half open."""
        first, last = np.searchsorted(self.rows, [low, high], "left")
        return range(int(first), int(last))

    @cached_property
    def kinds(self) -> tuple[Shape, ...]:
        """The shapes that occur."""
        return tuple(Shape(int(shape)) for shape in np.unique(self.shapes))

    @cached_property
    def _ranked(self) -> Reducer:
        # The importance above, the index below: the maximum names the mark. Among
        # equals the first one wins, hence the index counts down.
        n = len(self.rows)
        keys = (self.shapes.astype(np.int64) << 40) + np.arange(n, 0, -1)
        return RangeReducer(keys, np.maximum, -1)

    def leaders(self, edges: Int64Array) -> Int64Array:
        """The most important mark between each two row edges; none where no mark is.

        Parameters
        ----------
        edges
            int64 [m + 1], ascending rows.

        Returns
        -------
        Int64Array
            Indices of marks, at most m, ascending.
        """
        if not len(self.rows):
            return NO_ROWS
        bounds = np.searchsorted(self.rows, edges, "left").astype(np.int64)
        keys = self._ranked.over(bounds[:-1], bounds[1:])
        keys = keys[keys >= 0]
        return np.asarray(len(self.rows) - (keys & ((1 << 40) - 1)), np.int64)


@dataclass(frozen=True, eq=False)
class RowBits:
    """One set of bits and one level for every row.

    Attributes
    ----------
    bits
        Unsigned [T]; what they mean is the lane's own.
    level
        uint8 [T], 0 .. 100: height of the row's bar; None for a lane without bars.
    """

    bits: Array
    level: Array | None = None

    def __len__(self) -> int:
        """Rows covered."""
        return len(self.bits)

    @cached_property
    def present(self) -> int:
        """Union of all bits."""
        return int(np.bitwise_or.reduce(self.bits)) if len(self.bits) else 0

    @cached_property
    def union(self) -> Reducer:
        """Union of bits over ranges of rows."""
        return RangeReducer(self.bits, np.bitwise_or)

    @cached_property
    def top(self) -> Reducer:
        """Highest level over ranges of rows."""
        level = np.zeros(0, np.uint8) if self.level is None else self.level
        return RangeReducer(level, np.maximum)
