"""Where sizes of differences are drawn: linearly or by decades, with room for 0. Pure.

Differences grow over many decades, and most of them are exactly 0. On a logarithmic
scale 0 has a rail of its own at the bottom, and what is not finite one at the top.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

WIDE = 50.0  # largest over smallest from which decades say more
RAIL = 0.06  # of the height, for 0 and for what is not finite


@dataclass(frozen=True, slots=True)
class Scale:
    """From sizes to heights, 0 (bottom) to 1.

    Attributes
    ----------
    low, high
        The smallest and the largest size that is drawn; `low` is 0 where it is linear.
    log
        Whether it goes by decades.
    """

    low: float
    high: float
    log: bool

    def heights(self, sizes: Array) -> Array:
        """float64 [n], 0 to 1."""
        top = 1.0 - RAIL
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.log:
                span = np.log10(self.high / self.low)
                part = np.log10(sizes / self.low) / span
                y = RAIL + (top - RAIL) * np.clip(part, 0.0, 1.0)
                y = np.where(sizes > 0, y, 0.0)
            else:
                y = top * np.clip(sizes / self.high, 0.0, 1.0)
        found: Array = np.where(np.isfinite(sizes), y, 1.0)
        return found

    def ticks(self, most: int = 5) -> list[float]:
        """Sizes worth a line, ascending; 0 is the bottom."""
        if not self.log:
            step = _nice(self.high / max(most - 1, 1))
            count = int(self.high / step + 1e-9)
            return [0.0, *[step * n for n in range(1, count + 1)]]
        first, last = np.ceil(np.log10(self.low)), np.floor(np.log10(self.high))
        every = max(1, int(np.ceil((last - first + 1) / most)))
        decades = np.arange(first, last + 1, every)
        return [0.0, *[float(10.0**d) for d in decades]]


def scale_of(sizes: Array, limits: Array, log: bool | None = None) -> Scale:
    """The scale for these sizes and tolerances.

    Parameters
    ----------
    log
        Whether to go by decades; None where they say more.
    """
    both = np.concatenate([sizes, limits])
    known = both[np.isfinite(both) & (both > 0)]
    if not len(known):
        return Scale(0.0, 1.0, False)
    differing = sizes[np.isfinite(sizes) & (sizes > 0)]
    high = float(differing.max()) if len(differing) else float(known.max())
    if len(limits) and np.isfinite(limits).any():
        # The band is to be seen, unless it would flatten everything else.
        high = max(high, min(float(np.nanmax(limits)), 20 * high))
    low = float(known.min())
    if log is None:
        log = high / low > WIDE
    if not log:
        return Scale(0.0, high * 1.05, False)
    low, high = 10.0 ** np.floor(np.log10(low)), 10.0 ** np.ceil(np.log10(high))
    if high <= low:
        high = low * 10
    return Scale(max(low, high * 1e-12), high, True)


def worst_per_pixel(
    rows: Array, sizes: Array, low: float, each_px: float
) -> tuple[Array, Array]:
    """The largest size in each pixel column.

    Parameters
    ----------
    rows
        int64 [n], ascending.
    low, each_px
        The row at the left edge, and rows a pixel.

    Returns
    -------
    rows, sizes
        [m], m at most n: where each column's largest is, and how large.
    """
    if not len(rows):
        return rows, sizes
    column = np.floor((rows - low) / each_px).astype(np.int64)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(column) != 0]))
    if len(starts) == len(rows):
        return rows, sizes
    top = np.maximum.reduceat(sizes, starts)
    first = rows[starts]
    return first, top


def _nice(value: float) -> float:
    if not np.isfinite(value) or value <= 0:
        return 1.0
    decade = 10.0 ** np.floor(np.log10(value))
    for step in (1.0, 2.0, 5.0, 10.0):
        if step * decade >= value * (1 - 1e-9):
            return float(step * decade)
    return float(10 * decade)
