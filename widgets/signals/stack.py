"""The stack of plots that share the row axis: layout, data, and a picture of it all.

It is drawn by pyqtgraph into a picture only when something but the cursor has changed;
the canvas above shows that picture. So moving the cursor costs no curve.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetrics,
    QPainter,
    QPen,
    QPixmap,
    QPolygonF,
)
from PySide6.QtWidgets import QGraphicsScene

from isoscope.widgets.look import scaled
from isoscope.widgets.signals.axes import RowAxis
from isoscope.widgets.signals.names import spread
from isoscope.widgets.signals.notes import NO_NOTES
from isoscope.widgets.signals.plot import Plot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from PySide6.QtWidgets import QWidget

    from isoscope.widgets.signals.resolve import Curve, PlotSpec
    from isoscope.widgets.signals.span import Span
    from isoscope.widgets.theme import Tokens

LEAST_BODY_PX = 40
GAP_PX = 4
EDGE_PX = 8
WIDEST_TAG_PX = 72
TAG_PX = 26  # at least right of the curves, for their names


class PlotStack(pg.GraphicsView):  # type: ignore[misc]  # pyqtgraph is untyped
    """All plots in one scene, placed by hand so that their edges line up.

    Parameters
    ----------
    stamp
        The clock's chosen time at a row, for the row axis.
    """

    def __init__(self, parent: QWidget, stamp: Callable[[int], float]) -> None:
        super().__init__(parent, background=None)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # An axis' extent follows its view's unannounced, so an index of places would
        # still hold an axis that is gone, and draw it.
        self.scene().setItemIndexMethod(QGraphicsScene.ItemIndexMethod.NoIndex)
        self._stamp = stamp
        self.plots: list[Plot] = []
        self.notes = NO_NOTES
        self.goes_on = False  # whether the curves grow: their names stay in order then
        self.row_axis = RowAxis(stamp)
        self.addItem(self.row_axis)
        self._font = QFont()
        self.header_px = 20
        self._ratio = 1.0  # device pixels a pixel
        self._axis_px = 40.0
        self._tag_px = float(TAG_PX)

    @property
    def foot_px(self) -> int:
        """Height of the row axis, with one or two lines of labels."""
        lines = 1 if self.row_axis.stamp is None else 2
        return 8 + lines * QFontMetrics(self._font).lineSpacing()

    def show_times(self, shown: bool) -> None:
        """Show the clock's time below the row numbers, or not."""
        self.row_axis.stamp = self._stamp if shown else None

    def set_specs(self, specs: list[PlotSpec]) -> None:
        """Show these plots; those that were there already are kept."""
        old = {plot.spec: plot for plot in self.plots}
        for spec in old.keys() - set(specs):
            old.pop(spec).remove(self.scene())
        self.plots = [
            old[spec] if spec in old else Plot(self.scene(), spec) for spec in specs
        ]

    def set_theme(self, t: Tokens, base: QFont) -> None:
        """Take colours and fonts."""
        self._font = scaled(base, 0.86)
        self.header_px = QFontMetrics(base).height() + 5
        self.row_axis.setTickFont(self._font)
        for part in (self.row_axis.setPen, self.row_axis.setTickPen):
            part(pg.mkPen(t.border))
        self.row_axis.setTextPen(pg.mkPen(t.dim))
        for plot in self.plots:
            plot.set_theme(t, self._font, self._ratio)

    def least_height(self) -> int:
        """Below this the stack has to be scrolled."""
        each = self.header_px + LEAST_BODY_PX + GAP_PX
        return len(self.plots) * each + self.foot_px + EDGE_PX

    def body(self, index: int) -> QRectF:
        """Where the curves of a plot are, in pixels of the stack."""
        count = max(len(self.plots), 1)
        room = self.height() - self.foot_px - EDGE_PX
        each = room / count
        left = EDGE_PX + self._axis_px
        return QRectF(
            left,
            round(index * each + self.header_px),
            max(self.width() - left - self._tag_px, 1.0),
            max(
                round((index + 1) * each)
                - round(index * each)
                - self.header_px
                - GAP_PX,
                1.0,
            ),
        )

    def header(self, index: int) -> QRect:
        """Where a plot's title and legend are."""
        body = self.body(index)
        top = int(body.top()) - self.header_px
        return QRect(EDGE_PX, top, self.width() - 2 * EDGE_PX, self.header_px)

    def prepare(self, span: Span, until_s: float) -> bool:
        """Make ready what `load` needs; False if that time came before the end."""
        return all(
            plot.prepare(span.first, span.stop, self.body(index).width(), until_s)
            for index, plot in enumerate(self.plots)
        )

    def load(self, span: Span) -> None:
        """Fetch what is in view and lay everything out."""
        for _ in self.loading(span):
            pass

    def loading(self, span: Span) -> Iterator[None]:
        """The same a plot at a time: between them others may have a turn."""
        metrics = QFontMetrics(self._font)
        tags = [
            metrics.horizontalAdvance(curve.name) + 9
            for plot in self.plots
            if len(plot.spec.curves) > 1
            for curve in plot.spec.curves
        ]
        self._tag_px = float(min(max([TAG_PX, *tags]), WIDEST_TAG_PX))
        for index, plot in enumerate(self.plots):
            plot.load(
                span.first, span.stop, span.low, span.high, self.body(index).width()
            )
            yield
        needed = [
            plot.needed_axis_px(metrics, self.body(index).height())
            for index, plot in enumerate(self.plots)
        ]
        self._axis_px = float(max([30, *needed]) + 8)
        for index, plot in enumerate(self.plots):
            plot.place(self._axis_px, self.body(index))
        last = self.body(max(len(self.plots) - 1, 0))
        self.row_axis.setHeight(self.foot_px)
        self.row_axis.setGeometry(
            QRectF(last.left(), last.bottom(), last.width(), self.foot_px)
        )
        self.row_axis.setRange(span.low, span.high)

    def row_labels(self) -> list[QRectF]:
        """Where the labels of the row axis are."""
        box = self.row_axis.geometry()
        low, high = self.row_axis.range
        metrics = QFontMetrics(self._font)
        made = []
        for spacing, values in self.row_axis.tickValues(low, high, box.width()):
            texts = self.row_axis.tickStrings(values, 1.0, spacing)
            for value, text in zip(values, texts, strict=True):
                x = box.left() + (value - low) / (high - low) * box.width()
                width = max(map(metrics.horizontalAdvance, text.split("\n"))) + 4
                made.append(
                    QRectF(x - width / 2, box.top() + 2, width, box.height() - 2)
                )
        return made

    @property
    def bin_rows(self) -> int:
        """The coarsest decimation of any plot; 1 if every row is drawn."""
        return max((plot.bin_rows for plot in self.plots), default=1)

    def picture(self, t: Tokens, ratio: float) -> QPixmap:
        """Everything but the cursor and the legends, at this device pixel ratio."""
        made = self.blank(t, ratio)
        for _ in self.drawing(made, t):
            pass
        return made

    def blank(self, t: Tokens, ratio: float) -> QPixmap:
        """What `drawing` draws upon."""
        if ratio != self._ratio:
            self._ratio = ratio
            for plot in self.plots:
                plot.set_theme(t, self._font, ratio)
        size = self.size()
        made = QPixmap(size * ratio)
        made.setDevicePixelRatio(ratio)
        made.fill(QColor(t.panel))
        return made

    def drawing(self, made: QPixmap, t: Tokens) -> Iterator[None]:
        """Draw `picture` a plot at a time: between them others may have a turn."""
        for index, plot in enumerate(self.plots):
            body = self.body(index)
            with QPainter(made) as painter:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                band = self._band(index)
                self.render(painter, QRectF(band), band)
            yield
            with QPainter(made) as painter:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setFont(self._font)
                self._draw_notes(painter, index, t)
                self._draw_unit(painter, plot, body, t)
                self._draw_names(painter, plot, body, t)
            yield

    def _band(self, index: int) -> QRect:
        """The part of the picture that a plot has, over the full width."""
        count = len(self.plots)
        top = 0 if index == 0 else self._band(index - 1).bottom() + 1
        below = self.height()
        if index + 1 < count:  # a value's label may reach a little into the titles
            below = self.header(index + 1).top() + self.header_px // 2
        return QRect(0, top, self.width(), below - top)

    def _draw_notes(self, painter: QPainter, index: int, t: Tokens) -> None:
        """Shade what is not to be trusted, and mark where something is."""
        low, high = self.row_axis.range
        inks = {"error": t.error, "warning": t.warning, "note": t.dim}
        body = self.body(index)
        each = body.width() / max(high - low, 1e-9)
        painter.save()
        painter.setClipRect(body)
        shade = QColor(t.error)
        shade.setAlpha(26)
        hatch = QColor(t.error)
        hatch.setAlpha(70)
        hatched = QBrush(hatch, Qt.BrushStyle.BDiagPattern)  # as on the timeline
        for first, last in self.notes.spans:
            left = body.left() + (first - 0.5 - low) * each
            width = max((last - first + 1) * each, 1.0)
            area = QRectF(left, body.top(), width, body.height())
            painter.fillRect(area, shade)
            painter.fillRect(area, hatched)
        for row, tone, _ in self.notes.lines:
            x = round(body.left() + (row - low) * each) + 0.5
            ink = QColor(inks[tone])
            ink.setAlpha(170)
            pen = QPen(ink, 1, Qt.PenStyle.DotLine)
            painter.setPen(pen)
            painter.drawLine(QPointF(x, body.top()), QPointF(x, body.bottom()))
            if index == 0:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(inks[tone]))
                painter.drawPolygon(_mark(tone, x, body.top() + 1))
        painter.restore()

    def _draw_unit(
        self, painter: QPainter, plot: Plot, body: QRectF, t: Tokens
    ) -> None:
        """The unit and what else there is to say, at the value axis' upper end."""
        text = "  ".join(part for part in (plot.spec.unit, plot.spec.note) if part)
        if not text:
            return
        flags = Qt.AlignmentFlag.AlignLeft
        box = painter.boundingRect(body.adjusted(6, 3, -4, 0), flags, text)
        backdrop = QColor(t.raised)  # so that it can be read upon a curve
        backdrop.setAlpha(190)
        painter.fillRect(box.adjusted(-3, 0, 3, 0), backdrop)
        painter.setPen(QColor(t.dim))
        painter.drawText(box, flags, text)

    def _draw_names(
        self, painter: QPainter, plot: Plot, body: QRectF, t: Tokens
    ) -> None:
        """Each curve's name at its right end, moved apart where they would overlap."""
        for y, curve in self.names(plot, body):
            painter.setPen(QColor(curve.colour_in(t)))
            painter.drawText(QPointF(body.right() + 5, y), curve.name)

    def names(self, plot: Plot, body: QRectF) -> list[tuple[float, Curve]]:
        """Where each curve's name stands, the line below it, from the top.

        None where there is one curve, or more than there is room for.
        """
        ends: dict[int, float] = {}  # height by curve
        for at, line in enumerate(plot.lines):
            if len(line.values):
                share = (plot.high - line.values[-1]) / (plot.high - plot.low)
                ends[at] = body.top() + min(max(share, 0.0), 1.0) * body.height()
        each = QFontMetrics(self._font).height() * 0.82
        if not 2 <= len(ends) <= body.height() / each + 1:
            return []
        if not self.goes_on:
            plot.names.forget()
        order = plot.names.order(ends, each / 2, time.monotonic())
        wanted = [ends[at] for at in order]
        heights = spread(wanted, each, body.top(), body.bottom())
        curves = plot.spec.curves
        return [
            (y + each * 0.35, curves[at]) for at, y in zip(order, heights, strict=True)
        ]

    def order_names(self) -> None:
        """Put the names into the order of the curves' ends, though these grow."""
        for plot in self.plots:
            plot.names.forget()


def _mark(tone: str, x: float, top: float) -> QPolygonF:
    """A triangle for an error, a diamond for everything else."""
    if tone == "error":
        corners = [(0, 0), (5, 8), (-5, 8)]
    else:
        corners = [(0, 0), (4, 4), (0, 8), (-4, 4)]
    return QPolygonF([QPointF(x + dx, top + dy) for dx, dy in corners])
