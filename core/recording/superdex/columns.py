"""Put values into tracks, row by row, in bounded memory.

A fixed-shape track reserves a place in every row, present or not. A damaged or made-up
file can hold one huge value in one row of a million, so what absent rows may cost is
bounded: beyond it a sparse field goes into compressed sparse rows, which hold the same
values. What all rows together may cost is bounded too, by what the file could hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.schema import ragged_by_nature
from isoscope.core.recording.tracks import RaggedTrack, Track

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import AnyTrack, Array, FieldTable

# A new track reserves no more than this at once; longer ones double.
RESERVED_BYTES = 1 << 26
ABSENT_BYTES = 1 << 29  # what absent rows may cost in a small file
ALL_BYTES = 1 << 30  # what all rows may cost in a small file
MAX_FIELDS = 4096  # of one actor
ROW_BYTES = 13  # bytes of a row's bookkeeping: end, validity, shape
_NEW_TRACK, _NEW_ACTOR = 1 << 10, 1 << 11  # about what the objects themselves take


class TooMuchError(Exception):
    """The file expands to more than a file of its size may; told by the reader."""


class Columns:
    """Tracks of all actors, grown row by row.

    Parameters
    ----------
    capacity
        Rows to reserve room for.
    size_bytes
        Of the file.
    """

    def __init__(self, capacity: int, size_bytes: int) -> None:
        self.capacity = capacity
        self._absent_left = max(ABSENT_BYTES, 8 * size_bytes)
        self._all_left = max(ALL_BYTES, 100 * size_bytes)

    def track_for(
        self, table: FieldTable, name: str, like: Array, row: int, first: int
    ) -> AnyTrack:
        """The track of this field, brought up to `row`; made where it is new.

        Raises
        ------
        TooMuchError
            If the rows so far cost more than they may.
        """
        track = table.tracks.get(name)
        if track is None:
            if ragged_by_nature(name):
                track = RaggedTrack(like.dtype, first)
            else:
                track = Track(like.dtype, like.shape, first, self._room(like, first))
            self.spend(_NEW_TRACK)
            table.tracks[name] = track
        return self._reach(table, name, track, row)

    def put(
        self, table: FieldTable, name: str, value: Array, row: int, first: int
    ) -> str:
        """Append one row's value to its track.

        Returns
        -------
        str
            What was wrong with it, to be told; ``""`` if nothing.

        Raises
        ------
        TooMuchError
            If the rows so far cost more than they may.
        """
        if name not in table and len(table.tracks) >= MAX_FIELDS:
            return f"more than {MAX_FIELDS} fields: the rest was passed over"
        track = self.track_for(table, name, value, row, first)
        if track.first + len(track) > row:
            return f"{name!r} is there twice in one step: the later one was dropped"
        self.spend(value.nbytes + ROW_BYTES)
        if not track.append_value(value):
            return f"dtype or shape of {name!r} changes on the way"
        return ""

    def spend_actor(self, reference: dict[str, Array]) -> None:
        """Count a new actor and what it holds once; raises TooMuchError."""
        self.spend(_NEW_ACTOR + sum(value.nbytes for value in reference.values()))

    def finish(self, table: FieldTable, rows: int) -> None:
        """Bring every track up to `rows`, where that costs no more than it may."""
        for name, track in list(table.tracks.items()):
            cost = (rows - track.first - len(track)) * _row_bytes(track)
            if cost <= min(self._absent_left, self._all_left):
                self._reach(table, name, track, rows)

    def _room(self, like: Array, first: int) -> int:
        """Rows to reserve: all for an actor of the first row, within reason."""
        if first:
            return 1
        return min(self.capacity, RESERVED_BYTES // max(like.nbytes, 1))

    def _reach(
        self, table: FieldTable, name: str, track: AnyTrack, row: int
    ) -> AnyTrack:
        missing = row - track.first - len(track)
        if missing <= 0:
            return track
        cost = missing * _row_bytes(track)
        if cost > self._absent_left and isinstance(track, Track):
            track = table.tracks[name] = sparse(track)
            cost = missing * _row_bytes(track)
        self._absent_left -= min(cost, self._absent_left)
        self.spend(cost)
        track.skip_to(row)
        return track

    def spend(self, size: int) -> None:
        """Count bytes that were or will be stored; raises TooMuchError."""
        self._all_left -= size
        if self._all_left < 0:
            raise TooMuchError


def _row_bytes(track: AnyTrack) -> int:
    """What one absent row costs."""
    if isinstance(track, RaggedTrack):
        return ROW_BYTES
    return int(np.prod(track.shape, dtype=np.int64)) * track.dtype.itemsize + 1


def sparse(track: Track) -> RaggedTrack:
    """The same rows in compressed sparse form, which absent rows cost little in."""
    valid = track.valid.copy()
    flat: np.ndarray[Any, Any] = track.values[valid].reshape(-1)
    each = int(np.prod(track.shape, dtype=np.int64))
    ends = np.cumsum(valid, dtype=np.int64) * each
    # A RaggedTrack's shape number 0 is the scalar's, which absent rows carry too.
    shapes: list[tuple[int, ...]] = [()]
    if track.shape:
        shapes.append(track.shape)
    shape_of = np.where(valid, len(shapes) - 1, 0).astype(np.int32)
    made = RaggedTrack.of(flat, ends, valid, shapes, shape_of, track.first)
    made.odd.update(track.odd)
    return made
