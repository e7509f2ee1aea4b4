"""Tracks whose values stay in the file until somebody reads them.

A field is in one frame, or in several one after the other (a new one is added when
actors come). A frame has rows of its own, each with the number of the row that it goes
with; in all other rows the field is absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.tracks import RaggedTrack, Track, Window
from isoscope.core.roomy import roomy

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.records import Field
    from isoscope.core.recording.labelled.store import Store
    from isoscope.core.recording.tracks import Array, BoolArray


class Rows:
    """Which rows the rows of a frame go with: `numbers` int64 [n], ascending."""

    def __init__(self, store: Store, table: str) -> None:
        self.store = store
        self.table = table
        self._numbers = Track(np.dtype(np.int64), ())
        self.misplaced = 0

    def update(self) -> None:
        """Take in the frame's rows that have come since."""
        have = len(self._numbers)
        new = self.store.read(self.table, "row", have)
        last = self._numbers.values[-1] if have else -1
        if len(new) and not (new[0] > last and _ascend(new)):
            # Nothing of a recorder's: rows out of order are taken for absent ones.
            top = np.maximum.accumulate(np.concatenate([[last], new]))
            bad = new <= top[:-1]
            self.misplaced += int(bad.sum())
            new = np.where(bad, top[1:], new)
        self._numbers.append(new)

    @property
    def numbers(self) -> Array:
        """int64 [n]: ascending; one that repeats belongs to a misplaced row."""
        return self._numbers.values

    @property
    def column(self) -> Track:
        """The numbers as a track."""
        return self._numbers


def _ascend(numbers: Array) -> bool:
    """Whether each is above the one before it."""
    more = roomy((len(numbers) - 1,), np.bool_)
    return bool(np.greater(numbers[1:], numbers[:-1], out=more).all())


@dataclass(frozen=True, slots=True)
class Piece:
    """A field in one frame: its components there, and its place among the fields."""

    rows: Rows
    low: int
    high: int
    index: int


class FrameTrack(Track):
    """A field of fixed shape, read from the file in windows.

    Parameters
    ----------
    field, dtype
        What it is.
    piece
        Where it is first.
    first
        The row that the track begins at.
    """

    def __init__(
        self, field: Field, dtype: np.dtype[Any], piece: Piece, first: int
    ) -> None:
        super().__init__(dtype, tuple(field.shape), first, 1)
        self.field = field
        self._pieces = [piece]
        self._covered = 0

    def add(self, piece: Piece) -> None:
        """Add another frame that the field is in, too."""
        self._pieces.append(piece)

    def cover(self, rows: int) -> None:
        """Let the track reach up to this row of the table."""
        self._covered = max(rows - self._first, self._covered)

    def __len__(self) -> int:
        """Rows covered, from `first`."""
        return self._covered

    @property
    def values(self) -> Array:
        """[len, *shape], all of it; reads what isn't in memory yet."""
        self._load()
        return super().values

    @property
    def valid(self) -> BoolArray:
        """[len]: where the field was recorded."""
        self._load()
        return super().valid

    def _load(self) -> None:
        with self._pieces[0].rows.store.lock:
            if self._length < self._covered:
                start, stop = self._first + self._length, self._first + self._covered
                window = self._read(start, stop)
                self.append(window.values, window.valid)

    def read(self, start: int, stop: int) -> Window:
        """Rows start .. stop; rows the track doesn't cover come back invalid."""
        if stop <= self._first + self._length:
            return super().read(start, stop)
        return self._read(start, stop)

    def _read(self, start: int, stop: int) -> Window:
        values = np.zeros((stop - start, *self._shape), self._dtype)
        valid = np.zeros(stop - start, np.bool_)
        flat = values.reshape(stop - start, -1) if stop > start else values
        low = max(start, self._first)
        high = min(stop, self._first + self._covered)
        for piece in self._pieces:
            numbers = piece.rows.numbers
            a, b = np.searchsorted(numbers, [low, high]).tolist()
            if b <= a:
                continue
            store, table = piece.rows.store, piece.rows.table
            at = numbers[a:b] - start
            there = store.read(table, "valid", a, b, (piece.index, piece.index + 1))
            there = there[:, 0] != 0
            found = store.read(table, "values", a, b, (piece.low, piece.high))
            if there.all() and int(at[-1]) - int(at[0]) == len(at) - 1 == _steps(at):
                flat[at[0] : at[-1] + 1] = found
                valid[at[0] : at[-1] + 1] = True
                continue
            if len(at) > 1 and not np.diff(at).all():
                there &= np.diff(numbers[a:b], prepend=-1) > 0
            flat[at[there]] = found[there]
            valid[at[there]] = True
        return Window(start, stop, values, valid)

    def present_count(self) -> int:
        """In how many rows the field was recorded."""
        return int(np.count_nonzero(self.valid))

    def present(self, row: int) -> bool:
        """Whether the field was recorded in this row."""
        return bool(self.read(row, row + 1).valid[0])

    def at(self, row: int) -> Array | None:
        """The value in one row, or None where absent."""
        window = self.read(row, row + 1)
        return np.asarray(window.values[0]) if window.valid[0] else None


def _steps(ascending: Array) -> int:
    """How often a number is followed by another one."""
    return int(np.count_nonzero(np.diff(ascending)))


class RaggedFrameTrack(RaggedTrack):
    """A field whose length varies; read from the file when first asked for."""

    def __init__(
        self, field: Field, dtype: np.dtype[Any], rows: Rows, elements: str, first: int
    ) -> None:
        super().__init__(dtype, first)
        self.field = field
        self._rows = rows
        self._elements = elements
        self._covered = 0
        self._taken = 0  # of its rows

    def cover(self, rows: int) -> None:
        """Let the track reach up to this row of the table."""
        self._covered = max(rows - self._first, self._covered)

    def _load(self) -> None:
        with self._rows.store.lock:
            have = super().__len__()
            if have < self._covered:
                self._extend(have)

    def _extend(self, have: int) -> None:
        store, table = self._rows.store, self._rows.table
        numbers = self._rows.numbers
        stop = int(np.searchsorted(numbers, self._first + self._covered))
        ends = store.read(table, "end", max(self._taken - 1, 0), stop)
        if not self._taken:
            ends = np.concatenate([np.zeros(1, np.int64), ends])
        if len(ends) < 2:
            self.skip(self._covered - have)
            return
        values = store.read(self._elements, "value", int(ends[0]), int(ends[-1]))
        entries = np.diff(ends)
        at = numbers[self._taken : stop]
        last = numbers[self._taken - 1] if self._taken else -1
        placed = np.diff(at, prepend=last) > 0
        if not placed.all():
            values = values[np.repeat(placed, entries)]
            at, entries = at[placed], entries[placed]
        at = at - self._first - have
        lengths = np.zeros(self._covered - have, np.int64)
        valid = np.zeros(len(lengths), np.bool_)
        ids = np.zeros(len(lengths), np.int32)
        size = int(np.prod(self.field.shape, dtype=np.int64))
        lengths[at], valid[at] = entries * size, True
        shapes = {
            int(n): self.shape_id((int(n), *self.field.shape))
            for n in np.unique(entries)
        }
        ids[at] = [shapes[n] for n in entries.tolist()]
        self._taken = stop
        self.append_rows(values.reshape(-1), lengths, valid, ids)

    def __len__(self) -> int:
        """Rows covered, from `first`."""
        self._load()
        return super().__len__()

    @property
    def columns(self) -> Any:
        """The stored form, as `RaggedTrack.of` takes it."""
        self._load()
        return super().columns

    def present_count(self) -> int:
        """In how many rows the field was recorded."""
        self._load()
        return super().present_count()
