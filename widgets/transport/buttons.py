"""The Transport's buttons: glyphs drawn as paths, so they are sharp at any scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QTransform
from PySide6.QtWidgets import QToolButton, QWidget

from isoscope.widgets.look import blend
from isoscope.widgets.theme import DARK, Tokens

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

SMALL_PX, BIG_PX = 26, 32


def glyph(name: str) -> QPainterPath:
    """A sign in a box of 12 by 12: ``start back step_back play pause …``."""
    path = QPainterPath()
    if name == "play":
        _triangle(path, 2.5, 11.0)
    elif name == "pause":
        path.addRect(QRectF(2.2, 1.2, 2.8, 9.6))
        path.addRect(QRectF(7.0, 1.2, 2.8, 9.6))
    elif name in ("step", "step_back"):  # one native step
        _triangle(path, 3.2, 9.2)
    elif name in ("next", "previous"):  # one control step
        _triangle(path, 0.6, 6.0)
        _triangle(path, 6.2, 11.6)
    elif name in ("end", "start"):
        _triangle(path, 1.8, 8.2)
        path.addRect(QRectF(8.8, 1.8, 1.8, 8.4))
    if name in ("step_back", "previous", "start"):
        return QTransform(-1, 0, 0, 1, 12, 0).map(path)
    return path


def _triangle(path: QPainterPath, left: float, right: float) -> None:
    half = min((right - left) * 0.62, 5.2)
    path.moveTo(left, 6 - half)
    path.lineTo(right, 6)
    path.lineTo(left, 6 + half)
    path.closeSubpath()


class GlyphButton(QToolButton):
    """A button with a sign; `primary` makes it a filled circle."""

    def __init__(
        self, sign: str, name: str, tip: str, *, primary: bool = False
    ) -> None:
        super().__init__()
        self._t, self._sign, self._primary = DARK, sign, primary
        self.setAccessibleName(name)
        self.setToolTip(tip)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        side = BIG_PX if primary else SMALL_PX
        self.setFixedSize(QSize(side + (0 if primary else 4), side))

    def set_look(self, t: Tokens) -> None:
        """Take colours."""
        self._t = t
        self.update()

    def set_sign(self, sign: str) -> None:
        """Show another sign."""
        if sign != self._sign:
            self._sign = sign
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Shape, sign, and a ring when it has the focus."""
        t, painter = self._t, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect())
        if self._primary:  # a circle in whatever room there is
            side = min(box.width(), box.height())
            box = QRectF(0, 0, side, side).translated(box.center())
            box.translate(-side / 2, -side / 2)
        box.adjust(0.5, 0.5, -0.5, -0.5)
        over = self.underMouse() and self.isEnabled()
        if self._primary:
            back = t.accent if self.isEnabled() else t.border
            shade = blend(back, t.text, 0.14) if over or self.isDown() else QColor(back)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(shade)
            painter.drawEllipse(box.adjusted(1.5, 1.5, -1.5, -1.5))
            ink = t.accent_text if self.isEnabled() else t.dim
        else:
            back = t.border if self.isDown() else t.raised
            painter.setPen(QPen(QColor(t.border), 1))
            painter.setBrush(blend(back, t.text, 0.06) if over else QColor(back))
            painter.drawRoundedRect(box, 5, 5)
            ink = t.text if self.isEnabled() else t.faint
        if self.hasFocus():
            painter.setPen(QPen(QColor(t.accent), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            if self._primary:
                painter.setPen(QPen(QColor(t.text), 1.5))
                painter.drawEllipse(box)
            else:
                painter.drawRoundedRect(box, 5, 5)
        painter.translate(box.center() - QPointF(6, 6))
        if self._primary and self._sign == "play":
            painter.translate(0.6, 0)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(ink))
        painter.drawPath(glyph(self._sign))
        painter.end()


def tell(button: QToolButton, tip: str) -> None:
    """Say something else in its tooltip; the same costs nothing, as it does in Qt."""
    if tip != button.toolTip():
        button.setToolTip(tip)


def text_button(text: str, name: str, tip: str, parent: QWidget) -> QToolButton:
    """A button with words."""
    button = QToolButton(parent)
    button.setText(text)
    button.setAccessibleName(name)
    button.setToolTip(tip)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
