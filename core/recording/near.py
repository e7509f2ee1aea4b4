"""Scattered rows of a long track, in parts that lie near each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.recording.tracks import Int64Array

TOGETHER = 1 << 16  # rows that are read at once


def near(rows: Int64Array, most: int = TOGETHER) -> Iterator[slice]:
    """Parts of these rows, ascending, each of a stretch of at most so many rows.

    To read scattered rows out of a long track without ever holding all of it.
    """
    at = 0
    while at < len(rows):
        stop = int(np.searchsorted(rows, rows[at] + most, "left"))
        yield slice(at, max(stop, at + 1))
        at = max(stop, at + 1)
