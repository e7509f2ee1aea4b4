"""One plot: curves with their value axis, placed by hand in the stack's scene."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRectF

from isoscope.core.decimate import Polyline
from isoscope.widgets.look import blend
from isoscope.widgets.signals.axes import ValueAxis
from isoscope.widgets.signals.names import NameOrder

if TYPE_CHECKING:
    from PySide6.QtGui import QFont, QFontMetrics

    from isoscope.widgets.signals.resolve import PlotSpec
    from isoscope.widgets.theme import Tokens

SMOOTH_POINTS = 1500  # a curve of more is not smoothed if its line is thick
DOT_PX = 4.0
DOTS_FROM_PX = 9.0  # each row gets a dot when rows are at least so far apart
NO_LINE = Polyline(
    np.empty(0, np.int64), np.empty(0), np.empty(0, np.bool_), bin_rows=1
)
FAINT = 0.5  # how far a line over others' turns goes towards the background
MARGIN = 0.08  # of the value range, above and below the curves


class Plot:
    """The drawing of one `PlotSpec`.

    Parameters
    ----------
    scene
        That the items are put into.
    spec
        What to draw.
    """

    def __init__(self, scene: pg.GraphicsScene, spec: PlotSpec) -> None:
        self.spec = spec
        self.lines: list[Polyline] = [NO_LINE] * len(spec.curves)
        self.low, self.high = -1.0, 1.0
        self.names = NameOrder()
        self._line_px = 1
        self.view = pg.ViewBox(enableMenu=False, defaultPadding=0)
        self.view.setMouseEnabled(False, False)
        self.view.disableAutoRange()
        self.axis = ValueAxis(spec.whole)
        self.axis.linkToView(self.view)
        scene.addItem(self.view)
        scene.addItem(self.axis)
        self._curves, self._dots, self._waits = [], [], []
        for _ in spec.curves:
            curve, wait = _curve_item(), _curve_item()
            self.view.addItem(wait, ignoreBounds=True)
            self._waits.append(wait)
            dots = pg.ScatterPlotItem(size=DOT_PX, antialias=True, pxMode=True)
            self.view.addItem(curve, ignoreBounds=True)
            self.view.addItem(dots, ignoreBounds=True)
            wait.hide()
            dots.hide()
            self._curves.append(curve)
            self._dots.append(dots)

    def remove(self, scene: pg.GraphicsScene) -> None:
        """Take the items out of the scene."""
        self.axis.unlinkFromView()
        scene.removeItem(self.view)
        scene.removeItem(self.axis)

    def set_theme(self, t: Tokens, font: QFont, ratio: float) -> None:
        """Take colours and font; lines are `ratio` device pixels a pixel wide."""
        self._line_px = max(round(ratio), 1)
        self.view.setBackgroundColor(t.raised)
        self.axis.setTickFont(font)
        self.axis.setPen(pg.mkPen(t.raised))
        self.axis.setTickPen(pg.mkPen(t.dim))
        self.axis.setTextPen(pg.mkPen(t.dim))
        self.axis.setGrid(44)
        for curve, wait, dots, spec in zip(
            self._curves, self._waits, self._dots, self.spec.curves, strict=True
        ):
            colour = spec.colour_in(t)
            curve.setPen(pg.mkPen(colour, width=self._line_px))
            faint = blend(colour, t.raised, FAINT).name()
            wait.setPen(pg.mkPen(faint, width=self._line_px))
            dots.setPen(None)
            dots.setBrush(pg.mkBrush(colour))
        self._choose_smoothing()

    def prepare(self, first: int, stop: int, px: float, until_s: float) -> bool:
        """Make ready what `load` needs; False if that time came before the end."""
        return all(
            curve.decimator.prepare(first - 1, stop + 1, _bins(px), until_s)
            for curve in self.spec.curves
        )

    def load(self, first: int, stop: int, low: float, high: float, px: float) -> None:
        """Fetch rows first .. stop, drawn between low and high `px` wide."""
        self.lines = [
            curve.decimator.window(first - 1, stop + 1, _bins(px))
            for curve in self.spec.curves
        ]
        each_px = px / max(high - low, 1e-9)
        for curve, wait, dots, line, spec in zip(
            self._curves,
            self._waits,
            self._dots,
            self.lines,
            self.spec.curves,
            strict=True,
        ):
            solid = line.joined
            if spec.waits and line.bin_rows == 1:
                solid = solid.copy()
                solid[:-1] &= np.diff(line.rows) == 1
                across = line.joined & ~solid
                wait.setData(line.rows, line.values, connect=across.astype(np.int32))
                wait.setVisible(bool(across.any()))
            elif wait.isVisible():
                wait.setVisible(False)
                wait.setData([], [])
            curve.setData(line.rows, line.values, connect=solid.astype(np.int32))
            if line.bin_rows == 1 and each_px >= DOTS_FROM_PX:
                dotted = np.ones(len(line.rows), np.bool_)
            else:
                dotted = line.alone
            if len(dots.data) or dotted.any():
                dots.setData(line.rows[dotted], line.values[dotted])
            dots.setVisible(bool(dotted.any()))  # what is empty takes time, too
        self._choose_smoothing()
        self._fit_values(low, high)
        self.view.setRange(xRange=(low, high), yRange=(self.low, self.high), padding=0)

    def _choose_smoothing(self) -> None:
        for curve, line in zip(self._curves, self.lines, strict=False):
            few = len(line.rows) <= SMOOTH_POINTS
            curve.opts["antialias"] = few or self._line_px == 1

    def place(self, axis_px: float, body: QRectF) -> None:
        """Put the curves into `body` and the axis left of it."""
        self.axis.setWidth(axis_px)
        self.axis.setGeometry(
            QRectF(body.left() - axis_px, body.top(), axis_px, body.height())
        )
        self.view.setGeometry(body)

    def needed_axis_px(self, metrics: QFontMetrics, height_px: float) -> int:
        """Width that the value axis needs for its labels."""
        return self.axis.needed_px(metrics, self.low, self.high, height_px)

    @property
    def bin_rows(self) -> int:
        """Rows drawn as one bin; 1 if all are."""
        return max((line.bin_rows for line in self.lines), default=1)

    def _fit_values(self, low: float, high: float) -> None:
        """Range of values from what is in view, a little wider than it."""
        least, most = np.inf, -np.inf
        for line in self.lines:
            inside = (line.rows >= low) & (line.rows <= high)
            values = line.values[inside] if inside.any() else line.values
            if len(values):
                least = min(least, float(values.min()))
                most = max(most, float(values.max()))
        if not np.isfinite(least):
            least, most = 0.0, 1.0
        margin = (most - least) * MARGIN
        if margin <= abs(most) * 1e-12:  # flat, or as good as
            margin = abs(most) * 0.1 or 1.0
        self.low, self.high = least - margin, most + margin


def _bins(px: float) -> int:
    """Two bins a pixel, so that none is wider than one."""
    return max(int(2 * px), 32)


def _curve_item() -> pg.PlotCurveItem:
    curve = pg.PlotCurveItem(antialias=True)
    # One stroke along a dense curve takes seconds; so does a line of 1.2 px, which is
    # why its width is a whole number.
    curve.setSegmentedLineMode("on")
    return curve
