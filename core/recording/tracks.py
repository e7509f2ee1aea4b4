"""Tracks: one field of one actor over the native steps; what is absent stays absent.

Axis order is time first: ``values[t, ...]``. A track covers the rows
``first .. first + len`` of the recording's step table; outside of that, and wherever
``valid`` is false, the field was not recorded. Absent is never zero: the bytes under a
false ``valid`` mean nothing and no reader may show them.

A worked trace: a body that is created before step 2 and has no velocity in step 3::

    recording rows     0      1      2      3      4
    track (first=2)                  v0     --     v2
    read(1, 5).valid          False  True   False  True
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.recording.spill import Spill

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
BoolArray: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
Int64Array: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Window:
    """Rows ``start .. stop`` of a fixed-shape track.

    Attributes
    ----------
    start, stop
        Row range in the recording, half open.
    values
        Array [stop - start, *shape]; meaningless where `valid` is false.
    valid
        Bool array [stop - start].
    """

    start: int
    stop: int
    values: Array
    valid: BoolArray

    def __repr__(self) -> str:
        """Shapes, not numbers."""
        return (
            f"Window({self.start}:{self.stop}, {self.values.dtype}"
            f"{list(self.values.shape)}, {int(self.valid.sum())} valid)"
        )


@dataclass(frozen=True, slots=True)
class RaggedWindow:
    """Rows ``start .. stop`` of a ragged track, in compressed sparse row form.

    Row ``i`` holds ``values[offsets[i]:offsets[i + 1]]``, flat. A valid row may be
    empty; an invalid one always is.

    Attributes
    ----------
    values
        Array [offsets[-1]].
    offsets
        int64 array [stop - start + 1], from 0.
    valid
        Bool array [stop - start].
    """

    start: int
    stop: int
    values: Array
    offsets: Int64Array
    valid: BoolArray

    def row(self, index: int) -> Array | None:
        """Flat values of a row counted from `start`, or None where absent."""
        if not self.valid[index]:
            return None
        return self.values[self.offsets[index] : self.offsets[index + 1]]


@runtime_checkable
class TrackLike(Protocol):
    """What every track answers, whatever holds its values (memory, cache, live)."""

    @property
    def ragged(self) -> bool:
        """Whether rows differ in shape; then `read` gives a RaggedWindow."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of all rows but the odd ones."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one row; ``(-1,)`` for a ragged track."""
        ...

    @property
    def first(self) -> int:
        """The recording's row that the track begins at."""
        ...

    @property
    def odd(self) -> dict[int, Array]:
        """Rows (of the recording) whose dtype or shape breaks the rule."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        ...

    def __len__(self) -> int:
        """Rows covered, from `first`."""
        ...

    def present_count(self) -> int:
        """In how many rows the field was recorded, odd ones included."""
        ...

    def at(self, row: int) -> Array | None:
        """The value in one row exactly as the file gives it, or None where absent."""
        ...

    def present(self, row: int) -> bool:
        """Whether the field was recorded in this row."""
        ...


class Track:
    """A fixed-shape track in memory, appended to by one thread and read by any.

    Parameters
    ----------
    dtype, shape
        Of one row.
    first
        The recording's row that the track begins at.
    capacity
        Rows to reserve; more are made by doubling.
    spill
        Where it grows; by default in memory.
    """

    ragged = False
    spill: Spill | None = None

    def __init__(
        self,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        first: int = 0,
        capacity: int = 64,
        spill: Spill | None = None,
    ) -> None:
        self._dtype = np.dtype(dtype)
        self._shape = shape
        self._first = first
        self._values = np.empty((max(capacity, 1), *shape), self._dtype)
        self._valid: BoolArray = np.zeros(max(capacity, 1), np.bool_)
        self._length = 0
        self._odd: dict[int, Array] = {}
        if spill is not None:
            self.spill = spill

    @classmethod
    def of(cls, values: Array, valid: BoolArray | None = None, first: int = 0) -> Track:
        """Wrap whole columns without copying: values [T, *shape], valid [T]."""
        track = cls.__new__(cls)
        track._dtype = values.dtype
        track._shape = values.shape[1:]
        track._first = first
        track._values = values
        track._valid = np.ones(len(values), np.bool_) if valid is None else valid
        track._length = len(values)
        track._odd = {}
        return track

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of all rows but the odd ones."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one row."""
        return self._shape

    @property
    def first(self) -> int:
        """The recording's row that the track begins at."""
        return self._first

    @property
    def odd(self) -> dict[int, Array]:
        """Rows (of the recording) whose dtype or shape breaks the rule."""
        return self._odd

    @property
    def nbytes(self) -> int:
        """Bytes of the rows in use."""
        row = int(np.prod(self._shape, dtype=np.int64)) * self._dtype.itemsize
        return self._length * (row + 1) + sum(v.nbytes for v in self._odd.values())

    @property
    def values(self) -> Array:
        """View [len, *shape] of the rows from `first`."""
        return self._values[: self._length]

    @property
    def valid(self) -> BoolArray:
        """View [len]: where the field was recorded."""
        return self._valid[: self._length]

    def __len__(self) -> int:
        """Rows covered, from `first`."""
        return self._length

    def present_count(self) -> int:
        """In how many rows the field was recorded, odd ones included."""
        return int(np.count_nonzero(self.valid)) + len(self._odd)

    def _reserve(self, rows: int) -> None:
        if rows <= len(self._values):
            return
        capacity = max(rows, 2 * len(self._values))
        values, valid = self._room(capacity)
        values[: self._length] = self._values[: self._length]
        valid[: self._length] = self._valid[: self._length]
        # Readers hold views of the old arrays, which stay right.
        self._values, self._valid = values, valid

    def _room(self, capacity: int) -> tuple[Array, BoolArray]:
        shape = (capacity, *self._shape)
        if self.spill is None:
            return np.empty(shape, self._dtype), np.zeros(capacity, np.bool_)
        valid = self.spill.empty((capacity,), np.dtype(np.bool_))
        return self.spill.empty(shape, self._dtype), valid

    def append(self, values: Array, valid: BoolArray | None = None) -> None:
        """Append rows: values [n, *shape] of this dtype, valid [n] (all by default)."""
        stop = self._length + len(values)
        self._reserve(stop)
        self._values[self._length : stop] = values
        self._valid[self._length : stop] = True if valid is None else valid
        self._length = stop

    def skip(self, rows: int) -> None:
        """Append rows in which the field is absent."""
        stop = self._length + rows
        self._reserve(stop)
        self._valid[self._length : stop] = False
        self._length = stop

    def skip_to(self, row: int) -> None:
        """Append absent rows until the recording's row `row` is the next one."""
        self.skip(max(0, row - self._first - self._length))

    def append_value(self, value: Array) -> bool:
        """Append one row; one that breaks the rule is kept apart as odd.

        Returns whether the value fitted.
        """
        if value.dtype == self._dtype and value.shape == self._shape:
            stop = self._length + 1
            self._reserve(stop)
            self._values[self._length] = value
            self._valid[self._length] = True
            self._length = stop
            return True
        self._odd[self._first + self._length] = value
        self.skip(1)
        return False

    def read(self, start: int, stop: int) -> Window:
        """Rows start .. stop; rows the track doesn't cover come back invalid."""
        length = self._length  # read once: the writer may move on
        low = min(max(start - self._first, 0), length)
        high = min(max(stop - self._first, 0), length)
        if high - low == stop - start:
            return Window(start, stop, self._values[low:high], self._valid[low:high])
        values = np.zeros((stop - start, *self._shape), self._dtype)
        valid = np.zeros(stop - start, np.bool_)
        offset = low + self._first - start
        values[offset : offset + high - low] = self._values[low:high]
        valid[offset : offset + high - low] = self._valid[low:high]
        return Window(start, stop, values, valid)

    def present(self, row: int) -> bool:
        """Whether the field was recorded in this row."""
        index = row - self._first
        if row in self._odd:
            return True
        return 0 <= index < self._length and bool(self._valid[index])

    def at(self, row: int) -> Array | None:
        """The value in one row exactly as the file gives it, or None where absent."""
        if row in self._odd:
            return self._odd[row]
        if not self.present(row):
            return None
        return np.asarray(self._values[row - self._first])


class RaggedTrack:
    """A track whose rows differ in length, in compressed sparse row form.

    The row's own shape is kept beside the flat values (a single contact is written as
    a scalar, two as an array), so that `at` gives back exactly what the file holds.
    """

    ragged = True

    def __init__(self, dtype: np.dtype[Any], first: int = 0) -> None:
        self._first = first
        self._values = Track(np.dtype(dtype), (), 0, 64)
        self._ends = Track(np.dtype(np.int64), (), 0, 64)
        self._valid = Track(np.dtype(np.bool_), (), 0, 64)
        # Shapes are few: each row keeps a number into this list.
        self._shapes: list[tuple[int, ...]] = [()]
        self._shape_ids: dict[tuple[int, ...], int] = {(): 0}
        self._shape_of = Track(np.dtype(np.int32), (), 0, 64)
        self._odd: dict[int, Array] = {}

    @classmethod
    def of(
        cls,
        values: Array,
        ends: Int64Array,
        valid: BoolArray,
        shapes: list[tuple[int, ...]],
        shape_of: Array,
        first: int = 0,
    ) -> RaggedTrack:
        """Wrap whole columns: flat values, ends [T], valid [T], shape ids [T]."""
        track = cls(values.dtype, first)
        track._values = Track.of(values)
        track._ends = Track.of(ends)
        track._valid = Track.of(valid)
        track._shapes = shapes
        track._shape_ids = {shape: i for i, shape in enumerate(shapes)}
        track._shape_of = Track.of(shape_of)
        return track

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of all rows but the odd ones."""
        return self._values.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """``(-1,)``: rows differ."""
        return (-1,)

    @property
    def first(self) -> int:
        """The recording's row that the track begins at."""
        return self._first

    @property
    def odd(self) -> dict[int, Array]:
        """Rows (of the recording) whose dtype breaks the rule."""
        return self._odd

    @property
    def nbytes(self) -> int:
        """Bytes of the rows in use."""
        parts = (self._values, self._ends, self._valid, self._shape_of)
        held = sum(p.values.nbytes for p in parts)
        return held + sum(v.nbytes for v in self._odd.values())

    @property
    def columns(
        self,
    ) -> tuple[Array, Int64Array, BoolArray, list[tuple[int, ...]], Array]:
        """The stored form, as `of` takes it."""
        return (
            self._values.values,
            self._ends.values,
            self._valid.values,
            self._shapes,
            self._shape_of.values,
        )

    def __len__(self) -> int:
        """Rows covered, from `first`."""
        return len(self._valid)

    def present_count(self) -> int:
        """In how many rows the field was recorded, odd ones included."""
        return int(np.count_nonzero(self._valid.values)) + len(self._odd)

    def shape_id(self, shape: tuple[int, ...]) -> int:
        """The number that `append_rows` knows this row shape by."""
        found = self._shape_ids.get(shape)
        if found is None:
            found = self._shape_ids[shape] = len(self._shapes)
            self._shapes.append(shape)
        return found

    def append_value(self, value: Array) -> bool:
        """Append one row; another dtype is kept apart as odd. Returns if it fitted."""
        if value.dtype != self.dtype:
            self._odd[self._first + len(self)] = value
            self.skip(1)
            return False
        shape_id = self.shape_id(value.shape)
        self._values.append(value.reshape(-1))
        self._shape_of.append(np.array([shape_id], np.int32))
        self._ends.append(np.array([len(self._values)], np.int64))
        self._valid.append(np.array([True]))
        return True

    def append(
        self, values: Array, lengths: Array, shapes: list[tuple[int, ...]] | None = None
    ) -> None:
        """Append rows at once: flat values, a length per row, its shape (else 1-D)."""
        ids = [
            self.shape_id(s) for s in (shapes or [(int(length),) for length in lengths])
        ]
        base = len(self._values)
        self._values.append(values)
        self._shape_of.append(np.array(ids, np.int32))
        self._ends.append(base + np.cumsum(lengths, dtype=np.int64))
        self._valid.append(np.ones(len(lengths), np.bool_))

    def append_rows(
        self, values: Array, lengths: Array, valid: BoolArray, shape_ids: Array
    ) -> None:
        """Append rows at once, absent ones among them.

        Parameters
        ----------
        values
            Flat values of all rows, end to end, of this dtype.
        lengths, valid
            Per row its count of values (0 where absent) and whether it is there.
        shape_ids
            int32 per row: number of its shape, from `shape_id`.
        """
        base = len(self._values)
        self._values.append(values)
        self._shape_of.append(shape_ids)
        self._ends.append(base + np.cumsum(lengths, dtype=np.int64))
        self._valid.append(valid)

    def skip(self, rows: int) -> None:
        """Append rows in which the field is absent."""
        if rows <= 0:
            return
        self._shape_of.append(np.zeros(rows, np.int32))
        self._ends.append(np.full(rows, len(self._values), np.int64))
        self._valid.append(np.zeros(rows, np.bool_))

    def skip_to(self, row: int) -> None:
        """Append absent rows until the recording's row `row` is the next one."""
        self.skip(row - self._first - len(self))

    def read(self, start: int, stop: int) -> RaggedWindow:
        """Rows start .. stop; rows the track doesn't cover come back invalid."""
        length = len(self)
        low = min(max(start - self._first, 0), length)
        high = min(max(stop - self._first, 0), length)
        ends = self._ends.values
        begin = int(ends[low - 1]) if low else 0
        finish = int(ends[high - 1]) if high else 0
        offsets = np.zeros(stop - start + 1, np.int64)
        valid = np.zeros(stop - start, np.bool_)
        at = low + self._first - start
        if high > low:
            offsets[at + 1 : at + 1 + high - low] = ends[low:high] - begin
            offsets[at + 1 + high - low :] = finish - begin
            valid[at : at + high - low] = self._valid.values[low:high]
        else:
            finish = begin
        return RaggedWindow(
            start, stop, self._values.values[begin:finish], offsets, valid
        )

    def present(self, row: int) -> bool:
        """Whether the field was recorded in this row."""
        index = row - self._first
        if row in self._odd:
            return True
        return 0 <= index < len(self) and bool(self._valid.values[index])

    def at(self, row: int) -> Array | None:
        """The value in one row exactly as the file gives it, or None where absent."""
        if row in self._odd:
            return self._odd[row]
        if not self.present(row):
            return None
        index = row - self._first
        ends = self._ends.values
        begin = int(ends[index - 1]) if index else 0
        shape = self._shapes[int(self._shape_of.values[index])]
        return self._values.values[begin : int(ends[index])].reshape(shape)


AnyTrack: TypeAlias = Track | RaggedTrack


@dataclass(slots=True)
class FieldTable:
    """The tracks of one actor (or of the step itself), made as fields turn up.

    A field whose second shape turns up while its name is known as ragged, or whose
    shape varies in its first dimension while it is an attribute, becomes ragged; any
    other change of dtype or shape is kept as odd and told.
    """

    tracks: dict[str, AnyTrack] = field(default_factory=dict)

    def __getitem__(self, name: str) -> AnyTrack:
        """The track of this name."""
        return self.tracks[name]

    def __contains__(self, name: str) -> bool:
        """Whether such a field was recorded at all."""
        return name in self.tracks

    def __iter__(self) -> Iterator[str]:
        """Names in order of first appearance."""
        return iter(self.tracks)

    def get(self, name: str) -> AnyTrack | None:
        """The track of this name, or None."""
        return self.tracks.get(name)
