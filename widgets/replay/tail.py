"""The plot's part past the recorded end, where there is nothing to differ from.

It shows how far a field has gone from the last recorded value: a dotted line on a
shaded ground, so that nobody takes it for a difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainter, QPen, QPolygonF

from isoscope.widgets.look import scaled

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QFont

    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.theme import Tokens

WORDS = "past the end: from the last recorded value"
SHORT = "past the end"


def paint_tail(
    painter: QPainter,
    body: QRectF,
    end: float,
    away: Array,
    x_of: Callable[[float], float],
    y_of: Callable[[Array], Array],
    t: Tokens,
    colour: QColor,
    font: QFont,
) -> None:
    """Paint the ground, the line and what it is.

    Parameters
    ----------
    end
        The last recorded native step; the first past it is drawn one further.
    away
        float64 [n]: how far each step is, in the field's unit.
    x_of, y_of
        Where a step and a size are, in pixels.
    """
    left = max(x_of(end + 0.5), body.left())
    if left >= body.right():
        return
    ground = QRectF(left, body.top(), body.right() - left, body.height())
    painter.fillRect(ground, QColor(t.panel))
    painter.fillRect(ground, QBrush(QColor(t.border), Qt.BrushStyle.BDiagPattern))
    painter.setPen(QPen(QColor(t.accent), 1.0))
    painter.drawLine(ground.topLeft(), ground.bottomLeft())
    pen = QPen(colour, 1.6, Qt.PenStyle.DotLine)
    painter.setPen(pen)
    ys = y_of(away).tolist()
    line = [QPointF(x_of(end + 1 + k), y) for k, y in enumerate(ys)]
    if len(line) > 1:
        painter.drawPolyline(QPolygonF(line))
    painter.setBrush(colour)
    painter.setPen(Qt.PenStyle.NoPen)
    for point in line:
        painter.drawEllipse(point, 1.6, 1.6)
    small = scaled(font, 0.82)
    metrics = QFontMetricsF(small)
    words = WORDS
    if metrics.horizontalAdvance(words) > ground.width() - 8:
        words = SHORT
    wide = metrics.horizontalAdvance(words)
    if wide > ground.width() - 8:
        return
    box = QRectF(ground.right() - wide - 4, body.bottom() - 18, wide + 2, 15)
    painter.fillRect(box, QColor(t.panel))
    painter.setFont(small)
    painter.setPen(QColor(t.dim))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, words)


def step_at(row: float, end: float, count: int) -> int:
    """The step past the end at a place of the plot, from 1; 0 where there is none."""
    step = int(np.floor(row - end + 0.5))
    return min(step, count) if count and step >= 1 else 0
