"""The clocks of a recording as series over its native steps, to be drawn.

Axis order: time first; all values are seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array


class ArrayRows:
    """A series that is at hand: float64 [T], NaN where there is nothing."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def __len__(self) -> int:
        """Rows."""
        return len(self.values)

    def read(self, start: int, stop: int) -> tuple[Array, BoolArray]:
        """Rows start .. stop, and where there is a number."""
        values = self.values[start:stop]
        return values, np.isfinite(values)

    @property
    def settled(self) -> int:
        """Rows that never change any more: all."""
        return len(self)

    def settled_for(self, row: int) -> int:
        """The same, of the rows of one environment, which this row is of."""
        del row
        return len(self)

    def pick(self, rows: Int64Array) -> tuple[Array, BoolArray]:
        """These rows, and where there is a number."""
        values = self.values[rows]
        return values, np.isfinite(values)

    def at(self, row: int) -> float | None:
        """The number in one row; None where there is none."""
        if not 0 <= row < len(self.values):
            return None
        value = float(self.values[row])
        return value if np.isfinite(value) else None


class GrowingRows(ArrayRows):
    """A series that somebody appends to; `column` gives it as far as it goes now."""

    def __init__(self, column: Callable[[], Array]) -> None:
        self._column = column

    @property
    def values(self) -> Array:  # type: ignore[override]  # asked anew each time
        """float64 [T] now."""
        return self._column()


class HeldRows:
    """One environment's clock at every row: it stands still while others step.

    Parameters
    ----------
    values
        float64 [T]: the clock after each row's own step.
    own
        int64 [n]: the environment's rows, ascending.
    """

    def __init__(self, values: Array, own: Int64Array) -> None:
        self.values, self.own = values, own

    def __len__(self) -> int:
        """Rows."""
        return len(self.values)

    @property
    def settled(self) -> int:
        """Rows that never change any more: all."""
        return len(self)

    def read(self, start: int, stop: int) -> tuple[Array, BoolArray]:
        """Rows start .. stop, and where there is a number."""
        out = np.full(max(stop - start, 0), np.nan)
        if len(self.own):
            at = np.searchsorted(self.own, np.arange(start, stop), "right") - 1
            there = at >= 0
            out[there] = self.values[self.own[at[there]]]
        return out, np.isfinite(out)

    def at(self, row: int) -> float | None:
        """The number that holds in one row; None where there is none."""
        at = int(np.searchsorted(self.own, row, "right")) - 1
        if at < 0:
            return None
        value = float(self.values[self.own[at]])
        return value if np.isfinite(value) else None


class GrowingHeld(HeldRows):
    """One environment's clock, of a recording that grows."""

    def __init__(
        self, column: Callable[[], Array], own: Callable[[], Int64Array]
    ) -> None:
        self._column, self._rows = column, own

    @property
    def values(self) -> Array:  # type: ignore[override]  # asked anew each time
        """float64 [T] now."""
        return self._column()

    @property
    def own(self) -> Int64Array:  # type: ignore[override]  # asked anew each time
        """int64 [n]: its rows now."""
        return self._rows()


def magnitudes(values: Array, floor: float) -> Array:
    """Common logarithms of values that are 0 or more; NaN where unknown.

    What lies below `floor`, 0 too, stands at it.
    """
    out = np.full(len(values), np.nan)
    known = np.isfinite(values)
    out[known] = np.log10(np.maximum(values[known], floor))
    return out
