"""Items, marks and row values that are appended to: what a growing lane is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.tracks import Track
from isoscope.core.timeline.growing_reduce import GrowingReducer
from isoscope.core.timeline.pieces import NO_ROWS, Items, Marks, RowBits, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from isoscope.core.recording.spill import Spill
    from isoscope.core.recording.tracks import Array, Int64Array
    from isoscope.core.timeline.reduce import Reducer

_INDEX = (1 << 40) - 1


@dataclass(frozen=True, eq=False)
class GrownMarks(Marks):
    """Marks as far as they have come; the reducer is kept from one picture to the next.

    Attributes
    ----------
    ranked
        int64: importance above, below it what counts down with the index, so that of
        equals the first wins.
    seen
        The shapes that occur.
    """

    ranked: Reducer | None = None
    seen: tuple[Shape, ...] = ()

    @property
    def kinds(self) -> tuple[Shape, ...]:
        """The shapes that occur."""
        return self.seen

    def leaders(self, edges: Int64Array) -> Int64Array:
        """The most important mark between each two row edges."""
        if not len(self.rows) or self.ranked is None:
            return NO_ROWS
        bounds = np.searchsorted(self.rows, edges, "left").astype(np.int64)
        keys = self.ranked.over(bounds[:-1], bounds[1:])
        keys = keys[keys >= 0]
        return np.asarray(_INDEX - (keys & _INDEX), np.int64)


class GrowingMarks:
    """Collects marks, ascending by row."""

    def __init__(self, text: Callable[[int], str], spill: Spill | None = None) -> None:
        self._rows = Track(np.dtype(np.int64), (), spill=spill)
        self._shapes = Track(np.dtype(np.uint8), (), spill=spill)
        self._ranked = GrowingReducer(np.dtype(np.int64), np.maximum, -1, spill)
        self._seen: set[int] = set()
        self._text = text

    def __len__(self) -> int:
        """How many."""
        return len(self._rows)

    @property
    def rows(self) -> Array:
        """int64 [n]."""
        return self._rows.values

    @property
    def shapes(self) -> Array:
        """uint8 [n]."""
        return self._shapes.values

    def append(self, rows: Int64Array, shapes: Array) -> None:
        """Append marks; a row before the last one's is taken for that one's."""
        if not len(rows):
            return
        count = len(self._rows)
        last = self._rows.values[-1] if count else rows[0]
        self._rows.append(np.maximum.accumulate(np.maximum(rows, last)))
        self._shapes.append(shapes)
        down = _INDEX - (count + np.arange(len(rows), dtype=np.int64))
        self._ranked.append((shapes.astype(np.int64) << 40) | down)
        self._seen.update(np.unique(shapes).tolist())

    def marks(self) -> Marks:
        """All of them."""
        seen = tuple(Shape(shape) for shape in sorted(self._seen))
        return GrownMarks(
            self._rows.values, self._shapes.values, self._text, self._ranked, seen
        )


@dataclass(frozen=True, eq=False)
class StackedMarks(Marks):
    """Marks of two kinds on one lane, each with its own order.

    The indices of the second follow those of the first.
    """

    under: Marks = field(default_factory=Marks)
    over: Marks = field(default_factory=Marks)

    @classmethod
    def of(cls, under: Marks, over: Marks) -> Marks:
        """Both; or the one that there is."""
        if not len(over) or not len(under):
            return over if len(over) else under
        count = len(under)

        def text(index: int) -> str:
            return under.text(index) if index < count else over.text(index - count)

        return cls(
            np.concatenate([under.rows, over.rows]),
            np.concatenate([under.shapes, over.shapes]),
            text,
            under,
            over,
        )

    @property
    def kinds(self) -> tuple[Shape, ...]:
        """The shapes that occur."""
        return tuple(sorted({*self.under.kinds, *self.over.kinds}))

    def between(self, low: int, high: int) -> Sequence[int]:
        """Indices of the marks on the rows low .. high, half open."""
        after = len(self.under)
        more = [index + after for index in self.over.between(low, high)]
        return [*self.under.between(low, high), *more]

    def leaders(self, edges: Int64Array) -> Int64Array:
        """The most important mark of either kind between each two row edges."""
        over = self.over.leaders(edges) + len(self.under)
        found = np.concatenate([self.under.leaders(edges), over])
        return np.asarray(found[np.argsort(self.rows[found], kind="stable")])


@dataclass(frozen=True, eq=False)
class GrownItems(Items):
    """Items as far as they have come."""

    reducer: Reducer | None = None
    all_looks: int = 0

    @property
    def present(self) -> int:
        """Union of all looks."""
        return self.all_looks

    @property
    def looks(self) -> Reducer:
        """Union of looks over ranges of items."""
        assert self.reducer is not None
        return self.reducer


class GrowingItems:
    """Collects items; the last one may still be replaced by a longer one."""

    def __init__(self, spill: Spill | None = None) -> None:
        whole = np.dtype(np.int64)
        self._columns = [Track(whole, (), spill=spill) for _ in range(3)]
        self._numbers = Track(np.dtype(np.int32), (), spill=spill)
        self._looks = GrowingReducer(np.dtype(np.uint8), np.bitwise_or, 0, spill)
        self._all = 0

    def __len__(self) -> int:
        """How many."""
        return len(self._numbers)

    def go_on(self, items: Items) -> None:
        """Put items in the place of the last one, and after it."""
        if not len(items):
            return
        parts = (items.start, items.stop, items.active_stop)
        if len(self):
            for track, values in zip(self._columns, parts, strict=True):
                track.values[-1] = values[0]
            self._numbers.values[-1] = items.number[0]
            last = np.array([len(self) - 1], np.int64)
            self._looks.put(last, items.look[:1])
        first = 1 if len(self) else 0
        for track, values in zip(self._columns, parts, strict=True):
            track.append(values[first:])
        self._numbers.append(items.number[first:])
        self._looks.append(items.look[first:])
        self._all |= int(np.bitwise_or.reduce(items.look))

    @property
    def begin_of_last(self) -> int:
        """Where the last one begins; 0 where there is none."""
        return int(self._columns[0].values[-1]) if len(self) else 0

    def items(self) -> Items:
        """All of them."""
        start, stop, active = (track.values for track in self._columns)
        looks = self._looks
        return GrownItems(
            start, stop, active, looks.values, self._numbers.values, looks, self._all
        )


@dataclass(frozen=True, eq=False)
class GrownBits(RowBits):
    """Bits and levels of the rows as far as they have come."""

    by_bits: Reducer | None = None
    by_level: Reducer | None = None
    all_bits: int = 0

    @property
    def present(self) -> int:
        """Union of all bits."""
        return self.all_bits

    @property
    def union(self) -> Reducer:
        """Union of bits over ranges of rows."""
        assert self.by_bits is not None
        return self.by_bits

    @property
    def top(self) -> Reducer:
        """Highest level over ranges of rows."""
        assert self.by_level is not None
        return self.by_level


class GrowingBits:
    """Collects bits, and levels where the lane has bars."""

    def __init__(self, dtype: np.dtype[Any], spill: Spill | None = None) -> None:
        self._bits = GrowingReducer(dtype, np.bitwise_or, 0, spill)
        self._level = GrowingReducer(np.dtype(np.uint8), np.maximum, 0, spill)
        self._all = 0

    def __len__(self) -> int:
        """Rows."""
        return len(self._bits)

    def append(self, bits: Array, level: Array | None = None) -> None:
        """Append rows."""
        self._bits.append(bits)
        if level is not None:
            self._level.append(level)
        if len(bits):
            self._all |= int(np.bitwise_or.reduce(bits))

    def rows(self) -> RowBits:
        """All of them."""
        level = self._level.values if len(self._level) else None
        return GrownBits(self._bits.values, level, self._bits, self._level, self._all)
