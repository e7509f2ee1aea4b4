"""Lanes as pixels, straight from the rows under each pixel column. No Qt.

Every function gives uint32 [height, columns], premultiplied ARGB, 0 where nothing is.
The cost depends on the columns, never on how many rows or items lie under them; and
whatever is special about one row under a column is what the column shows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.timeline.owners import OWNER_COLOURS, UNKNOWN_OWNER
from isoscope.core.timeline.pieces import Look, StepLook

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array
    from isoscope.core.timeline.pieces import Items, RowBits
    from isoscope.core.timeline.view import Columns
    from isoscope.widgets.timeline.palette import Fill, Palette

GAP_FROM_PX = 5.0  # rows and items at least this wide are set apart by a gap
ROUND_FROM_PX = 8.0
CAP_FROM = 0.55


def hatched(height: int, columns: int, unit: int, phase: int = 0) -> BoolArray:
    """Diagonal stripes, one `unit` wide in three: bool [height, columns]."""
    y = np.arange(height)[:, None]
    x = np.arange(columns)[None, :] + phase
    return np.asarray((x + y) % (3 * unit) < unit)


def owner_image(
    rows: RowBits, columns: Columns, height: int, colours: Palette, unit: int
) -> Array:
    """The ribbon: a column under which several environments stepped shows each."""
    bits = rows.union.over(columns.start, columns.stop)
    lost = bits >= UNKNOWN_OWNER
    if lost.any() and columns.row_px < 2 * unit:  # one such row is seen all the same
        for k in range(1, 2 * unit):
            bits[k:][lost[:-k]] |= UNKNOWN_OWNER
        lost = bits >= UNKNOWN_OWNER
    index = _stripes(height)[bits].T
    image = np.where(bits > 0, colours.owners[index], 0).astype(np.uint32)
    inner = lost.copy()  # too narrow a stretch is no place for hatching
    inner[1:] &= lost[:-1]
    inner[:-1] &= lost[1:]
    unknown = inner & (index == OWNER_COLOURS)
    image[unknown & ~hatched(height, len(columns), unit)] = 0
    _set_apart(image, columns, unit)
    return image


def steps_image(
    rows: RowBits, columns: Columns, height: int, colours: Palette, unit: int
) -> Array:
    """Bars of h; an odd step is at least two units wide, however many are around."""
    bits = rows.union.over(columns.start, columns.stop)
    level = rows.top.over(columns.start, columns.stop)
    if columns.row_px < 2 * unit:
        bits, level = _widened(bits, level, 2 * unit)
    filled = np.maximum(level.astype(np.int64) * height // 100, level > 0)
    from_bottom = np.arange(height, 0, -1)[:, None]
    colour = colours.steps[bits]
    image = np.where(from_bottom <= filled, colour, 0).astype(np.uint32)
    # Where usual steps lie under the same column, the odd one is a cap upon them.
    mixed = (bits & StepLook.USUAL > 0) & (bits > StepLook.USUAL)
    below = mixed & (from_bottom <= CAP_FROM * filled)
    image[below] = colours.steps[StepLook.USUAL]
    zero = bits >= StepLook.ZERO
    if columns.row_px < GAP_FROM_PX * unit:
        dashes = (from_bottom // (2 * unit)) % 2 == 0
        image = np.where(zero & dashes, colours.steps[StepLook.ZERO], image)
    else:  # there is room for the mark that says so
        image[:, zero] = 0
    absent = (bits & StepLook.ABSENT > 0) & (level == 0) & ~zero
    stripes = hatched(height, len(columns), unit)
    image = np.where(absent & stripes, colours.steps[StepLook.ABSENT], image)
    image = image.astype(np.uint32)
    _set_apart(image, columns, unit)
    return image


def residual_image(
    rows: RowBits, columns: Columns, height: int, colours: Palette
) -> Array:
    """Bars as high as the largest residual under each column; none where unknown."""
    level = rows.top.over(columns.start, columns.stop).astype(np.int64)
    filled = np.maximum(level * height // 100, level > 0)
    from_bottom = np.arange(height, 0, -1)[:, None]
    image = np.where(from_bottom <= filled, np.uint32(colours.residual), np.uint32(0))
    return np.asarray(image, np.uint32)


def items_image(
    items: Items,
    columns: Columns,
    height: int,
    fill: Fill,
    unit: int,
    error: int = 0,
) -> Array:
    """Items of one lane; `error` is the hatching's pixel."""
    image = np.zeros((height, len(columns)), np.uint32)
    if not len(items):
        return image
    begun = np.searchsorted(items.start, columns.start, "right") - 1
    stop = np.searchsorted(items.start, columns.stop, "left")
    going_on = (begun >= 0) & (items.stop[begun] > columns.start)
    first = np.where(going_on, begun, begun + 1)
    looks = items.looks.over(first, stop)
    active = (stop > begun + 1) | (
        going_on & (items.active_stop[begun] > columns.start)
    )
    colour = np.where(active, np.uint32(fill.active), np.uint32(fill.held))
    weak = (looks == Look.PALE) | (looks == Look.LINED)
    colour = np.where(weak, np.uint32(fill.pale), colour)
    image[:] = np.where(looks > 0, colour, 0)
    lined = (looks & Look.LINED > 0) & (looks < Look.SOLID)
    image[-2 * unit :, lined] = fill.line
    crossed = looks >= Look.HATCHED
    if crossed.any():
        stripes = hatched(height, len(columns), unit)
        image[:, crossed] = fill.pale
        image[stripes & crossed] = error or fill.line
    outline(image, items, columns, unit)
    return image


def tainted_columns(low: Int64Array, high: Int64Array, columns: Columns) -> BoolArray:
    """Which columns a row of these spans (inclusive) lies under, at least one each."""
    edge = np.zeros(len(columns) + 1, np.int64)
    begin = np.searchsorted(columns.stop, low, "right")
    end = np.searchsorted(columns.start, high, "right")
    seen = end > begin
    np.add.at(edge, begin[seen], 1)
    np.add.at(edge, end[seen], -1)
    return np.asarray(np.cumsum(edge[:-1]) > 0)


@lru_cache(maxsize=8)
def _stripes(height: int) -> Array:
    # Which colour a ribbon's pixel has, for each union of owners: [bits, height].
    table = np.zeros((2 * UNKNOWN_OWNER, height), np.uint8)
    for bits in range(1, len(table)):
        present = [b for b in range(OWNER_COLOURS + 1) if bits >> b & 1]
        high = height
        if bits > UNKNOWN_OWNER:  # beside known owners, the unknown one has a third
            present = present[:-1]
            high -= height // 3
            table[bits, high:] = OWNER_COLOURS
        table[bits, :high] = [present[y * len(present) // high] for y in range(high)]
    return table


def _widened(bits: Array, level: Array, columns: int) -> tuple[Array, Array]:
    # An odd step takes the next columns too, unless they have odd ones themselves.
    for _ in range(columns - 1):
        before = bits.copy()
        free = (before[:-1] > StepLook.USUAL) & (before[1:] <= StepLook.USUAL)
        bits[1:][free] = before[:-1][free]
        level[1:][free] = level[:-1][free]
    return bits, level


def _set_apart(image: Array, columns: Columns, unit: int) -> None:
    if columns.row_px >= GAP_FROM_PX * unit:
        begins = np.flatnonzero(columns.fresh)
        for k in range(unit):
            image[:, np.minimum(begins + k, len(columns) - 1)] = 0


def outline(image: Array, items: Items, columns: Columns, unit: int) -> None:
    """Put a gap before each item that is wide enough; take its corners off."""
    low, high = int(columns.start[0]), int(columns.stop[-1])
    first, last = np.searchsorted(items.start, [low, high], "left")
    if last - first > len(columns) / 2:
        return  # all of them narrow
    start, stop = items.start[first:last], items.stop[first:last]
    at = np.searchsorted(columns.stop, start, "right")
    end = np.searchsorted(columns.stop, stop, "right")
    wide = (end - at) >= GAP_FROM_PX * unit
    at, end = at[wide], end[wide]
    for k in range(unit):
        image[:, np.minimum(at + k, len(columns) - 1)] = 0
    fat = (end - at) >= ROUND_FROM_PX * unit
    for k in range(unit):
        left = np.minimum(at[fat] + unit + k, len(columns) - 1)
        right = end[fat] - 1 - k
        right = right[right < len(columns) - 1]
        for y in range(unit):
            image[[y, -1 - y], left[:, None]] = 0
            image[[y, -1 - y], right[:, None]] = 0
