"""Reads tracks and columns row by row, from the file in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.tracks import Array, BoolArray, Track, Window

BLOCK = 1024  # rows


class Blocks:
    """Rows in about ascending order, of whatever reads start .. stop.

    Parameters
    ----------
    read
        Gives rows start .. stop of one thing.
    length
        Rows there are.
    """

    def __init__(self, read: Callable[[int, int], Array], length: int) -> None:
        self._read, self._length = read, length
        self._start, self._values = 0, None

    _values: Array | None

    def rows(self, rows: Array) -> Array:
        """The values of rows int64 [n], ascending."""
        start, stop = int(rows[0]), int(rows[-1]) + 1
        kept = self._values
        if kept is None or start < self._start or stop > self._start + len(kept):
            high = min(max(start + BLOCK, stop), self._length)
            self._start, kept = start, self._read(start, high)
            self._values = kept
        found: Array = kept[rows - self._start]
        return found


class TrackRows:
    """A track's values and whether they are there, row by row."""

    def __init__(self, track: Track, length: int) -> None:
        self._track = track
        self._window: Window | None = None
        self._length = length

    def rows(self, rows: Array) -> tuple[Array, BoolArray]:
        """Values [n, *shape] and whether they are there [n], of rows int64 [n]."""
        start, stop = int(rows[0]), int(rows[-1]) + 1
        kept = self._window
        if kept is None or start < kept.start or stop > kept.stop:
            high = min(max(start + BLOCK, stop), self._length)
            kept = self._window = self._track.read(start, high)
        at = rows - kept.start
        return kept.values[at], np.asarray(kept.valid[at])
