"""Observations without what is their environment's own, such as a target.

A component that stays as it is in every episode, and is another one in others, is not
read from a scene that moves. What is left may be another environment's, bit for bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.row_keys import row_keys
from isoscope.core.recording.tracks import Track
from isoscope.core.replay.fields import take

if TYPE_CHECKING:
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array, BoolArray

MOST_WIDE = 4096  # bytes of an observation that are looked at
LEAST = 3  # components that say anything


def without_own(window: LabelledContext, at: Array) -> tuple[Array, Array] | None:
    """What is left of the observations after some transitions.

    Parameters
    ----------
    at
        int64 [n]: indices of transitions.

    Returns
    -------
    tuple of Array, or None
        The values [n, k] in the widest of their dtypes, and uint64 [n], a number for
        each row of them, 0 where it is not told. None where nothing is own, or hardly
        anything is left: then whole observations say as much.
    """
    table = window.transitions
    before = table.previous()
    inside = np.flatnonzero((before >= 0) & (table.episode == table.episode[before]))
    left: list[Array] = []
    there = np.ones(len(at), np.bool_)
    some = False
    for track in window.fields("observation_after").values():
        if not isinstance(track, Track) or track.dtype.kind != "f":
            continue
        width = int(np.prod(track.shape, dtype=np.int64))
        if width * track.dtype.itemsize > MOST_WIDE:
            continue
        read = track.read(table.first, table.stop)
        values = read.values.reshape(len(table), width)
        both = inside[read.valid[inside] & read.valid[before[inside]]]
        own = _own(values[both], values[before[both]])
        some |= bool(own.any())
        left.append(values[at][:, ~own])
        there &= read.valid[at]
    if not some or sum(one.shape[1] for one in left) < LEAST:
        return None
    shown = np.concatenate(left, axis=1)
    return shown, np.where(there, row_keys(shown), np.uint64(0))


def _own(values: Array, before: Array) -> BoolArray:
    """Bool [width]: components that never change in an episode, but between some."""
    own = (values == before).all(axis=0) & (values != values[:1]).any(axis=0)
    return np.asarray(own)


def native_numbers(window: LabelledContext, row: int, dtype: np.dtype) -> Array:
    """[n]: all numbers of the states after a native step, as this dtype has them."""
    found = [np.zeros(0, dtype)]
    for key, track in window.labelled.fields.items():
        if key.over != "native" or key.group != "state":
            continue
        if isinstance(track, Track) and track.dtype.kind == "f":
            values, there = take(track, np.array([row]))
            with np.errstate(over="ignore"):
                found.append(values[there].reshape(-1).astype(dtype))
    return np.concatenate(found)
