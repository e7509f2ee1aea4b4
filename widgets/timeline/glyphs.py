"""Marks: every kind has an outline of its own, so that colour only helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainterPath, QPen, QPolygonF

from isoscope.core.timeline.pieces import Shape
from isoscope.widgets.timeline.frame import colour

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from isoscope.widgets.theme import Tokens

RADIUS = 4.0

NAMES: dict[Shape, str] = {
    Shape.RESET: "reset",
    Shape.TINY: "1e-5 s",
    Shape.EPISODE: "episode",
    Shape.TRUNCATED: "truncated",
    Shape.DONE: "terminated",
    Shape.BOOKMARK: "bookmark",
    Shape.NOTE: "note",
    Shape.INTERVENTION: "intervention",
    Shape.GRAVITY: "gravity",
    Shape.ZERO: "0 s",
    Shape.WARNING: "warning",
    Shape.ERROR: "error",
    Shape.DIVERGENCE: "departs",
    Shape.GOES_ON: "goes on past the end",
}


def glyph_colour(shape: Shape, theme: Tokens) -> str:
    """The colour of a mark."""
    return {
        Shape.BOOKMARK: theme.accent,
        Shape.NOTE: theme.dim,
        Shape.TINY: theme.dim,
        Shape.INTERVENTION: theme.accent,
        Shape.ZERO: theme.warning,
        Shape.WARNING: theme.warning,
        Shape.ERROR: theme.error,
        Shape.DIVERGENCE: theme.error,
        Shape.GOES_ON: theme.accent,
    }.get(shape, theme.text)


def draw_border(
    painter: QPainter, shape: Shape, x: float, top: float, bottom: float, theme: Tokens
) -> None:
    """A mark that crosses its lane: an episode begins, with a reset or without."""
    x = round(x)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour(theme.panel, 190))
    painter.drawRect(QRectF(x - 1.5, top, 3.0, bottom - top))
    painter.setBrush(colour(theme.text))
    if shape is Shape.EPISODE:
        y = top
        while y < bottom:
            painter.drawRect(QRectF(x - 0.5, y, 1.0, min(2.0, bottom - y)))
            y += 4
        return
    painter.drawRect(QRectF(x - 0.5, top, 1.0, bottom - top))
    head = [QPointF(x - 3, top), QPointF(x + 3, top), QPointF(x, top + 4)]
    painter.drawPolygon(QPolygonF(head))


def draw_glyph(
    painter: QPainter,
    shape: Shape,
    x: float,
    y: float,
    theme: Tokens,
    radius: float = RADIUS,
) -> None:
    """A mark around a point."""
    ink = colour(glyph_colour(shape, theme))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink)
    r = radius
    if shape in (Shape.DONE, Shape.TRUNCATED):
        _draw_end(painter, shape, x, y, theme, r)
    elif shape is Shape.INTERVENTION:  # a hand upon it: a plus
        arm, thick = r, r * 0.36
        painter.drawRect(QRectF(x - arm, y - thick, 2 * arm, 2 * thick))
        painter.drawRect(QRectF(x - thick, y - arm, 2 * thick, 2 * arm))
    elif shape is Shape.DIVERGENCE:
        _draw_fork(painter, x, y, theme, r)
    elif shape is Shape.GOES_ON:  # an arrow to the right
        painter.drawRect(QRectF(x - 1.3 * r, y - r * 0.3, 1.3 * r, r * 0.6))
        head = [QPointF(x, y - r), QPointF(x + 1.3 * r, y), QPointF(x, y + r)]
        painter.drawPolygon(QPolygonF(head))
    elif shape is Shape.ERROR:
        points = [QPointF(x, y - r), QPointF(x + r, y + r), QPointF(x - r, y + r)]
        painter.drawPolygon(QPolygonF(points))
    elif shape is Shape.WARNING:
        painter.drawEllipse(QPointF(x, y), r * 0.85, r * 0.85)
    elif shape is Shape.GRAVITY:
        s = r * 1.05
        points = [QPointF(x, y - s), QPointF(x + s, y), QPointF(x, y + s)]
        painter.drawPolygon(QPolygonF([*points, QPointF(x - s, y)]))
    elif shape is Shape.BOOKMARK:
        path = QPainterPath(QPointF(x - r * 0.7, y - r))
        path.lineTo(x + r * 0.7, y - r)
        path.lineTo(x + r * 0.7, y + r)
        path.lineTo(x, y + r * 0.35)
        path.lineTo(x - r * 0.7, y + r)
        path.closeSubpath()
        painter.drawPath(path)
    elif shape in (Shape.NOTE, Shape.ZERO):
        painter.setBrush(colour(theme.panel))
        painter.setPen(QPen(ink, 1.4))
        painter.drawEllipse(QPointF(x, y), r * 0.8, r * 0.8)
        if shape is Shape.ZERO:
            painter.drawLine(QPointF(x - r * 0.8, y), QPointF(x + r * 0.8, y))
    else:
        s = r * 0.75
        points = [QPointF(x - s, y - s), QPointF(x + s, y - s), QPointF(x, y + s)]
        painter.drawPolygon(QPolygonF(points))


def _draw_fork(painter: QPainter, x: float, y: float, theme: Tokens, r: float) -> None:
    """One line that becomes two."""
    fork = QPainterPath(QPointF(x - 1.3 * r, y))
    fork.lineTo(x - 0.1 * r, y)
    fork.lineTo(x + 1.2 * r, y - r)
    fork.moveTo(x - 0.1 * r, y)
    fork.lineTo(x + 1.2 * r, y + r)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for ink, wide in ((theme.panel, 4.2), (theme.error, 2.0)):
        pen = QPen(colour(ink), wide)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.drawPath(fork)


def _draw_end(
    painter: QPainter, shape: Shape, x: float, y: float, theme: Tokens, r: float
) -> None:
    """An end: a square, filled where it was the task's own, open where it was cut."""
    s = r * 0.8
    box = QRectF(x - s, y - s, 2 * s, 2 * s)
    painter.setPen(QPen(colour(theme.panel), 1))
    painter.setBrush(colour(theme.text))
    painter.drawRect(box)
    if shape is Shape.TRUNCATED:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(theme.panel))
        painter.drawRect(box.adjusted(1.6, 1.6, -1.6, -1.6))
