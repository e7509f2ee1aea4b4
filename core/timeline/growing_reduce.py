"""The union, maximum or minimum over ranges of a column that grows and may change.

A tree: each level holds one value for every `FAN` of the level below. Appending costs
the same whatever is there already, a changed value costs one block a level, and a range
is answered by the edges of a few levels; below a few hundred thousand values they are
simply gone through, which numpy does faster than it picks edges. Where nothing grows,
`isoscope.core.timeline.reduce.RangeReducer` answers faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from isoscope.core.recording.spill import Spill
    from isoscope.core.recording.tracks import Array, Int64Array

FAN = 16
GONE_THROUGH = 1 << 19  # values of a level at most


class GrowingReducer:
    """Answers `op` over any half-open ranges of a column that is appended to.

    Parameters
    ----------
    dtype
        Of the values.
    op
        `numpy.maximum`, `numpy.minimum` or `numpy.bitwise_or`: counting a value twice
        must not matter.
    empty
        The answer for an empty range; must change nothing when combined.
    spill
        Where it grows; by default in memory.
    """

    def __init__(
        self,
        dtype: np.dtype[Any],
        op: np.ufunc,
        empty: Any = 0,
        spill: Spill | None = None,
    ) -> None:
        self._op = op
        self._empty = np.dtype(dtype).type(empty)
        self._spill = spill
        self._levels = [Track(np.dtype(dtype), (), spill=spill)]

    def __len__(self) -> int:
        """Values covered."""
        return len(self._levels[0])

    @property
    def values(self) -> Array:
        """The column [n]; a view."""
        return self._levels[0].values

    @property
    def whole(self) -> Any:
        """The answer over everything."""
        return self.over(np.zeros(1, np.int64), np.array([len(self)], np.int64))[0]

    def append(self, values: Array) -> None:
        """Append values [n]."""
        self._levels[0].append(values)
        at = 0
        while True:
            below = self._levels[at]
            whole = len(below) // FAN
            if at + 1 == len(self._levels):
                if whole == 0:
                    return
                self._levels.append(Track(below.dtype, (), spill=self._spill))
            above = self._levels[at + 1]
            have = len(above)
            if whole <= have:
                return
            blocks = below.values[have * FAN : whole * FAN].reshape(-1, FAN)
            above.append(self._op.reduce(blocks, axis=1))
            at += 1

    def put(self, at: Int64Array, values: Array) -> None:
        """Replace the values at these places [n]; of one named twice, the last."""
        if not len(at):
            return
        self._levels[0].values[at] = values
        for below, above in zip(self._levels, self._levels[1:], strict=False):
            at = np.unique(at // FAN)
            at = at[at < len(above)]
            if not len(at):
                return
            blocks = below.values[at[:, None] * FAN + np.arange(FAN)]
            above.values[at] = self._op.reduce(blocks, axis=1)

    def over(self, start: Int64Array, stop: Int64Array) -> Array:
        """The answer over each ``start[i] .. stop[i]``, clipped to what there is.

        Parameters
        ----------
        start, stop
            int64 [m]. A range with ``stop <= start`` is empty.

        Returns
        -------
        Array
            [m], of the values' dtype.
        """
        size = len(self)
        start, stop = np.clip(start, 0, size), np.clip(stop, 0, size)
        out = np.full(len(start), self._empty)
        filled = np.flatnonzero(stop > start)
        if len(filled):
            out[filled] = self._over_filled(start[filled], stop[filled])
        return out

    def _over_filled(self, start: Int64Array, stop: Int64Array) -> Array:
        out = np.full(len(start), self._empty)
        for level in self._levels:
            values = level.values
            longest = int((stop - start).max())
            if longest <= 0:
                break
            if _steps(start, stop) <= GONE_THROUGH:
                return np.asarray(self._op(out, self._through(values, start, stop)))
            if longest <= FAN:
                return np.asarray(self._op(out, self._edge(values, start, stop)))
            up = -(-start // FAN)
            down = np.maximum(stop // FAN, up)
            left = self._edge(values, start, np.minimum(up * FAN, stop))
            right = self._edge(values, np.maximum(down * FAN, start), stop)
            out = self._op(out, self._op(left, right))
            start, stop = up, down
        return np.asarray(out)

    def _through(self, values: Array, start: Int64Array, stop: Int64Array) -> Array:
        # reduceat goes from each index up to the next one, or, where that isn't
        # greater, takes the one value. Counting the last value of a range apart keeps
        # the indices within the column; what lies between two ranges is thrown away.
        last = np.clip(stop - 1, 0, len(values) - 1)  # an empty range lies anywhere
        bounds = np.empty(2 * len(start), np.int64)
        bounds[::2], bounds[1::2] = np.minimum(start, last), last
        found = self._op(self._op.reduceat(values, bounds)[::2], values[last])
        return np.asarray(np.where(stop > start, found, self._empty))

    def _edge(self, values: Array, start: Int64Array, stop: Int64Array) -> Array:
        # Clamping repeats a value of the same range, which changes nothing.
        longest = int((stop - start).max(initial=0))
        if longest <= 0:
            return np.full(len(start), self._empty)
        last = np.clip(stop - 1, 0, len(values) - 1)  # an empty range lies anywhere
        if longest == 1:
            found = values[last]
        else:
            reach = np.minimum(start[:, None] + np.arange(longest), last[:, None])
            found = self._op.reduce(values[np.maximum(reach, 0)], axis=1)
        return np.where(stop > start, found, self._empty)


def _steps(start: Int64Array, stop: Int64Array) -> int:
    """Values that are met on the way through these ranges, one after the other."""
    return int(np.abs(stop - start).sum() + np.abs(start[1:] - stop[:-1]).sum())
