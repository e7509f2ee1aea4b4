"""How far apart one field is over the native steps, with its tolerance as a band."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from isoscope.widgets.look import scaled
from isoscope.widgets.replay.scale import Scale, scale_of, worst_per_pixel
from isoscope.widgets.replay.tail import paint_tail, step_at
from isoscope.widgets.theme import DARK, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QMouseEvent, QPaintEvent, QWheelEvent

    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.states import Trace

MARGIN = 8.0
FOOT_PX = 19.0
DOTS_FROM_PX = 6.0
ZOOM_A_NOTCH = 0.8
LEAST_ROWS = 8.0
NO_STEPS = np.zeros(0)
BAND = "tolerance"
BREAK = 6.0  # this many usual gaps between two steps are a gap in the line


class DifferencePlot(QWidget):
    """One line an environment; click or drag to seek, wheel to zoom.

    Tells `row_wanted`, and `past_wanted` of steps past the recorded end, from 1.
    """

    row_wanted = Signal(int)
    past_wanted = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("replay-plot")
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setMinimumHeight(96)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._t: Tokens = DARK
        self._traces: list[Trace] = []
        self._scale = Scale(0.0, 1.0, False)
        self._log: bool | None = None  # None goes by what there is to see
        self._cursor = self._beyond = 0
        self._away: Array = NO_STEPS
        self._marked: int | None = None
        self._span = (0.0, 1.0)
        self._hover: float | None = None

    def sizeHint(self) -> QSize:  # noqa: N802
        """Room for a few decades."""
        return QSize(240, 170)

    # -- what is shown -----------------------------------------------------------------

    @property
    def log(self) -> bool:
        """Whether it goes by decades."""
        return self._scale.log

    @property
    def span(self) -> tuple[float, float]:
        """First and last native step in view."""
        return self._span

    def show_traces(
        self, traces: Sequence[Trace], marked: int | None, away: Array | None = None
    ) -> None:
        """Show these environments' traces of a field, and mark a native step.

        `away` is of the steps past the recorded end: how far each has gone from the
        last recorded value, float64 [n].
        """
        old = self._whole()
        self._away = NO_STEPS if away is None else away
        self._traces, self._marked = list(traces), marked
        if self._whole() != old or not self._traces:
            self.fit()
        self._rescale()
        self.setAccessibleName(self._said())

    def set_log(self, log: bool | None) -> None:
        """Go by decades or not; None by what there is to see."""
        self._log = log
        self._rescale()

    def set_cursor(self, row: int, beyond: int = 0) -> None:
        """Move the cursor; `beyond` is how many steps past the recorded end it is."""
        if (row, beyond) != (self._cursor, self._beyond):
            self._cursor, self._beyond = row, beyond
            self.update()

    def set_look(self, t: Tokens) -> None:
        """Take a theme's colours."""
        self._t = t
        self.update()

    def fit(self) -> None:
        """Show all native steps that were compared."""
        low, high = self._whole()
        high += len(self._away)
        room = max((high - low) * 0.02, 0.5)
        self._span = (low - room, high + room)
        self.update()

    def value_at(self, row: int, env: int) -> float | None:
        """How far apart an environment is in a native step; None where not compared."""
        for trace in self._traces:
            at = int(np.searchsorted(trace.rows, row))
            if trace.env == env and at < len(trace.rows) and trace.rows[at] == row:
                return float(trace.size[at])
        return None

    def _said(self) -> str:
        if not self._traces:
            return "No difference is plotted"
        first = self._traces[0]
        envs = ", ".join(f"env {t.env}" for t in self._traces)
        return f"Differences of {first.full_name} of {envs}"

    def _whole(self) -> tuple[float, float]:
        rows = [t.rows for t in self._traces if len(t.rows)]
        if not rows:
            return (0.0, 1.0)
        return float(min(r[0] for r in rows)), float(max(r[-1] for r in rows))

    def _rescale(self) -> None:
        empty = [np.zeros(0)]
        sizes = np.concatenate([t.size for t in self._traces] or empty)
        sizes = np.concatenate([sizes, self._away])
        limits = np.concatenate([t.limit for t in self._traces] or empty)
        self._scale = scale_of(sizes, limits, self._log)
        self.update()

    # -- where things are --------------------------------------------------------------

    def _axis_px(self) -> float:
        metrics = QFontMetricsF(scaled(self.font(), 0.86))
        texts = [f"{tick:.3g}" for tick in self._scale.ticks()]
        return max((metrics.horizontalAdvance(t) for t in texts), default=20.0) + 10

    def _body(self) -> QRectF:
        left = MARGIN + self._axis_px()
        return QRectF(
            left, 4, self.width() - left - MARGIN - 2, self.height() - 4 - FOOT_PX
        )

    def x_of(self, row: float) -> float:
        """Where a native step is, in pixels."""
        body, (low, high) = self._body(), self._span
        return body.left() + (row - low) / (high - low) * body.width()

    def row_at(self, x: float) -> float:
        """The native step at a pixel; a fraction."""
        body, (low, high) = self._body(), self._span
        return low + (x - body.left()) / max(body.width(), 1.0) * (high - low)

    def _y(self, sizes: Array) -> Array:
        body = self._body()
        found: Array = body.bottom() - self._scale.heights(sizes) * body.height()
        return found

    # -- painting ----------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Paint the band, the lines, the mark, and the cursor above all."""
        t, body = self._t, self._body()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(body, QColor(t.raised))
        if not self._traces:
            painter.setPen(QColor(t.dim))
            painter.drawText(body, Qt.AlignmentFlag.AlignCenter, "nothing compared")
            painter.end()
            return
        self._paint_axis(painter, body)
        painter.save()
        painter.setClipRect(body)
        self._paint_band(painter, body)
        if len(self._away):
            colour = QColor(self._t.environment(self._traces[0].env))
            places = (self._whole()[1], self._away, self.x_of, self._y)
            paint_tail(painter, body, *places, t, colour, self.font())
        for trace in self._traces:
            self._paint_trace(painter, trace, body)
        painter.restore()
        self._paint_mark(painter, body)
        self._paint_cursor(painter, body)
        painter.end()

    def _paint_axis(self, painter: QPainter, body: QRectF) -> None:
        t, small = self._t, scaled(self.font(), 0.86)
        painter.setFont(small)
        metrics = QFontMetricsF(small)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        ticks = np.array(self._scale.ticks())
        last = body.bottom() + 99
        for tick, y in zip(ticks.tolist(), self._y(ticks).tolist(), strict=True):
            painter.setPen(QPen(QColor(t.border), 1))
            painter.drawLine(QPointF(body.left(), y), QPointF(body.right(), y))
            if last - y < metrics.height() * 0.9:
                continue
            last = y
            painter.setPen(QColor(t.dim))
            box = QRectF(0, y - 8, body.left() - 5, 16)
            painter.drawText(box, right, f"{tick:.3g}")
        first = self._traces[0]
        head = f" [{first.unit}]" if first.unit else ""
        kind = "log" if self._scale.log else "linear"
        painter.setPen(QColor(t.dim))
        painter.drawText(
            body.adjusted(6, 3, -6, 0),
            Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft,
            f"difference{head} · {kind}",
        )
        foot = QRectF(body.left(), body.bottom() + 3, body.width(), FOOT_PX - 3)
        low, high = self.row_at(body.left()), self.row_at(body.right())
        last = self._whole()[1]
        past = round(high - last) if len(self._away) else 0
        ends = (max(round(low), 0), round(min(high, last) if past > 0 else high))
        for row, how in zip(
            ends, (Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight), strict=True
        ):
            more = f" + {min(past, len(self._away)):,}" if past > 0 else ""
            last_one = how is Qt.AlignmentFlag.AlignRight
            painter.drawText(foot, how, f"{row:,}{more if last_one else ''}")

    def _paint_band(self, painter: QPainter, body: QRectF) -> None:
        """What is within the tolerance: the lowest of the environments' limits."""
        rows = np.concatenate([t.rows for t in self._traces])
        limits = np.concatenate([t.limit for t in self._traces])
        if not len(rows):
            return
        order = np.argsort(rows, kind="stable")
        each = (self._span[1] - self._span[0]) / max(body.width(), 1.0)
        # The smallest of each pixel is the largest of the negatives.
        rows, low = worst_per_pixel(rows[order], -limits[order], self._span[0], each)
        low = np.where(-low > 0, -low, 0.0)
        ys = self._y(low).tolist()
        xs = [self.x_of(row) for row in rows.tolist()]
        xs, ys = [body.left(), *xs, body.right()], [ys[0], *ys, ys[-1]]
        line = [QPointF(x, y) for x, y in zip(xs, ys, strict=True)]
        area = QPolygonF(
            [*line, QPointF(xs[-1], body.bottom()), QPointF(xs[0], body.bottom())]
        )
        fill = QColor(self._t.ok)
        fill.setAlphaF(0.13)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(fill)
        painter.drawPolygon(area)
        painter.setPen(QPen(QColor(self._t.ok), 1.0, Qt.PenStyle.DashLine))
        painter.drawPolyline(QPolygonF(line))
        painter.setFont(scaled(self.font(), 0.82))
        painter.drawText(
            _clear_of(xs, ys, body, QFontMetricsF(painter.font())),
            Qt.AlignmentFlag.AlignRight,
            BAND,
        )

    def _paint_trace(self, painter: QPainter, trace: Trace, body: QRectF) -> None:
        if not len(trace.rows):
            return
        colour = QColor(self._t.environment(trace.env))
        each = (self._span[1] - self._span[0]) / max(body.width(), 1.0)
        rows, size = worst_per_pixel(trace.rows, trace.size, self._span[0], each)
        ys = self._y(size).tolist()
        points = [
            QPointF(self.x_of(row), y) for row, y in zip(rows.tolist(), ys, strict=True)
        ]
        gaps = np.diff(rows)
        # In turn with others, two substeps come together and the next two much later.
        usual = float(np.quantile(gaps, 0.9)) if len(gaps) else 1.0
        cuts = np.flatnonzero(gaps > BREAK * max(usual, 1.0)) + 1
        painter.setPen(QPen(colour, 1.6))
        for part in np.split(np.arange(len(points)), cuts):
            line = [points[i] for i in part.tolist()]
            if len(line) > 1:
                painter.drawPolyline(QPolygonF(line))
            else:
                painter.drawPoint(line[0])
        if len(rows) and body.width() / len(rows) >= DOTS_FROM_PX:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour)
            for point in points:
                painter.drawEllipse(point, 2.2, 2.2)

    def _paint_mark(self, painter: QPainter, body: QRectF) -> None:
        if self._marked is None or not self._span[0] <= self._marked <= self._span[1]:
            return
        x, colour = self.x_of(self._marked), QColor(self._t.error)
        painter.setPen(QPen(colour, 1.2, Qt.PenStyle.DashDotLine))
        painter.drawLine(QPointF(x, body.top()), QPointF(x, body.bottom()))
        painter.setFont(scaled(self.font(), 0.86))
        wide = QFontMetricsF(painter.font()).horizontalAdvance("departs") + 8
        left = x + 4 if x + 4 + wide < body.right() else x - 4 - wide
        painter.setPen(colour)
        top = body.top() + QFontMetricsF(painter.font()).height() + 4
        place = QRectF(left, top, wide, 16)
        painter.drawText(place, Qt.AlignmentFlag.AlignLeft, "departs")

    def _paint_cursor(self, painter: QPainter, body: QRectF) -> None:
        at, last = float(self._cursor), self._whole()[1]
        if self._beyond:
            at = last + self._beyond
        elif len(self._away) and at > last:
            return  # another's step, and not one past the end
        if not self._span[0] <= at <= self._span[1]:
            return
        t, x = self._t, self.x_of(at)
        painter.setPen(QPen(QColor(t.accent), 1.25))
        painter.drawLine(QPointF(x, body.top()), QPointF(x, body.bottom() + 3))
        font = scaled(self.font(), 0.86)
        text = f"{self._cursor:,}"
        if self._beyond:
            text = f"{self._beyond:,} past the end"
            if self._beyond <= len(self._away):
                text += f" · {self._away[self._beyond - 1]:.4g}"
        values = (
            []
            if self._beyond
            else [
                (trace.env, value)
                for trace in self._traces
                if (value := self.value_at(self._cursor, trace.env)) is not None
            ]
        )
        if values:
            text += "".join(f" · env {env}: {value:.4g}" for env, value in values)
        wide = QFontMetricsF(font).horizontalAdvance(text) + 12
        left = min(max(x - wide / 2, 2.0), self.width() - wide - 2)
        box = QRectF(left, body.bottom() + 3, wide, FOOT_PX - 3)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(t.accent))
        painter.drawRoundedRect(box, 3, 3)
        painter.setPen(QColor(t.accent_text))
        painter.setFont(font)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    # -- mouse -------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Seek."""
        if event.button() is Qt.MouseButton.LeftButton and self._traces:
            self._seek(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Go on seeking while the button is down."""
        if event.buttons() & Qt.MouseButton.LeftButton and self._traces:
            self._seek(event.position().x())

    def mouseDoubleClickEvent(self, _event: QMouseEvent) -> None:  # noqa: N802
        """Show everything."""
        self.fit()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        """Zoom at the pointer; with Shift move along."""
        delta = event.angleDelta()
        notches = (delta.y() or delta.x()) / 120.0
        low, high = self._span
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            way = -notches * 0.1 * (high - low)
            self._span = (low + way, high + way)
        else:
            first, last = self._whole()
            last += len(self._away)
            most = max(1.06 * (last - first), LEAST_ROWS)
            wide = min(max((high - low) * ZOOM_A_NOTCH**notches, LEAST_ROWS), most)
            at = self.row_at(event.position().x())
            part = (at - low) / (high - low)
            self._span = (at - part * wide, at + (1 - part) * wide)
        event.accept()
        self.update()

    def _seek(self, x: float) -> None:
        """Go to the compared native step that is nearest."""
        rows = np.concatenate([t.rows for t in self._traces])
        wanted = self.row_at(x)
        past = step_at(wanted, self._whole()[1], len(self._away))
        if past:
            self.past_wanted.emit(past)
        elif len(rows):
            self.row_wanted.emit(int(rows[int(np.abs(rows - wanted).argmin())]))


def _clear_of(
    xs: Sequence[float], ys: Sequence[float], body: QRectF, font: QFontMetricsF
) -> QRectF:
    """Where the band's name stands at the right: below its edge there, or above it.

    Parameters
    ----------
    xs, ys
        The edge, from left to right.
    """
    wide = font.horizontalAdvance(BAND) + 12
    left, right = body.right() - wide, body.right()
    # Between two points the edge runs straight: those beside the name count, too.
    near = [
        k
        for k in range(len(xs))
        if xs[min(k + 1, len(xs) - 1)] >= left and xs[max(k - 1, 0)] <= right
    ]
    low, high = max(ys[k] for k in near), min(ys[k] for k in near)
    inside = QRectF(left, low + 2, wide - 5, font.height())
    if inside.bottom() > body.bottom():
        inside.moveBottom(high - 2)
    return inside
