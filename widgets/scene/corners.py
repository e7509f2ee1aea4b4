"""What is written over the picture: caption, legend, axes, labels of ghosts.

Painted by Qt, so that text is sharp at any scale and is in every screenshot. None of
them takes the mouse, but for the axes.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QPixmap, QPolygonF
from PySide6.QtWidgets import QLabel, QWidget

from isoscope.widgets.scene.palette import mixed
from isoscope.widgets.theme import DARK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QMouseEvent, QPaintEvent

    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.camera import Camera
    from isoscope.widgets.scene.caption import Caption
    from isoscope.widgets.theme import Tokens


LEAN_PX = 4  # between a place and a label beside it
EDGE_PX = 4  # between a label and a side of the picture


class CaptionLabel(QLabel):
    """Where the cursor is, and what isn't as it looks."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setObjectName("scene-caption")
        self._html = ""

    def show_caption(self, caption: Caption, tokens: Tokens) -> None:
        """Write it."""
        lines = [f'<span style="color:{tokens.text}">{escape(caption.title)}</span>']
        if caption.details:
            lines.append(_small(caption.details, tokens.dim))
        for note in caption.notes:
            plain = note.startswith(("overlay", "selected", "shown"))
            colour = tokens.dim if plain else tokens.warning
            lines.append(_small(note if plain else f"▲ {note}", colour))
        html = "<br>".join(lines) if caption.title else ""
        if html != self._html:
            self._html = html
            self.setText(html)
            self.adjustSize()

    def text_lines(self) -> str:
        """What is written, without markup."""
        return self._html


def _small(text: str, colour: str) -> str:
    return f'<span style="color:{colour};font-size:small">{escape(text)}</span>'


class Legend(QWidget):
    """How large things are: the grid's spacing, and the arrow of a force."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._grid = ""
        self._force = ""
        self._arrow_px = 0.0
        self._tokens = DARK

    def show_scales(
        self, grid: str, force: str, arrow_px: float, tokens: Tokens
    ) -> None:
        """Write them; without `force` there is no arrow."""
        new = (grid, force, round(arrow_px, 1), tokens)
        if new != (self._grid, self._force, self._arrow_px, self._tokens):
            self._grid, self._force, self._arrow_px, self._tokens = new
            self.resize(self.sizeHint())
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        """As wide as what is written."""
        metrics = self.fontMetrics()
        wide = metrics.horizontalAdvance(self._grid) + 24
        if self._force:
            wide += int(self._arrow_px) + metrics.horizontalAdvance(self._force) + 24
        return QSize(wide, metrics.height() + 8)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint it."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(self._tokens.dim))
        metrics = self.fontMetrics()
        middle = self.height() / 2
        base = middle + (metrics.ascent() - metrics.descent()) / 2
        painter.drawText(QPointF(0, base), self._grid)
        if self._force:
            x = metrics.horizontalAdvance(self._grid) + 20.0
            tip = x + self._arrow_px
            colour = QColor(self._tokens.contact)
            head = min(9.0, 0.5 * self._arrow_px)
            painter.setPen(QPen(colour, 2.4))
            painter.drawLine(QPointF(x, middle), QPointF(tip - head, middle))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour)
            painter.drawPolygon(
                QPolygonF(
                    [
                        QPointF(tip, middle),
                        QPointF(tip - head, middle - 4.5),
                        QPointF(tip - head, middle + 4.5),
                    ]
                )
            )
            painter.setPen(QColor(self._tokens.dim))
            painter.drawText(QPointF(tip + 8, base), self._force)


class AxisGizmo(QWidget):
    """Which way the axes point; a click looks along one."""

    picked = Signal(int, int)  # axis, sign

    SIZE = 76
    _ARM = 24.0
    _DOT = 7.5

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.resize(self.SIZE, self.SIZE)
        self.setToolTip("World axes. Click one to look along it.")
        self._camera: Camera | None = None
        self._tokens = DARK
        self._picture = QPixmap()  # of itself: it is painted with each frame below it

    def show_camera(self, camera: Camera, tokens: Tokens) -> None:
        """Turn with the camera."""
        before, self._camera = self._camera, camera
        turned = before is None or before.direction != camera.direction
        if turned or tokens is not self._tokens:
            self._tokens = tokens
            self._picture = QPixmap()
            self.update()

    def tips(self) -> list[tuple[float, int, int, QPointF]]:
        """Depth, axis, sign and place of each end, the farthest first."""
        if self._camera is None:
            return []
        right, upward, forward = self._camera.axes
        ends = []
        for axis in range(3):
            for sign in (1, -1):
                x, y = sign * right[axis], sign * upward[axis]
                place = QPointF(
                    self.SIZE / 2 + self._ARM * x, self.SIZE / 2 - self._ARM * y
                )
                ends.append((float(sign * forward[axis]), axis, sign, place))
        return sorted(ends, key=lambda end: -end[0])

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint it."""
        scale = self.devicePixelRatioF()
        if self._picture.isNull() or self._picture.devicePixelRatioF() != scale:
            self._picture = QPixmap(self.size() * scale)
            self._picture.setDevicePixelRatio(scale)
            self._picture.fill(Qt.GlobalColor.transparent)
            self._paint(QPainter(self._picture))
        QPainter(self).drawPixmap(0, 0, self._picture)

    def _paint(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = QFont(self.font())
        font.setPixelSize(10)
        font.setBold(True)
        painter.setFont(font)
        tokens = self._tokens
        colours = axis_colours(tokens)
        centre = QPointF(self.SIZE / 2, self.SIZE / 2)
        for depth, axis, sign, place in self.tips():
            shade = mixed(colours[axis], tokens.scene_bottom, 0.22 * (1 + depth))
            if sign < 0:
                painter.setPen(QPen(QColor(shade), 1.2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawEllipse(place, 3.0, 3.0)
                continue
            painter.setPen(QPen(QColor(shade), 2.0))
            painter.drawLine(centre, place)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(shade))
            painter.drawEllipse(place, self._DOT, self._DOT)
            painter.setPen(QColor(tokens.scene_bottom))
            box = QRectF(place.x() - 8, place.y() - 8, 16, 16)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, "XYZ"[axis])

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Look along the end under the pointer."""
        for _, axis, sign, place in reversed(self.tips()):
            away = event.position() - place
            if np.hypot(away.x(), away.y()) <= self._DOT + 1:
                self.picked.emit(axis, sign)
                return


def axis_colours(tokens: Tokens) -> tuple[str, str, str]:
    """X, Y, Z: red, green and blue of this theme's palette, as is usual."""
    return tokens.environments[4], tokens.environments[2], tokens.environments[0]


def leans(clip: Array, places: Sequence[Array]) -> list[int]:
    """Which way each of these places' [3] labels stands, so that they don't overlap.

    Of two or three that are seen beside each other, away from their middle.
    """
    if not 2 <= len(places) <= 3:
        return [0] * len(places)
    seen = [clip @ np.append(place, 1.0) for place in places]
    x = [float(s[0] / s[3]) if s[3] > 0 else 0.0 for s in seen]
    order = sorted(range(len(places)), key=x.__getitem__)
    lean = [0] * len(places)
    lean[order[0]], lean[order[-1]] = -1, 1
    return lean


class WorldLabel(QLabel):
    """A label that stays beside a place in the world."""

    def __init__(self, parent: QWidget, text: str, colour: str, tokens: Tokens) -> None:
        super().__init__(text, parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setStyleSheet(
            f"color:{colour};background:{_glass(tokens)};"
            "border-radius:4px;padding:1px 6px;"
        )
        self.adjustSize()

    def follow(
        self,
        clip: Array,
        place: Array,
        size: QSize,
        taken: list[QRect],
        lean: int = 0,
    ) -> None:
        """Move to where the place [3] is seen, above the labels that are there.

        Hidden where the place is behind the eye or outside of the picture. With a
        `lean` of -1 or 1 it stands to the left or to the right of the place.
        """
        x, y, _, w = clip @ np.append(place, 1.0)
        at = QRect(QPoint(0, 0), self.size())
        if w > 0:
            at.moveLeft(round((0.5 + 0.5 * x / w) * size.width()) - at.width() // 2)
            at.translate(lean * (at.width() // 2 + LEAN_PX), 0)
            at.moveTop(round((0.5 - 0.5 * y / w) * size.height()) - at.height() - 6)
        inside = abs(x) <= w and abs(y) <= w
        seen = w > 0 and (inside or at.intersects(QRect(QPoint(0, 0), size)))
        if seen:
            # Whole, where the place is near a side.
            most = max(size.width() - at.width() - EDGE_PX, EDGE_PX)
            at.moveLeft(min(max(at.left(), EDGE_PX), most))
            at = _clear(at, taken)
            taken.append(at)
            self.move(at.topLeft())
        self.setVisible(bool(seen))


def _clear(at: QRect, taken: list[QRect]) -> QRect:
    """The nearest place above, or else below, that nothing else takes."""
    for way in (-1, 1):
        moved = QRect(at)
        while any(moved.intersects(other) for other in taken):
            moved.translate(0, way * (at.height() + 2) // (1 if way < 0 else 4))
        if moved.top() >= 0:
            return moved
    return at


def _glass(tokens: Tokens) -> str:
    colour = QColor(tokens.scene_bottom)
    return f"rgba({colour.red()},{colour.green()},{colour.blue()},170)"
