"""A number for what was observed after each control step, to find equal ones by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.row_keys import row_keys
from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array

WIDEST = 4096  # bytes of an observation that are looked at
LEAST = 8  # a few values are soon equal


def observation_keys(window: LabelledContext, rows: Array) -> Array:
    """uint64 [n]: equal for equal observations, by all their fields; 0 where unknown.

    Parameters
    ----------
    rows
        int64 [n]: of the window's transitions.
    """
    table = window.transitions
    key = np.zeros(len(rows), np.uint64)
    width = 0
    for track in window.fields("observation_after").values():
        if not isinstance(track, Track):
            continue
        size = int(np.prod(track.shape, dtype=np.int64)) * track.dtype.itemsize
        if size > WIDEST:
            continue
        width += size
        read = track.read(table.first, table.stop)
        key = key * np.uint64(31) + row_keys(read.values[rows])
        key[~read.valid[rows]] = 0
    if width < LEAST:
        key[:] = 0
    return key
