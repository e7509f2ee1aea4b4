"""The plots' axes: whole rows with the clock's time, values in their own unit."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import pyqtgraph as pg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QFontMetrics

ROW_LABEL_PX = 64.0  # room that a label of the row axis needs


class RowAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph is untyped
    """Native rows, always whole, each with the chosen clock's time below it.

    Parameters
    ----------
    stamp
        The chosen time at a row, in seconds; NaN where unknown. None shows rows only.
    """

    def __init__(self, stamp: Callable[[int], float] | None = None) -> None:
        super().__init__("bottom", maxTickLength=-4)
        self.enableAutoSIPrefix(False)
        self.stamp = stamp

    def boundingRect(self) -> QRectF:  # noqa: N802
        """Also what labels at the two ends need."""
        box: QRectF = super().boundingRect()
        return box.adjusted(-ROW_LABEL_PX, 0, ROW_LABEL_PX, 0)

    def tickSpacing(  # noqa: N802
        self, low: float, high: float, size: float
    ) -> list[tuple[float, float]]:
        """One level of round, whole numbers, as many as there is room for."""
        wanted = (high - low) * ROW_LABEL_PX / max(size, 1.0)
        return [(float(round_step(max(wanted, 1.0))), 0.0)]

    def tickStrings(  # noqa: N802
        self, values: Sequence[float], scale: float, spacing: float
    ) -> list[str]:
        """The row, and its time."""
        stamp = self.stamp
        if stamp is None:
            return [f"{value:.0f}" for value in values]
        stamps = [stamp(round(value)) for value in values]
        known = [s for s in stamps if math.isfinite(s)]
        between = [abs(b - a) for a, b in itertools.pairwise(known) if a != b]
        # As fine as one step, or the shown times would be false by rounding.
        decimals = min(decimals_for(min(between, default=0.1) / max(spacing, 1)), 4)
        return [
            f"{value:.0f}\n" + (f"{s:.{decimals}f} s" if math.isfinite(s) else " ")
            for value, s in zip(values, stamps, strict=True)
        ]


class ValueAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph is untyped
    """Values in the field's own unit: no prefix is ever put before a unit.

    Parameters
    ----------
    whole
        Whether there are only whole numbers, as of a count.
    """

    def __init__(self, whole: bool = False) -> None:
        super().__init__("left", maxTickLength=0)
        self.whole = whole
        self.enableAutoSIPrefix(False)
        self.setStyle(tickTextOffset=6, maxTickLevel=0)

    def tickSpacing(  # noqa: N802
        self, low: float, high: float, size: float
    ) -> list[tuple[float, float]]:
        """One level, three or four values."""
        span = high - low
        if not span > 0:
            return []
        step = round_step(span / max(2.0, min(size / 24.0, 5.0)))
        return [(max(step, 1.0) if self.whole else step, 0.0)]

    def tickStrings(  # noqa: N802
        self, values: Sequence[float], scale: float, spacing: float
    ) -> list[str]:
        """As few digits as tell the ticks apart."""
        return value_labels(values, spacing)

    def needed_px(
        self, metrics: QFontMetrics, low: float, high: float, px: float
    ) -> int:
        """Width that its labels need in this range, drawn `px` high."""
        texts = [
            text
            for spacing, values in self.tickValues(low, high, px)
            for text in self.tickStrings(values, 1.0, spacing)
        ]
        return max((metrics.horizontalAdvance(text) for text in texts), default=0)


def round_step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that isn't below `least`."""
    if not (math.isfinite(least) and least > 0):
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    for factor in (1.0, 2.0, 5.0, 10.0):
        if factor * power >= least * (1 - 1e-9):
            return factor * power
    return 10.0 * power


def decimals_for(step: float) -> int:
    """Decimals that tell numbers apart that are `step` from each other."""
    if not (math.isfinite(step) and step > 0):
        return 0
    return min(max(0, math.ceil(-math.log10(step) - 1e-9)), 9)


def value_labels(values: Sequence[float], spacing: float) -> list[str]:
    """Labels of ticks: plain where that is short, else with an exponent."""
    largest = max((abs(v) for v in values), default=0.0)
    clean = [0.0 if abs(v) < spacing * 1e-6 else float(v) for v in values]
    if largest and (largest >= 1e5 or largest < 1e-3):
        power = math.floor(math.log10(largest))
        digits = decimals_for(spacing / 10.0**power)
        return ["0" if v == 0 else f"{v:.{digits}e}" for v in clean]
    return [f"{v:.{decimals_for(spacing)}f}" for v in clean]
