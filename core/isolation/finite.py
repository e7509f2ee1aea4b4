"""Rows of a track that hold NaN or infinity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import AnyTrack, Array

BLOCK = 65536  # rows looked at together


def bad_rows(track: AnyTrack) -> Array:
    """int64 [n]: the rows of a real-valued track that hold NaN or infinity."""
    found: list[Array] = []
    start, stop = track.first, track.first + len(track)
    for low in range(start, stop, BLOCK):
        high = min(low + BLOCK, stop)
        if isinstance(track, Track):
            window = track.read(low, high)
            each = np.isfinite(window.values)
            if each.all():
                continue
            width = int(np.prod(track.shape, dtype=np.int64))
            finite = each.reshape(high - low, width).all(axis=1)
            found.append(low + np.flatnonzero(window.valid & ~finite))
        else:
            ragged = track.read(low, high)
            places = np.flatnonzero(~np.isfinite(ragged.values))
            rows = np.searchsorted(ragged.offsets, places, side="right") - 1
            found.append(low + np.unique(rows))
    odd = [
        row
        for row, value in track.odd.items()
        if value.dtype.kind in "fc" and not np.isfinite(value).all()
    ]
    every = np.concatenate([*found, np.array(odd, np.int64)])
    return np.unique(every.astype(np.int64))
