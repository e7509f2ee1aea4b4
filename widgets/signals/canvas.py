"""What lies over the plots: their picture, the cursor, the legends, and the mouse.

The picture of the plots is taken anew only when they changed. A cursor move repaints
two narrow strips and the legends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPen, QRegion
from PySide6.QtWidgets import QApplication, QWidget

from isoscope.widgets.look import scaled
from isoscope.widgets.signals.legend import Fonts, draw_legend
from isoscope.widgets.signals.span import Span
from isoscope.widgets.signals.stack import PlotStack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from PySide6.QtCore import QEvent
    from PySide6.QtGui import (
        QMouseEvent,
        QPaintEvent,
        QPixmap,
        QResizeEvent,
        QWheelEvent,
    )

    from isoscope.widgets.theme import Tokens

GRAB_PX = 5  # so near to the cursor a press takes hold of it
ZOOM_A_NOTCH = 0.8
BUTTONS_PX = 46  # right end of a header, kept free for its buttons


class Canvas(QWidget):
    """The plots as they are seen, with cursor and mouse.

    Dragging zooms to a range, a click or a drag of the cursor seeks, the wheel zooms at
    the pointer (with Shift it moves), a double click shows everything.
    """

    row_wanted = Signal(int)
    span_wanted = Signal(object)
    resized = Signal()

    def __init__(self, stamp: Callable[[int], float], parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setMouseTracking(True)
        self.stack = PlotStack(parent, stamp)
        self.stack.lower()
        self.span = Span.whole(1)
        self.painted_row = -1
        self._row, self._caption = 0, ""
        self._tokens: Tokens | None = None
        self._fonts = Fonts.of(self.font())
        self._picture: QPixmap | None = None
        self._labels: list[QRectF] | None = None  # of the row axis
        self._press: QPoint | None = None
        self._held = ""  # "cursor" or "range" while the button is down
        self._drag_to = 0

    # -- what to show --------------------------------------------------------------

    def set_theme(self, t: Tokens) -> None:
        """Take the theme's colours."""
        self._tokens = t
        self._fonts = Fonts.of(self.font())
        self._caption_font = scaled(self.font(), 0.86)
        self.stack.set_theme(t, self.font())
        self.invalidate()

    def set_span(self, span: Span) -> None:
        """Show these rows; the caller loads the data."""
        if span != self.span.grown(span.rows):
            self.stack.order_names()
        self.span = span
        self.invalidate()

    def invalidate(self) -> None:
        """Take the picture of the plots anew at the next painting."""
        self._picture = None
        self._labels = None
        self.update()

    def drawing(self, span: Span) -> Iterator[None]:
        """Take the picture of these rows a plot at a time, then show it.

        What is shown stays meanwhile; the caller has loaded the data.
        """
        t = self._tokens
        if t is None or not self.stack.plots:
            self.set_span(span)
            return
        made = self.stack.blank(t, self.devicePixelRatioF())
        yield from self.stack.drawing(made, t)
        self.span, self._picture, self._labels = span, made, None
        self.update()

    def set_cursor(self, row: int, caption: str) -> None:
        """Move the cursor; `caption` stands at its foot."""
        if row == self._row and caption == self._caption:
            return
        boxes = self._cursor_boxes()
        self._row, self._caption = row, caption
        boxes += self._cursor_boxes()
        boxes += [self.legend_box(index) for index in range(len(self.stack.plots))]
        region = QRegion()
        for box in boxes:
            region += box
        if region.intersects(self.visibleRegion()):
            self.update(region)
        else:
            self.painted_row = row  # nothing of it is seen

    @property
    def painted(self) -> bool:
        """Whether what is on the screen is up to date."""
        return self._picture is not None and self.painted_row == self._row

    @property
    def painted_once(self) -> bool:
        """Whether there is a picture to show until another one is made."""
        return self._picture is not None

    def plot_at(self, y: float) -> int | None:
        """Which plot is at this height, its title included."""
        for index in range(len(self.stack.plots)):
            header, body = self.stack.header(index), self.stack.body(index)
            if header.top() <= y <= body.bottom():
                return index
        return None

    def legend_box(self, index: int) -> QRect:
        """Where a plot's legend is drawn; its buttons are right of it."""
        return self.stack.header(index).adjusted(0, 0, -BUTTONS_PX, 0)

    # -- where things are ----------------------------------------------------------

    def _area(self) -> QRectF:
        """All bodies together."""
        plots = self.stack.plots
        return self.stack.body(0).united(self.stack.body(max(len(plots) - 1, 0)))

    def x_of(self, row: float) -> float:
        """Where a row is, in pixels."""
        area = self._area()
        return area.left() + (row - self.span.low) / self.span.width * area.width()

    def row_at(self, x: float) -> float:
        """Which row is at a pixel; a fraction."""
        area = self._area()
        return self.span.low + (x - area.left()) / area.width() * self.span.width

    def _cursor_boxes(self) -> list[QRect]:
        if not self.span.low <= self._row <= self.span.high:
            return []
        area, x = self._area(), self.x_of(self._row)
        line = QRectF(x - 3, area.top(), 6, area.height() + 6)
        caption = self._caption_box(x)
        hidden = [box.toAlignedRect() for box in self._labels_below(caption)]
        return [line.toAlignedRect(), caption, *hidden]

    def _labels_below(self, caption: QRect) -> list[QRectF]:
        """Labels of the row axis that the caption would cover in part."""
        if self._labels is None:
            self._labels = self.stack.row_labels()
        return [box for box in self._labels if box.intersects(caption.toRectF())]

    def _caption_box(self, x: float) -> QRect:
        metrics = QFontMetrics(self._caption_font)
        lines = self._caption.split("\n")
        width = max(metrics.horizontalAdvance(line) for line in lines) + 12
        left = min(max(x - width / 2, 2), self.width() - width - 2)
        height = len(lines) * metrics.lineSpacing() + 4
        return QRect(round(left), round(self._area().bottom()) + 3, width, height)

    # -- painting ------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Lay the picture down, then draw the cursor and what it says."""
        t = self._tokens
        if t is None:
            return
        if self._picture is None:
            self._picture = self.stack.picture(t, self.devicePixelRatioF())
        painter = QPainter(self)
        region = event.region()
        boxes = cast("Iterable[QRect]", region)  # the stubs don't know that it is one
        self._lay_picture(painter, self._picture, boxes)
        for index, plot in enumerate(self.stack.plots):
            box = self.legend_box(index)
            if region.intersects(box):
                draw_legend(painter, box, plot.spec, self._row, self._fonts, t)
        if self._held == "range" and self._press is not None:
            self._draw_range(painter, t)
        if self.stack.plots and self.span.low <= self._row <= self.span.high:
            self._draw_cursor(painter, t)
        painter.end()
        self.painted_row = self._row

    def _lay_picture(
        self, painter: QPainter, picture: QPixmap, boxes: Iterable[QRect]
    ) -> None:
        ratio = picture.devicePixelRatio()
        for box in boxes:
            source = QRectF(
                box.x() * ratio,
                box.y() * ratio,
                box.width() * ratio,
                box.height() * ratio,
            )
            painter.drawPixmap(QRectF(box), picture, source)

    def _draw_cursor(self, painter: QPainter, t: Tokens) -> None:
        x = self.x_of(self._row)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(t.accent), 1.25))
        for index in range(len(self.stack.plots)):
            body = self.stack.body(index)
            painter.drawLine(QPointF(x, body.top()), QPointF(x, body.bottom()))
        box = self._caption_box(x)
        for label in self._labels_below(box):
            painter.fillRect(label, QColor(t.panel))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(t.accent))
        painter.drawRoundedRect(box, 3, 3)
        painter.setFont(self._caption_font)
        painter.setPen(QColor(t.accent_text))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, self._caption)

    def _draw_range(self, painter: QPainter, t: Tokens) -> None:
        area = self._area()
        a, b = sorted((self._press.x() if self._press else 0, self._drag_to))
        box = QRectF(a, area.top(), b - a, area.height())
        shade = QColor(t.accent)
        shade.setAlpha(40)
        painter.fillRect(box, shade)
        painter.setPen(QColor(t.accent))
        painter.drawLine(box.topLeft(), box.bottomLeft())
        painter.drawLine(box.topRight(), box.bottomRight())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Keep the stack of the same size below."""
        self.stack.setGeometry(self.geometry())
        self.resized.emit()

    def sizeHint(self) -> QSize:  # noqa: N802
        """Room for a few plots."""
        return QSize(400, 260)

    # -- the mouse -----------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Take hold of the cursor, or begin a click or a range."""
        at = event.position().toPoint()
        if event.button() != Qt.MouseButton.LeftButton or not self._in_plots(at):
            event.ignore()
            return
        self._press, self._drag_to = at, at.x()
        near = abs(at.x() - self.x_of(self._row)) <= GRAB_PX
        self._held = "cursor" if near else ""

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Drag what is held; else show what a press would do."""
        at = event.position().toPoint()
        if self._press is None:
            near = abs(at.x() - self.x_of(self._row)) <= GRAB_PX
            shape = Qt.CursorShape
            inside = self._in_plots(at)
            self.setCursor(
                (shape.SizeHorCursor if near else shape.CrossCursor)
                if inside
                else shape.ArrowCursor
            )
            return
        if not self._held:
            far = (at - self._press).manhattanLength()
            if far >= QApplication.startDragDistance():
                self._held = "range"
        if self._held == "cursor":
            self._seek(at.x())
        elif self._held == "range":
            self._drag_to = min(
                max(at.x(), round(self._area().left())), round(self._area().right())
            )
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """End the drag: zoom to the range, or seek if it was a click."""
        press, held = self._press, self._held
        if press is None or event.button() != Qt.MouseButton.LeftButton:
            return
        self._press, self._held = None, ""
        if held == "range":
            self.update()
            wanted = self.span.between(
                self.row_at(press.x()), self.row_at(self._drag_to)
            )
            self.span_wanted.emit(wanted)
        elif not held:
            self._seek(press.x())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Show everything."""
        if self._in_plots(event.position().toPoint()):
            self.span_wanted.emit(Span.whole(self.span.rows))

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        """Zoom at the pointer; move with Shift or a sideways wheel."""
        turn = event.angleDelta()
        if not self._in_plots(event.position().toPoint()):
            event.ignore()
            return
        sideways = turn.x() or (
            turn.y() if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 0
        )
        if sideways:
            self.span_wanted.emit(
                self.span.moved(-sideways / 120 * self.span.width * 0.1)
            )
        elif turn.y():
            factor = ZOOM_A_NOTCH ** (turn.y() / 120)
            at = self.row_at(event.position().x())
            self.span_wanted.emit(self.span.zoomed(factor, at))
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802
        """Show the usual pointer again."""
        self.unsetCursor()

    def _in_plots(self, at: QPoint) -> bool:
        return bool(self.stack.plots) and self._area().adjusted(
            -2, 0, 2, self.stack.foot_px
        ).contains(at.toPointF())

    def _seek(self, x: float) -> None:
        rows = max(self.span.rows, 1)
        self.row_wanted.emit(min(max(round(self.row_at(x)), 0), rows - 1))
