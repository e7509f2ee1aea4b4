"""Chunks as pixels: each state has a shape of its own, colour only helps. No Qt.

The policy's half stands above, the environment's below. One half alone leaves the
other's place open; both in part have a gap between them; a joined chunk fills its lane;
a flushed one is paler upon a line; one that failed is hatched.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.timeline.chunks import ChunkLook
from isoscope.widgets.timeline.images import hatched, outline
from isoscope.widgets.timeline.palette import argb, palette

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.core.timeline.pieces import Items
    from isoscope.core.timeline.view import Columns

ORDER = tuple(ChunkLook)
# The place in `ORDER`, from 1, of the highest look among these; 0 for none.
HIGHEST = np.array([bits.bit_length() for bits in range(256)], np.uint8)


def chunks_image(
    items: Items, columns: Columns, height: int, theme: str, unit: int, rows: int
) -> Array:
    """One lane of chunks: uint32 [height, columns], premultiplied ARGB.

    Parameters
    ----------
    rows
        How many native steps there are: a chunk that goes on is drawn up to there.
    """
    image = np.zeros((height, len(columns)), np.uint32)
    if not len(items):
        return image
    first, stop = _under(items, columns)
    looks = items.looks.over(first, stop)
    code = HIGHEST[looks]
    code[columns.start >= rows] = 0
    image[:] = tiles(theme, height, unit)[code].T
    failed = np.asarray(code == HIGHEST[ChunkLook.FAILED])
    if failed.any():
        stripes = hatched(height, len(columns), unit)
        image[~stripes & failed] = 0
    outline(image, items, columns, unit)
    return image


def _under(items: Items, columns: Columns) -> tuple[Array, Array]:
    """The items under each column, half open: those that go on, and that begin in it.

    Several may begin with one native step; all of them are under its column.
    """
    if np.array_equal(columns.stop[:-1], columns.start[1:]):
        edges = np.append(columns.start, columns.stop[-1])
        after = np.searchsorted(items.start, edges, "left")
        next_, stop = after[:-1], after[1:]
    else:
        next_ = np.searchsorted(items.start, columns.start, "left")
        stop = np.searchsorted(items.start, columns.stop, "left")
    before = next_ - 1  # the one that began before the column, if it goes on in it
    going_on = (before >= 0) & (items.stop[before] > columns.start)
    first = next_ - going_on
    if going_on.any():
        # Others that began with it may go on, too.
        held = items.start[before]
        if (items.start[np.maximum(before - 1, 0)] == held)[before > 0].any():
            same = np.searchsorted(items.start, held, "left")
            first = np.where(going_on, same, first)
    return first, stop


@lru_cache(maxsize=32)
def tiles(theme: str, height: int, unit: int) -> Array:
    """What a column of each look shows: uint32 [looks + 1, height]."""
    colours = palette(theme).chunks
    out = np.zeros((len(ORDER) + 1, height), np.uint32)
    half = height // 2
    faint = argb(palette(theme).theme.faint)

    def of(look: ChunkLook) -> Array:
        return np.asarray(out[ORDER.index(look) + 1])

    of(ChunkLook.FLUSHED)[:] = argb(colours[ChunkLook.FLUSHED])
    of(ChunkLook.FLUSHED)[-2 * unit :] = argb(colours[ChunkLook.JOINED])
    of(ChunkLook.JOINED)[:] = argb(colours[ChunkLook.JOINED])
    policy, env, both = (
        of(look) for look in (ChunkLook.POLICY, ChunkLook.ENV, ChunkLook.BOTH)
    )
    for tile in (policy, both):
        tile[: half - unit] = argb(colours[ChunkLook.POLICY])
    for tile in (env, both):
        tile[half + unit :] = argb(colours[ChunkLook.ENV])
    policy[-unit:] = faint  # the half that is still to come
    env[:unit] = faint
    of(ChunkLook.FAILED)[:] = argb(colours[ChunkLook.FAILED])
    return out
