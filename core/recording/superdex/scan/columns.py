"""Append a scanned run of Step events to a recording, a column at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.superdex.columns import MAX_FIELDS, ROW_BYTES
from isoscope.core.recording.superdex.events import IDENTITY
from isoscope.core.recording.superdex.scan.block import (
    ACTORS,
    Block,
    attribute_row,
    dataset_values,
    varying_runs,
)
from isoscope.core.recording.tracks import RaggedTrack

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.superdex.events import Assembler
    from isoscope.core.recording.superdex.scan.classify import Place
    from isoscope.core.recording.superdex.scan.match import Found
    from isoscope.core.recording.superdex.scan.template import Attribute
    from isoscope.core.recording.tracks import (
        AnyTrack,
        Array,
        BoolArray,
        FieldTable,
        Int64Array,
        Track,
    )

# A column with gaps takes no more room than this at once, or else goes row by row.
_SPREAD_BYTES = 1 << 25


@dataclass(slots=True)
class Column:
    """One field over some rows, all of one dtype.

    Attributes
    ----------
    rows
        int64 [n], ascending: rows of the block, later of the recording.
    values
        [n, *shape]; flat where `counts` is given.
    counts
        int64 [n]: values a row where that varies (each row is 1-D then), else None.
    """

    rows: Int64Array
    values: Array
    counts: Int64Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one row; of the first one where it varies."""
        if self.counts is None:
            return tuple(self.values.shape[1:])
        return (int(self.counts[0]),)

    def between(self, low: int, high: int) -> Column | None:
        """The part in rows low .. high, or None where there is none."""
        first, last = np.searchsorted(self.rows, (low, high))
        if first == 0 and last == len(self.rows):
            return self
        if first == last:
            return None
        rows, part = self.rows[first:last], slice(first, last)
        if self.counts is None:
            return Column(rows, self.values[part])
        begin = int(self.counts[:first].sum())
        counts = self.counts[part]
        return Column(rows, self.values[begin : begin + int(counts.sum())], counts)

    def row(self, index: int) -> Array:
        """One row's value as its own array."""
        if self.counts is None:
            return np.array(self.values[index, ...])
        start = int(self.counts[:index].sum())
        return self.values[start : start + int(self.counts[index])].copy()


def step_columns(
    block: Block, place: Place, which: BoolArray
) -> dict[str, list[Column]]:
    """The fields at one place of the events, in the order in which they turn up.

    Parameters
    ----------
    which
        Bool [n]: the events of the block that are wanted.
    """
    columns: dict[str, list[Column]] = {}
    parts = [(f, np.flatnonzero(which[f.rows])) for f in block.found.get(place, [])]
    parts = [part for part in parts if len(part[1])]
    for found, index in sorted(parts, key=lambda part: part[0].rows[part[1][0]]):
        for attribute in found.template.attributes:
            column = _attribute_column(block, found, attribute, index)
            columns.setdefault(attribute.name, []).append(column)
        for link in found.template.links:
            if place == () and link.name == ACTORS:
                continue
            wanted = np.zeros_like(which)
            wanted[found.rows[index]] = True
            for name, column in _dataset_columns(block, (*place, link.name), wanted):
                columns.setdefault(name, []).append(column)
    return columns


def _attribute_column(
    block: Block, found: Found, attribute: Attribute, index: Array
) -> Column:
    rows = found.rows[index]
    if attribute.shape is None:
        starts, counts = varying_runs(found, attribute)
        values = block.source.runs(starts[index], counts[index], attribute.dtype)
        return Column(rows, values, counts[index])
    values = found.field(
        attribute.piece, attribute.offset, attribute.dtype, attribute.shape
    )
    return Column(rows, values if len(index) == len(found) else values[index])


def _dataset_columns(
    block: Block, place: Place, wanted: BoolArray
) -> list[tuple[str, Column]]:
    columns = []
    for found in block.found.get(place, []):
        index = np.flatnonzero(wanted[found.rows])
        if not len(index):
            continue
        values = dataset_values(block.source, found, index)
        columns.append((place[-1], Column(found.rows[index], values)))
        for attribute in found.template.attributes:
            column = _attribute_column(block, found, attribute, index)
            columns.append((f"{place[-1]}@{attribute.name}", column))
    return columns


def put(
    assembler: Assembler,
    table: FieldTable,
    first: int,
    name: str,
    columns: list[Column],
    where: Callable[[int], str],
) -> None:
    """Append one field's columns, whose rows are the recording's, to its track.

    Parameters
    ----------
    first
        The row that the field's owner begins at.
    where
        The place in the file of the field's owner in a row.
    """
    columns.sort(key=lambda column: int(column.rows[0]))
    low = int(columns[0].rows[0])
    span = 1 + max(int(c.rows[-1]) for c in columns) - low
    stored = sum(c.values.nbytes for c in columns)
    widest = max(c.values.nbytes // len(c.rows) for c in columns)
    if span * widest > max(_SPREAD_BYTES, 2 * stored) or (
        name not in table and len(table.tracks) >= MAX_FIELDS
    ):
        _put_rows(assembler, table, first, name, columns, where)
        return
    track = assembler.track_for(table, name, columns[0].row(0), low, first)
    assembler.spend(stored + ROW_BYTES * span)
    if isinstance(track, RaggedTrack):
        odd = _put_ragged(track, columns, low, span)
    else:
        odd = _put_fixed(track, columns, low, span)
    for row, value in odd:
        track.odd[row] = value
        assembler.tell(f"dtype or shape of {name!r} changes on the way", where(row))


def _put_rows(
    assembler: Assembler,
    table: FieldTable,
    first: int,
    name: str,
    columns: list[Column],
    where: Callable[[int], str],
) -> None:
    """Append row by row what would take far more room as a column."""
    rows = [(int(row), c, i) for c in columns for i, row in enumerate(c.rows)]
    for row, column, index in sorted(rows, key=lambda item: item[0]):
        assembler.put(table, name, column.row(index), row, first, where(row))


def _odd(column: Column) -> list[tuple[int, Array]]:
    return [(int(row), column.row(i)) for i, row in enumerate(column.rows)]


def _put_fixed(
    track: Track, columns: list[Column], low: int, span: int
) -> list[tuple[int, Array]]:
    """Append to a track of fixed shape; gives back what does not fit it."""
    odd: list[tuple[int, Array]] = []
    fitting = []
    for column in columns:
        if column.counts is None and _fits(track, column):
            fitting.append(column)
        else:
            odd += _odd(column)
    if len(columns) == 1 and fitting and span == len(fitting[0].rows):
        track.append(fitting[0].values)
        return odd
    values = np.zeros((span, *track.shape), track.dtype)
    valid = np.zeros(span, np.bool_)
    for column in fitting:
        values[column.rows - low] = column.values
        valid[column.rows - low] = True
    track.append(values, valid)
    return sorted(odd, key=lambda pair: pair[0])


def _fits(track: AnyTrack, column: Column) -> bool:
    return column.values.dtype == track.dtype and column.shape == track.shape


def _put_ragged(
    track: RaggedTrack, columns: list[Column], low: int, span: int
) -> list[tuple[int, Array]]:
    """Append to a track of varying length; gives back what is of another dtype."""
    odd: list[tuple[int, Array]] = []
    lengths = np.zeros(span, np.int64)
    valid = np.zeros(span, np.bool_)
    shapes = np.zeros(span, np.int32)
    fitting: list[tuple[Int64Array, Int64Array, Array]] = []
    for column in columns:
        if column.values.dtype != track.dtype:
            odd += _odd(column)
            continue
        at = column.rows - low
        if column.counts is None:
            size = int(np.prod(column.shape, dtype=np.int64))
            counts = np.full(len(at), size, np.int64)
            shapes[at] = track.shape_id(column.shape)
        else:
            counts = column.counts
            different, which = np.unique(counts, return_inverse=True)
            ids = [track.shape_id((int(count),)) for count in different]
            shapes[at] = np.array(ids, np.int32)[which]
        lengths[at] = counts
        valid[at] = True
        fitting.append((at, counts, column.values.reshape(-1)))
    if len(fitting) == 1:
        values = fitting[0][2]
    else:
        values = _interleave(track.dtype, lengths, fitting)
    track.append_rows(values, lengths, valid, shapes)
    return sorted(odd, key=lambda pair: pair[0])


def _interleave(
    dtype: np.dtype[Any],
    lengths: Int64Array,
    parts: list[tuple[Int64Array, Int64Array, Array]],
) -> Array:
    """Values of all rows end to end, from parts that hold some rows each."""
    begin = np.cumsum(lengths) - lengths
    values = np.empty(int(lengths.sum()), dtype)
    for rows, counts, flat in parts:
        before = np.cumsum(counts) - counts
        index = np.repeat(begin[rows] - before, counts)
        index += np.arange(len(flat))
        values[index] = flat
    return values


def identity(block: Block, place: Place, row: int) -> dict[str, Array]:
    """The attributes in one row that say who an actor is."""
    there = block.at(place, row)
    if there is None:
        raise AssertionError(f"nothing was scanned at {place} of row {row}")
    found, index = there
    wanted = (a for a in found.template.attributes if a.name in IDENTITY)
    return {a.name: attribute_row(block.source, found, a, index) for a in wanted}
