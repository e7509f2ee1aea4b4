"""The widget that is painted: one picture kept, and a cheap overlay upon it.

What costs something (lanes, ruler, overview) is painted into a pixmap when the content,
the view, the size or the theme changes. A moving playhead repaints two strips of that
pixmap and itself.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPixmap
from PySide6.QtWidgets import QWidget

from isoscope.core.clock import ClockState, TimeAxis, TimeKind
from isoscope.core.timeline.model import Timeline
from isoscope.core.timeline.ruler import goes_forward
from isoscope.core.timeline.view import View
from isoscope.widgets.theme import tokens
from isoscope.widgets.timeline import overlay
from isoscope.widgets.timeline.frame import CENTRE, Frame, colour
from isoscope.widgets.timeline.layout import Layout, lay_out
from isoscope.widgets.timeline.overview import (
    overview_box,
    paint_overview,
    paint_window,
)
from isoscope.widgets.timeline.paint_frame import (
    TICK_ROOM_PX,
    paint_coming,
    paint_in_file,
    paint_labels,
    paint_ruler,
)
from isoscope.widgets.timeline.paint_lanes import lanes_in_parts
from isoscope.widgets.timeline.palette import palette
from isoscope.widgets.turns import InTurn, go_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QFont, QPaintEvent, QResizeEvent

SLICE_S = 0.002  # of painting at a time, where the run only grew
NO_AXIS = TimeAxis(TimeKind.NATIVE, np.zeros(0), np.zeros(0))


class Canvas(QWidget):
    """Paints a timeline; holds the view, what is pointed at, and nothing of the data.

    `view_changed` and `laid_out` tell that the visible rows, or the place of the lanes,
    are other ones; `pointed` that something else is pointed at or selected.
    """

    view_changed = Signal()
    pointed = Signal()
    laid_out = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.timeline = Timeline(0, 0, ())
        self.message = ""  # shown in place of lanes where there are no rows
        self.pointing = overlay.Pointing()
        self._state = ClockState()
        self._axis = NO_AXIS
        self._forward = True
        self._theme = "dark"
        self._progress = ""
        self._scroll = 0
        self._fitted = True
        self._view = View.fit(1, 1)
        self._layout: Layout | None = None
        self._picture = QPixmap()
        self._pictured: Frame | None = None  # what that was painted from
        self._overview = QPixmap()
        self._labels: list[QRectF] = []
        self._stale = self._overview_stale = True
        self.painting_s = 0.0  # what the last picture took
        self._calm = self._grew = False  # whether what changes now may take its time
        self._rest: Iterator[None] | None = None  # of painting what has grown
        self._pending = False
        self._begun_s = 0.0
        self._turn = InTurn(self, self._go_on)

    # -- what it shows ------------------------------------------------------------

    @property
    def view(self) -> View:
        """The visible rows."""
        return self._view

    @property
    def place(self) -> Layout:
        """Where everything is."""
        if self._layout is None:
            metrics = QFontMetrics(self.font())
            self._layout = lay_out(
                self.timeline,
                self.width(),
                self.height(),
                self._scroll,
                metrics.horizontalAdvance,
            )
        return self._layout

    @property
    def axis_kind(self) -> TimeKind:
        """Which time the ruler tells."""
        return self._axis.kind

    @property
    def stale(self) -> bool:
        """Whether something is still to be painted."""
        return self._stale or self._pending

    @property
    def painting(self) -> bool:
        """Whether a picture of what has grown is being made."""
        return self._pending

    @property
    def fitted(self) -> bool:
        """Whether everything is shown, and shall be as it grows."""
        return self._fitted

    @property
    def state(self) -> ClockState:
        """The clock's state as last told."""
        return self._state

    def frame(self) -> Frame:
        """What the present picture is painted from."""
        theme = tokens(self._theme)
        return Frame(
            timeline=self.timeline,
            view=self._view,
            layout=self.place,
            axis=self._axis,
            forward=self._forward,
            theme=theme,
            colours=palette(theme.name),
            font=self._text_font(),
            scale=self.devicePixelRatioF(),
            progress=self._progress,
        )

    def set_timeline(self, timeline: Timeline, message: str = "") -> None:
        """Show other lanes; a fitted view goes on showing everything."""
        self.timeline = timeline
        self.message = message
        self._lay_out_again()

    def set_progress(self, text: str) -> None:
        """What to say over the rows that are still to come."""
        if text != self._progress:
            self._progress = text
            self._repaint()

    def set_axis(self, axis: TimeAxis) -> None:
        """The time that the ruler tells."""
        if axis is not self._axis:
            self._axis = axis
            known = axis.forward
            self._forward = goes_forward(axis.stamps) if known is None else known
            self._repaint()

    def set_theme(self, name: str) -> None:
        """Paint in the colours of this theme."""
        self._theme = name
        self._overview_stale = True
        self._repaint()

    def set_view(self, view: View, *, fitted: bool = False) -> None:
        """Show these rows."""
        self._fitted = fitted
        if view != self._view:
            self._view = view
            self._repaint()
            self.view_changed.emit()

    def fit(self) -> None:
        """Show everything, also what is still to come."""
        rows = max(self.timeline.expected, 1)
        self.set_view(View.fit(rows, self.place.plot_width), fitted=True)

    def set_scroll(self, scroll: int) -> None:
        """Scroll the lanes to this many pixels."""
        scroll = min(max(scroll, 0), self.place.overflow)
        if scroll != self._scroll:
            self._scroll = scroll
            self._lay_out_again()

    @property
    def scrolled(self) -> int:
        """How far the lanes are scrolled, pixels."""
        return self._scroll

    # -- what moves ---------------------------------------------------------------

    def set_state(self, new: ClockState) -> None:
        """Take the clock's new state; repaints no more than it has to."""
        old, self._state = self._state, new
        if not self.timeline.rows:
            return
        loops = [(s.loop, overlay.loop_rows(s)) for s in (old, new)]
        if loops[0] != loops[1]:
            self.update()
        elif (old.row, old.rows, old.beyond) != (new.row, new.rows, new.beyond):
            frame = self._shown()
            for state in (old, new):
                row = overlay.within(state, frame).row
                self._update_box(overlay.line_box(frame, row))
                # wide enough for the labels that come back or go
                pill = overlay.pill_box(frame, row, state.beyond)
                self._update_box(pill.adjusted(-TICK_ROOM_PX, 0, TICK_ROOM_PX, 0))
                self._update_box(overlay.overview_line_box(frame, row))

    def set_pointing(self, pointing: overlay.Pointing) -> None:
        """Take what the user points at and has selected."""
        old, self.pointing = self.pointing, pointing
        if old == pointing:
            return
        self.pointed.emit()
        if old.selection != pointing.selection:
            self.update()
            return
        frame = self._shown()
        for row in (old.hover, pointing.hover):
            if row is not None:
                self._update_box(overlay.line_box(frame, row))

    # -- painting -----------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Bring the picture up to date, then show it with the overlay."""
        painter = QPainter(self)
        if not self.timeline.rows:
            self._paint_message(painter)
            self._picture, self._pictured = QPixmap(), None  # another one's by now
            self._stale = False
            return
        if self._stale or self._picture.devicePixelRatio() != self.devicePixelRatioF():
            self._render(self.frame())
        frame = self._shown()
        region = event.rect()
        scale = frame.scale
        part = QRectF(
            region.x() * scale,
            region.y() * scale,
            region.width() * scale,
            region.height() * scale,
        )
        painter.drawPixmap(QRectF(region), self._picture, part)
        painter.setClipRect(region)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        state = overlay.within(self._state, frame)
        overlay.paint_overlay(painter, frame, state, self.pointing, self._labels)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Lay out again."""
        super().resizeEvent(event)
        self._lay_out_again()

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Room for the ruler, two lanes and the overview."""
        return QSize(320, 132)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Room for eight environments."""
        return QSize(960, 268)

    def _render(self, frame: Frame) -> None:
        begin = time.thread_time()
        for _ in self._rendering(frame):
            pass
        self.painting_s = time.thread_time() - begin

    def _rendering(self, frame: Frame) -> Iterator[None]:
        """Make the picture in parts; what was there before stays until the end."""
        overview = self._overview
        if self._overview_stale or overview.devicePixelRatio() != frame.scale:
            overview = self._blank(frame)
            with QPainter(overview) as painter:
                self._prepare(painter, frame)
                paint_overview(painter, frame)
            yield
        picture = overview.copy()
        with QPainter(picture) as painter:
            self._prepare(painter, frame)
            labels = paint_ruler(painter, frame)
        for part in lanes_in_parts(frame):
            with QPainter(picture) as painter:
                self._prepare(painter, frame)
                part(painter)
            yield
        with QPainter(picture) as painter:
            self._prepare(painter, frame)
            paint_coming(painter, frame)
            paint_in_file(painter, frame)
            paint_labels(painter, frame)
            paint_window(painter, frame)
        self._overview, self._overview_stale = overview, False
        self._picture, self._pictured, self._labels = picture, frame, labels
        self._stale = False

    # -- growing ------------------------------------------------------------------

    @contextmanager
    def calmly(self) -> Iterator[None]:
        """Make the picture of what changes inside a little at a time.

        What is shown stays until then, so this is for what only grew: what the user
        does is to be seen at once.
        """
        usable = self._picture.size() == self.size() * self.devicePixelRatioF()
        calm = usable and self.isVisible() and not self._stale
        self._calm, self._grew = calm, False
        try:
            yield
        finally:
            self._calm = False
        if self._grew and not self._stale:
            self._rest, self.painting_s = None, 0.0
            self._begun_s = time.perf_counter()
            if not self._turn.isActive():
                self._turn.start(0)
            self._pending = True

    def _go_on(self) -> None:
        """Paint the next parts, for a few milliseconds."""
        if not self._pending:
            return
        begin = time.thread_time()
        if self._rest is None:
            self._rest = self._rendering(self.frame())
        if go_on(self._rest, self._begun_s, SLICE_S):
            self._rest, self._pending = None, False
            self.update()
        self.painting_s += time.thread_time() - begin
        if self._pending:
            self._turn.start(0)

    def _shown(self) -> Frame:
        """What is seen now, which what moves has to fit, too."""
        pictured = self._pictured
        return pictured if self._pending and pictured is not None else self.frame()

    def _blank(self, frame: Frame) -> QPixmap:
        picture = QPixmap(self.size() * frame.scale)
        picture.setDevicePixelRatio(frame.scale)
        picture.fill(QColor(frame.theme.panel))
        return picture

    def _prepare(self, painter: QPainter, frame: Frame) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(frame.font)

    def _paint_message(self, painter: QPainter) -> None:
        theme = tokens(self._theme)
        painter.fillRect(self.rect(), QColor(theme.panel))
        painter.setPen(colour(theme.dim))
        painter.setFont(self._text_font())
        inner = self.rect().adjusted(16, 8, -16, -8)
        painter.drawText(
            QRectF(inner), int(CENTRE | Qt.TextFlag.TextWordWrap), self.message
        )

    def _text_font(self) -> QFont:
        return self.font()

    def _lay_out_again(self) -> None:
        self._layout = None
        overflow = self.place.overflow
        if self._scroll > overflow:
            self._scroll = overflow
            self._layout = None
        rows = max(self.timeline.expected, 1)
        width = self.place.plot_width
        old = self._view
        if self._fitted:
            self._view = View.fit(rows, width)
        else:
            self._view = old.resized(width, rows)
        self._overview_stale = True
        self._repaint()
        self.laid_out.emit()
        if self._view != old:
            self.view_changed.emit()

    def _repaint(self) -> None:
        if self._calm:
            self._grew = True
            return
        self._rest, self._pending = None, False
        self._stale = True
        self.update()

    def _update_box(self, box: QRectF) -> None:
        self.update(box.toAlignedRect().adjusted(-1, -1, 1, 1) & self.rect())

    def window_box(self) -> QRect:
        """The overview's box of visible rows, to grip it."""
        return overview_box(self.frame()).toAlignedRect()
