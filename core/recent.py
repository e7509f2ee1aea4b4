"""Rows that were read last, kept for a view that asks for nearly the same again.

A view of a run that goes on asks for all that it showed before and a little more.
Where reading costs much, because the rows lie far apart, only the new ones are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from isoscope.core.decimate import Rows
    from isoscope.core.recording.spill import Spill
    from isoscope.core.recording.tracks import Array, BoolArray


class RecentRows:
    """Reads a series and keeps what came, as far as it never changes any more.

    Parameters
    ----------
    series
        Where rows come from; may grow between calls.
    spill
        Where what is kept grows; by default in memory.
    """

    def __init__(self, series: Rows, spill: Spill | None = None) -> None:
        self._series, self._spill = series, spill
        self.forget()

    @property
    def nbytes(self) -> int:
        """Bytes that are kept."""
        return self._kept.nbytes

    def forget(self, start: int = 0) -> None:
        """Keep nothing; the next row to keep is this one."""
        self._kept = Track(np.dtype(np.float64), (), start, spill=self._spill)

    def read(self, start: int, stop: int) -> tuple[Array, BoolArray]:
        """Rows start .. stop, as the series has them."""
        first, after = self._kept.first, self._kept.first + len(self._kept)
        if not first <= start <= after:
            self.forget(start)
            return self._read_on(stop)
        values = self._kept.values[start - first :]
        drawable = self._kept.valid[start - first :]
        if stop <= after:
            return values[: stop - start], drawable[: stop - start]
        if start - first > stop - start:  # a view that moves on
            self.forget(start)
            self._kept.append(values, drawable)
        new = self._read_on(stop)
        return np.concatenate((values, new[0])), np.concatenate((drawable, new[1]))

    def _read_on(self, stop: int) -> tuple[Array, BoolArray]:
        """Read from the end of what is kept, and keep what is settled."""
        after = self._kept.first + len(self._kept)
        values, drawable = self._series.read(after, stop)
        settled = max(min(self._series.settled, stop) - after, 0)
        self._kept.append(values[:settled], drawable[:settled])
        return values, drawable
