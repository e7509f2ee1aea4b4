"""Rows that were read last, kept for a view that asks for nearly the same again.

A view of a run that goes on asks for all that it showed before and a little more.
Where reading costs much, because the rows lie far apart, only the new ones are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.decimate import Rows
    from isoscope.core.recording.tracks import Array, BoolArray


class RecentRows:
    """Reads a series and keeps what came, as far as it never changes any more.

    Parameters
    ----------
    series
        Where rows come from; may grow between calls.
    """

    def __init__(self, series: Rows) -> None:
        self._series = series
        self._first = 0
        self._values, self._drawable = np.zeros(0), np.zeros(0, np.bool_)

    @property
    def nbytes(self) -> int:
        """Bytes that are kept."""
        return self._values.nbytes + self._drawable.nbytes

    def forget(self) -> None:
        """Keep nothing."""
        self._keep(0, np.zeros(0), np.zeros(0, np.bool_))

    def read(self, start: int, stop: int) -> tuple[Array, BoolArray]:
        """Rows start .. stop, as the series has them."""
        first, after = self._first, self._first + len(self._values)
        if not first <= start <= after:
            values, drawable = self._series.read(start, stop)
        else:
            values = self._values[start - first :]
            drawable = self._drawable[start - first :]
            if stop <= after:
                return values[: stop - start], drawable[: stop - start]
            new = self._series.read(after, stop)
            values = np.concatenate((values, new[0]))
            drawable = np.concatenate((drawable, new[1]))
        settled = max(self._series.settled - start, 0)
        self._keep(start, values[:settled], drawable[:settled])
        return values, drawable

    def _keep(self, first: int, values: Array, drawable: BoolArray) -> None:
        self._first, self._values, self._drawable = first, values, drawable
