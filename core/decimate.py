"""Min/max decimation: a long series as a few points a pixel, with nothing hidden.

The contract of :func:`decimate` and :class:`Decimator`, for a series of T rows, asked
for rows ``start .. stop`` in at most about `bins` bins:

1. Few rows (up to four a bin) are all given; `Polyline.bin_rows` is then 1. Otherwise
   bins hold ``bin_rows`` rows, a power of two, and begin at its multiples, so that
   panning never makes a curve flicker. Bins cut by `start` or `stop` are given whole.
2. Of every bin four rows are kept, as far as they differ: the first and the last row
   that can be drawn, the row of the minimum and the row of the maximum. They are real
   rows with their exact values, in the order of the rows, so lines don't zigzag.
3. So the first and last drawable row of what is covered, and the extremes of every
   bin, are always there; nothing is averaged.
4. A row that can't be drawn (absent, NaN or infinite) is never a point and never
   bridged: two neighbouring points are joined only if every row between them can be
   drawn. No gap is merged away, however narrow it is on the screen.

Cost: a bin's worth of work for each bin, not for each row: a `Decimator` keeps one
summary of four rows for each block of 64, made once, and is extended as a series grows,
up to the first row that may still change.

Axis order: rows first. A worked trace with ``bins=1`` over eight rows, ``--`` absent::

    row         0     1     2     3     4     5     6     7
    value      2.0   9.0   3.0   --    1.0   4.0   4.0   5.0
    points      0     1                 4                 7
    joined      yes   no (row 3)        yes               -
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from isoscope.core.recent import RecentRows

if TYPE_CHECKING:
    from isoscope.core.recording.spill import Spill
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array

BLOCK_ROWS = 64
KEPT = 4  # rows kept of a bin
_READ_ROWS = 1 << 16  # read at a time while a summary is made
_NO_GAP = np.zeros(1, np.int64)


class Rows(Protocol):
    """A series that grows at its end."""

    def __len__(self) -> int:
        """Rows there are."""
        ...

    @property
    def settled(self) -> int:
        """How many rows, from the first, never change any more."""
        ...

    def read(self, start: int, stop: int) -> tuple[Array, BoolArray]:
        """Rows start .. stop: values float64 [n], and which can be drawn, bool [n].

        What can be drawn is finite.
        """
        ...


@dataclass(frozen=True, slots=True)
class Polyline:
    """What to draw.

    Attributes
    ----------
    rows
        int64 [P], strictly ascending.
    values
        float64 [P], finite.
    joined
        bool [P]: whether a line goes from this point to the next; the last is false.
    bin_rows
        Rows a bin; 1 if every row was given.
    """

    rows: Int64Array
    values: Array
    joined: BoolArray
    bin_rows: int

    @property
    def alone(self) -> BoolArray:
        """Bool [P]: points with no line on either side, which need a dot."""
        before = np.zeros(len(self.joined), np.bool_)
        before[1:] = self.joined[:-1]
        return ~(self.joined | before)

    @property
    def extent(self) -> tuple[float, float] | None:
        """Smallest and largest value, or None where there is no point."""
        if len(self.values) == 0:
            return None
        return float(self.values.min()), float(self.values.max())


@dataclass(frozen=True, slots=True)
class _Bins:
    """Four rows and their values for each of B bins; the rows are -1 in an empty bin.

    Columns: first, minimum, maximum, last. Values of an empty bin are ±inf, so that
    reducing further needs no mask.
    """

    rows: Int64Array  # [B, 4]
    values: Array  # [B, 4]

    def __getitem__(self, part: slice) -> _Bins:
        return _Bins(self.rows[part], self.values[part])

    def __len__(self) -> int:
        return len(self.rows)


_EMPTY_VALUES = np.array([np.inf, np.inf, -np.inf, -np.inf])


def bin_rows_for(rows: int, bins: int) -> int:
    """Rows a bin so that `rows` fit in at most `bins` bins; 1 if all can be given."""
    bins = max(bins, 1)
    if rows <= KEPT * bins:
        return 1
    needed = -(-rows // bins)
    return 1 << (needed - 1).bit_length()


def decimate(
    values: Array, drawable: BoolArray, bins: int, first_row: int = 0
) -> Polyline:
    """Decimate rows that are at hand: float64 [n], bool [n]; see the contract above.

    `first_row` is the number of the first row given; it must be at a bin's beginning
    (or 0) for the bins to stay put when panning.
    """
    bin_rows = bin_rows_for(len(values), bins)
    gaps = _gaps(drawable)
    if bin_rows == 1:
        rows = np.flatnonzero(drawable)
        return _polyline(rows + first_row, values[rows], gaps[rows], 1)
    made = _bins_of_rows(values, drawable, bin_rows, first_row)
    return _points(made, gaps, first_row, bin_rows)


class Decimator:
    """Decimates windows of one series and remembers a summary of its blocks.

    Parameters
    ----------
    series
        Where rows come from; may grow between calls.
    keep
        Whether to keep the rows that a narrow window was made of, for the next one:
        for a series that takes long to read.
    spill
        Where these grow; by default in memory.
    """

    def __init__(
        self, series: Rows, *, keep: bool = False, spill: Spill | None = None
    ) -> None:
        self.series = series
        self._recent = RecentRows(series, spill) if keep else None
        self._blocks = _Bins(np.empty((0, KEPT), np.int64), np.empty((0, KEPT)))
        # How many rows before each one can't be drawn; None while all can.
        self._gaps: Int64Array | None = None
        self._done = 0

    @property
    def nbytes(self) -> int:
        """Bytes that the summary holds, and the rows that are kept."""
        gaps = 0 if self._gaps is None else self._gaps.nbytes
        recent = 0 if self._recent is None else self._recent.nbytes
        return self._blocks.rows.nbytes + self._blocks.values.nbytes + gaps + recent

    def window(self, start: int, stop: int, bins: int) -> Polyline:
        """The polyline of rows start .. stop, clipped to the series."""
        length = len(self.series)
        start, stop = max(start, 0), min(stop, length)
        if stop <= start:
            return _polyline(
                np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64), 1
            )
        bin_rows = bin_rows_for(stop - start, bins)
        low = start - start % bin_rows
        high = min(-(-stop // bin_rows) * bin_rows, length)
        if bin_rows < BLOCK_ROWS:
            values, drawable = (self._recent or self.series).read(low, high)
            gaps = _gaps(drawable)
            if bin_rows == 1:
                rows = np.flatnonzero(drawable)
                return _polyline(rows + low, values[rows], gaps[rows], 1)
            return _points(
                _bins_of_rows(values, drawable, bin_rows, low), gaps, low, bin_rows
            )
        if self._recent is not None:
            self._recent.forget()
        return self._from_blocks(low, high, bin_rows)

    def prepare(self, start: int, stop: int, bins: int, until_s: float) -> bool:
        """Make what `window` will need, until `time.perf_counter` says `until_s`.

        Returns whether all of it is made. A million rows take some 10 ms, so that a
        caller who must not be kept waiting asks for it in parts.
        """
        stop = min(stop, len(self.series))
        if bin_rows_for(stop - max(start, 0), bins) < BLOCK_ROWS:
            return True
        rows = self._whole(stop)
        while self._done < rows and time.perf_counter() < until_s:
            self._extend(min(self._done + _READ_ROWS, rows))
        return self._done >= rows

    def _from_blocks(self, low: int, high: int, bin_rows: int) -> Polyline:
        whole = self._whole(high)
        self._extend(whole)
        rest = max(whole, low)
        blocks = self._blocks[low // BLOCK_ROWS : rest // BLOCK_ROWS]
        values, drawable = self.series.read(rest, high)
        if high > rest:
            tail = _bins_of_rows(values, drawable, BLOCK_ROWS, rest)
            blocks = _Bins(
                np.concatenate((blocks.rows, tail.rows)),
                np.concatenate((blocks.values, tail.values)),
            )
        made = _bins_of_bins(blocks, bin_rows // BLOCK_ROWS)
        if self._gaps is None and drawable.all():
            return _points(made, None, 0, bin_rows)
        # Only differences count, so that of what is read anew they begin with 0.
        before = self._gaps_until(rest)[low : rest + 1] if rest > low else _NO_GAP
        gaps = np.concatenate((before, before[-1] + _gaps(drawable)[1:]))
        return _points(made, gaps, low, bin_rows)

    def _whole(self, stop: int) -> int:
        """The rows before `stop` that can be summarised: whole blocks, for good."""
        stop = min(stop, self.series.settled)
        return stop - stop % BLOCK_ROWS

    def _extend(self, rows: int) -> None:
        """Summarise the blocks up to `rows`, a multiple of the block's length."""
        new_rows, new_values = [self._blocks.rows], [self._blocks.values]
        while self._done < rows:
            stop = min(self._done + _READ_ROWS, rows)
            values, drawable = self.series.read(self._done, stop)
            made = _bins_of_rows(values, drawable, BLOCK_ROWS, self._done)
            new_rows.append(made.rows)
            new_values.append(made.values)
            if self._gaps is not None or not drawable.all():
                before = self._gaps_until(self._done)
                self._gaps = np.concatenate((before, before[-1] + _gaps(drawable)[1:]))
            self._done = stop
        if len(new_rows) > 1:
            self._blocks = _Bins(np.concatenate(new_rows), np.concatenate(new_values))

    def _gaps_until(self, row: int) -> Int64Array:
        if self._gaps is None:
            return np.zeros(row + 1, np.int64)
        return self._gaps


def _gaps(drawable: BoolArray) -> Int64Array:
    """int64 [n + 1]: how many rows before each one can't be drawn."""
    gaps = np.zeros(len(drawable) + 1, np.int64)
    np.cumsum(~drawable, out=gaps[1:])
    return gaps


def _bins_of_rows(
    values: Array, drawable: BoolArray, bin_rows: int, first_row: int
) -> _Bins:
    bins = -(-len(values) // bin_rows)
    padded = bins * bin_rows
    low = np.full(padded, np.inf)
    high = np.full(padded, -np.inf)
    flags = np.zeros(padded, np.bool_)
    low[: len(values)][drawable] = values[drawable]
    high[: len(values)][drawable] = values[drawable]
    flags[: len(values)] = drawable
    there = flags.reshape(bins, bin_rows)
    places = np.empty((bins, KEPT), np.int64)
    places[:, 0] = there.argmax(axis=1)
    places[:, 1] = low.reshape(bins, bin_rows).argmin(axis=1)
    places[:, 2] = high.reshape(bins, bin_rows).argmax(axis=1)
    places[:, 3] = bin_rows - 1 - there[:, ::-1].argmax(axis=1)
    places += np.arange(bins, dtype=np.int64)[:, None] * bin_rows
    empty = ~there.any(axis=1)
    kept = low[places]
    kept[empty] = _EMPTY_VALUES
    rows = places + first_row
    rows[empty] = -1
    return _Bins(rows, kept)


def _bins_of_bins(bins: _Bins, each: int) -> _Bins:
    """Reduce every `each` bins to one; the last one may get fewer."""
    if each == 1:
        return bins
    made = -(-len(bins) // each)
    all_rows = np.full((made * each, KEPT), -1, np.int64)
    all_values = np.tile(_EMPTY_VALUES, (made * each, 1))
    all_rows[: len(bins)] = bins.rows
    all_values[: len(bins)] = bins.values
    rows = all_rows.reshape(made, each, KEPT)
    values = all_values.reshape(made, each, KEPT)
    there = rows[:, :, 0] >= 0
    at = np.empty((made, 1, KEPT), np.int64)
    at[:, 0, 0] = there.argmax(axis=1)
    at[:, 0, 1] = values[:, :, 1].argmin(axis=1)
    at[:, 0, 2] = values[:, :, 2].argmax(axis=1)
    at[:, 0, 3] = each - 1 - there[:, ::-1].argmax(axis=1)
    return _Bins(
        np.take_along_axis(rows, at, axis=1)[:, 0],
        np.take_along_axis(values, at, axis=1)[:, 0],
    )


def _points(
    bins: _Bins, gaps: Int64Array | None, first_row: int, bin_rows: int
) -> Polyline:
    there = bins.rows[:, 0] >= 0
    rows, values = bins.rows[there], bins.values[there]
    swap = rows[:, 1] > rows[:, 2]
    rows[swap, 1], rows[swap, 2] = rows[swap, 2], rows[swap, 1]
    values[swap, 1], values[swap, 2] = values[swap, 2], values[swap, 1]
    flat_rows, flat_values = rows.reshape(-1), values.reshape(-1)
    new = np.ones(len(flat_rows), np.bool_)
    new[1:] = flat_rows[1:] != flat_rows[:-1]
    flat_rows, flat_values = flat_rows[new], flat_values[new]
    before = None if gaps is None else gaps[flat_rows - first_row]
    return _polyline(flat_rows, flat_values, before, bin_rows)


def _polyline(
    rows: Int64Array, values: Array, before: Int64Array | None, bin_rows: int
) -> Polyline:
    """Join the points between which nothing is missing (`before`: gaps so far)."""
    joined = np.ones(len(rows), np.bool_)
    if before is not None:
        joined[:-1] = before[1:] == before[:-1]
    joined[-1:] = False
    return Polyline(rows, values.astype(np.float64, copy=False), joined, bin_rows)
