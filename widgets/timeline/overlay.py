"""Paint what moves: playhead, pointer, loop range, selection. Cheap by design."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPen

from isoscope.core.clock import ClockState, TimeKind
from isoscope.core.summary import counted
from isoscope.core.timeline.ruler import stamp_decimals, stamp_text
from isoscope.widgets.row_words import row_word
from isoscope.widgets.timeline.frame import (
    CENTRE,
    colour,
    small,
    text_width,
)
from isoscope.widgets.timeline.layout import OVERVIEW, RULER
from isoscope.widgets.timeline.overview import whole

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from isoscope.widgets.timeline.frame import Frame

HANDLE_PX = 5.0
PILL_HIGH = 18.0


@dataclass(frozen=True, slots=True)
class Pointing:
    """What the user points at and has chosen, beside the clock's own state."""

    hover: int | None = None
    selection: tuple[int, int] | None = None


def within(state: ClockState, frame: Frame) -> ClockState:
    """The clock as it fits a picture: following the end, it is at the picture's."""
    last = frame.timeline.rows - 1
    return replace(state, row=last) if state.follow and state.row > last else state


def loop_rows(state: ClockState) -> tuple[int, int] | None:
    """First and last row of the loop range, or None where none is set."""
    if state.rows == 0 or (state.loop_in is None and state.loop_out is None):
        return None
    last = state.rows - 1
    low = 0 if state.loop_in is None else min(state.loop_in, last)
    high = last if state.loop_out is None else min(state.loop_out, last)
    return (low, high) if low <= high else (high, low)


def pill_text(frame: Frame, row: int, beyond: int = 0) -> str:
    """What the playhead says: its row (or control step) and the chosen time.

    `beyond` is how many steps past the last row it is.
    """
    if beyond:
        return f"{beyond:,} past the end"
    axis, labels = frame.axis, frame.timeline.labels
    if row >= len(axis) or axis.kind is TimeKind.NATIVE:
        return f"{row_word(frame.timeline)} {row}"
    name = str(row)
    if axis.kind is TimeKind.CONTROL and labels is not None and row < len(labels):
        episode, control = int(labels.episode[row]), int(labels.control_step[row])
        if episode >= 0 and control >= 0:
            name = f"{episode}/{control}"
    said = stamp_text(axis.kind, float(axis.stamps[row]), stamp_decimals(axis))
    return f"{name} · {said}"


def pill_box(frame: Frame, row: int, beyond: int = 0) -> QRectF:
    """Where the playhead's label is; kept inside the canvas."""
    wide = text_width(small(frame.font), pill_text(frame, row, beyond)) + 14
    place = frame.layout
    left = min(max(frame.x_mid(row) - wide / 2, 2.0), place.width - wide - 2)
    return QRectF(left, place.ruler_top + (RULER - PILL_HIGH) / 2, wide, PILL_HIGH)


def line_box(frame: Frame, row: int) -> QRectF:
    """The strip that the playhead's line is in."""
    place = frame.layout
    high = place.lanes_bottom - place.ruler_top
    return QRectF(frame.x_mid(row) - 3, place.ruler_top, 6, high)


def overview_line_box(frame: Frame, row: int) -> QRectF:
    """The strip that the playhead's line on the overview is in."""
    x = frame.layout.left + whole(frame).x_mid(row)
    return QRectF(x - 3, frame.layout.overview_top - 3, 6, OVERVIEW + 6)


def paint_overlay(
    painter: QPainter,
    frame: Frame,
    state: ClockState,
    pointing: Pointing,
    labels: list[QRectF],
) -> None:
    """All of it, in the painter's clip; `labels` are the boxes of the ruler's."""
    painter.save()
    painter.setClipRect(_lanes(frame), Qt.ClipOperation.IntersectClip)
    _paint_loop(painter, frame, state)
    _paint_selection(painter, frame, pointing)
    if pointing.hover is not None:
        x = round(frame.x_mid(pointing.hover))
        painter.fillRect(
            QRectF(x, frame.plot.top(), 1, frame.plot.height()),
            colour(frame.theme.dim, 110),
        )
    painter.restore()
    if state.rows:
        _paint_playhead(painter, frame, state, labels)


def _lanes(frame: Frame) -> QRectF:
    return frame.plot.adjusted(-HANDLE_PX, 0, HANDLE_PX, 0)


def _paint_loop(painter: QPainter, frame: Frame, state: ClockState) -> None:
    rows = loop_rows(state)
    if rows is None:
        return
    theme = frame.theme
    left, right = frame.x_of(rows[0]), frame.x_of(rows[1] + 1)
    top, bottom = frame.plot.top(), frame.plot.bottom()
    outside = colour(theme.panel, 120 if state.loop else 50)
    ruler = frame.layout.lanes_top
    for low, high in ((frame.plot.left(), left), (right, frame.plot.right())):
        if high > low:
            painter.fillRect(QRectF(low, ruler, high - low, bottom - ruler), outside)
    bar = colour(theme.accent, 210 if state.loop else 90)
    painter.fillRect(QRectF(left, ruler - 3, right - left, 3), bar)
    pen = QPen(bar, 1, Qt.PenStyle.SolidLine if state.loop else Qt.PenStyle.DashLine)
    for x, sign in ((left, 1), (right, -1)):
        painter.setPen(pen)
        painter.drawLine(round(x), round(ruler), round(x), round(bottom))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(bar)
        grip = QRectF(x if sign > 0 else x - HANDLE_PX, top + 4, HANDLE_PX, RULER - 4)
        painter.drawRoundedRect(grip, 1.5, 1.5)


def _paint_selection(painter: QPainter, frame: Frame, pointing: Pointing) -> None:
    if pointing.selection is None:
        return
    low, high = pointing.selection
    left, right = frame.x_of(low), frame.x_of(high + 1)
    top = frame.layout.lanes_top
    box = QRectF(left, top, right - left, frame.plot.bottom() - top)
    painter.fillRect(box, colour(frame.theme.accent, 38))
    painter.setPen(QPen(colour(frame.theme.accent), 1, Qt.PenStyle.DotLine))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -1.5))


def _paint_playhead(
    painter: QPainter, frame: Frame, state: ClockState, labels: list[QRectF]
) -> None:
    theme, row = frame.theme, state.row
    full = frame.layout.left + whole(frame).x_mid(row)
    line = QRectF(round(full) - 1, frame.layout.overview_top - 2, 2, OVERVIEW + 4)
    painter.fillRect(line, colour(theme.accent))
    if not frame.view.shows(row):
        return
    x = round(frame.x_mid(row))
    pill = pill_box(frame, row, state.beyond)
    for label in labels:  # half a label beside the pill can't be read
        if label.intersects(pill.adjusted(-4, 0, 4, 0)):
            bare = QRectF(label.left(), pill.top(), label.width() + 2, pill.height())
            painter.fillRect(bare, colour(theme.panel))
    high = frame.plot.bottom() - pill.bottom()
    painter.fillRect(
        QRectF(x - 1, pill.bottom() - 1, 2, high + 1), colour(theme.accent)
    )
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour(theme.accent))
    painter.drawRoundedRect(pill, 3, 3)
    painter.setPen(colour(theme.accent_text))
    painter.setFont(small(frame.font))
    painter.drawText(pill, CENTRE, pill_text(frame, row, state.beyond))


def readout(frame: Frame, pointing: Pointing) -> str:
    """One line on what is selected, pointed at, or else shown."""
    axis, view = frame.axis, frame.view
    if pointing.selection is not None:
        low, high = pointing.selection
        return f"selected {low} to {high} · {_lasting(frame, low, high)}"
    if pointing.hover is not None:
        if pointing.hover >= frame.timeline.rows:
            return f"{pointing.hover} · not yet indexed"
        row = pointing.hover
        if axis.kind is TimeKind.NATIVE or row >= len(axis):
            return f"{row_word(frame.timeline)} {row}"
        said = stamp_text(axis.kind, float(axis.stamps[row]), stamp_decimals(axis))
        return f"{row_word(frame.timeline)} {row} · {axis.kind.value} {said}"
    if view.all_shown:
        return f"all {counted(frame.timeline.rows, frame.timeline.row_is)}"
    low, high = view.row_at(0), view.row_at(view.width - 1)
    return f"zoom {_lasting(frame, low, min(high, frame.timeline.rows - 1))}"


def _lasting(frame: Frame, low: int, high: int) -> str:
    timeline = frame.timeline
    count = f"{high - low + 1:,} of {counted(timeline.rows, timeline.row_is)}"
    axis = frame.axis
    if axis.kind is TimeKind.NATIVE or high >= len(axis):
        return count
    seconds = float(axis.durations_s[low : high + 1].sum())
    return f"{seconds:.4g} s, {count}"
