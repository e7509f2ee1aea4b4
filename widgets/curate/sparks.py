"""Sparklines as pictures, kept so that scrolling paints no curve twice."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QLineF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap

if TYPE_CHECKING:
    from PySide6.QtCore import QSize

    from isoscope.widgets.curate.series import Series

KEPT = 1024  # pictures; a screen shows fewer than a hundred


class Sparks:
    """Draws series, and remembers the latest drawings."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int, int, str, float], QPixmap] = (
            OrderedDict()
        )
        self._of: dict[int, Series] = {}  # so that no id is used anew

    def clear(self) -> None:
        """Draw everything anew."""
        self._kept.clear()
        self._of.clear()

    def picture(
        self, series: Series, size: QSize, ink: QColor, ratio: float
    ) -> QPixmap:
        """The drawing of a series, in logical pixels of this size."""
        key = (id(series), size.width(), size.height(), ink.name(), ratio)
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= KEPT:
                self.clear()
            found = _drawn(series, size, ink, ratio)
            self._kept[key] = found
            self._of[id(series)] = series
        return found


def _drawn(series: Series, size: QSize, ink: QColor, ratio: float) -> QPixmap:
    wide, high = max(size.width(), 1), max(size.height(), 1)
    picture = QPixmap(round(wide * ratio), round(high * ratio))
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    pen = QPen(ink, 1.3)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    painter.drawLines(_lines(series, wide, high))
    painter.end()
    return picture


def _lines(series: Series, wide: int, high: int) -> list[QLineF]:
    """The strokes: each part from its least to its greatest, and on to the next one.

    Where a reward is NaN or infinite there is a gap.
    """
    low, top = series.low, series.high
    finite = np.isfinite(low) & np.isfinite(top)
    if not finite.any():
        return []
    floor, ceiling = float(low[finite].min()), float(top[finite].max())
    span = ceiling - floor
    scale = (high - 3) / span if span > 0 else 0.0
    # What never changes lies in the middle.
    base = high - 1.5 if span > 0 else high / 2
    count = len(low)
    x = 1 + (np.arange(count) + 0.5) * (wide - 2) / count
    down = base - (low - floor) * scale if span > 0 else np.full(count, base)
    up = base - (top - floor) * scale if span > 0 else np.full(count, base)
    strokes: list[QLineF] = []
    for k in np.flatnonzero(finite).tolist():
        strokes.append(QLineF(x[k], down[k], x[k], up[k]))
        if k + 1 < count and finite[k + 1]:
            middle, after = (down[k] + up[k]) / 2, (down[k + 1] + up[k + 1]) / 2
            strokes.append(QLineF(x[k], middle, x[k + 1], after))
    return strokes
