"""Paint what surrounds the lanes: ruler, labels, what is still to come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QPen

from isoscope.core.timeline.model import LaneKind
from isoscope.core.timeline.ruler import ticks
from isoscope.widgets.look import scaled
from isoscope.widgets.timeline.frame import (
    CENTRE,
    LEFT_MIDDLE,
    colour,
    elided,
    small,
    text_width,
)
from isoscope.widgets.timeline.layout import CHIP, LABEL_LEFT

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from isoscope.widgets.theme import Tokens
    from isoscope.widgets.timeline.frame import Frame
    from isoscope.widgets.timeline.layout import Placed

TICK_ROOM_PX = 84.0
IN_FILE_PX = 4  # height of the strip over what is not in memory
TIGHT_PX = 13  # lanes lower than this have smaller labels


def paint_ruler(painter: QPainter, frame: Frame) -> list[QRectF]:
    """Ticks with their labels, and a faint line from each down the lanes.

    Gives the boxes of the labels: the playhead's own label hides those it touches.
    """
    place, theme = frame.layout, frame.theme
    font = small(frame.font)
    painter.setFont(font)
    boxes = []
    for tick in ticks(frame.view, frame.axis, frame.forward, TICK_ROOM_PX):
        x = round(frame.x_of(tick.at))
        line = QRectF(x, place.lanes_top - 4, 1, place.lanes_bottom - place.lanes_top)
        painter.fillRect(line, colour(theme.border))
        wide = text_width(font, tick.label)
        left = x - wide / 2
        if left < place.left - 2:
            left = place.left - 2.0
        if left + wide > place.right + 8:
            continue
        box = QRectF(left, place.ruler_top, wide + 2, place.lanes_top - place.ruler_top)
        painter.setPen(colour(theme.dim))
        painter.drawText(box, LEFT_MIDDLE, tick.label)
        boxes.append(box)
    return boxes


def paint_in_file(painter: QPainter, frame: Frame) -> None:
    """A hatched strip over the rows that memory had no room for, below the ruler."""
    place, rows = frame.layout, frame.timeline.in_file
    right = min(frame.x_of(rows), float(place.right))
    if rows and right > place.left:
        strip = QRectF(place.left, place.lanes_top - 4, right - place.left, IN_FILE_PX)
        hatch_in_file(painter, strip, frame.theme)


def hatch_in_file(painter: QPainter, strip: QRectF, theme: Tokens) -> None:
    """What says that rows are read again from the recording."""
    painter.fillRect(strip, colour(theme.raised))
    painter.fillRect(strip, QBrush(colour(theme.dim), Qt.BrushStyle.FDiagPattern))


def paint_labels(painter: QPainter, frame: Frame) -> None:
    """What stands at the left of each lane."""
    place = frame.layout
    for placed in place.pinned:
        _paint_label(painter, frame, placed)
    painter.save()
    painter.setClipRect(
        QRectF(0, place.scroll_top, place.left, place.scroll_bottom - place.scroll_top)
    )
    for placed in place.visible()[len(place.pinned) :]:
        _paint_label(painter, frame, placed)
    painter.restore()


def _paint_label(painter: QPainter, frame: Frame, placed: Placed) -> None:
    lane, theme = placed.lane, frame.theme
    tight = lane.pinned or placed.height < TIGHT_PX
    font = small(frame.font) if tight else frame.font
    left = float(LABEL_LEFT)
    if lane.kind in (LaneKind.ITEMS, LaneKind.CHUNKS):
        chip = QRectF(left, placed.middle - CHIP / 2, CHIP, CHIP)
        painter.setPen(Qt.PenStyle.NoPen)
        if lane.env is None:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colour(theme.dim), 1))
            chip.adjust(0.5, 0.5, -0.5, -0.5)
        elif lane.env < 0:
            painter.setBrush(QBrush(colour(theme.dim), Qt.BrushStyle.BDiagPattern))
        else:
            painter.setBrush(colour(theme.environment(lane.env)))
        painter.drawRoundedRect(chip, 2, 2)
        left += CHIP + 6
    focused = lane.env is not None and lane.env == frame.timeline.focus
    painter.setFont(scaled(font, 1.0, bold=True) if focused else font)
    quiet = lane.pinned or lane.env in frame.timeline.pale
    painter.setPen(colour(theme.dim if quiet else theme.text))
    room = frame.layout.left - left - 8
    box = QRectF(left, placed.middle - 10, room, 20)
    painter.drawText(box, LEFT_MIDDLE, elided(painter.font(), lane.label, room))


def paint_coming(painter: QPainter, frame: Frame) -> None:
    """Hatching over the rows that are not indexed yet, and how far it is."""
    place, theme = frame.layout, frame.theme
    low, high = frame.timeline.rows, frame.timeline.expected
    if low >= high or frame.view.last <= low:
        return
    left = max(frame.x_of(low), float(place.left))
    right = min(frame.x_of(high), float(place.right))
    top = place.lanes_top + 1
    box = QRectF(left, top, right - left, place.lanes_bottom - top)
    painter.fillRect(box, QBrush(colour(theme.faint, 150), Qt.BrushStyle.BDiagPattern))
    if not frame.progress:
        return
    painter.setFont(small(frame.font))
    wide = text_width(painter.font(), frame.progress) + 16
    if wide > box.width():
        return
    pill = QRectF(box.center().x() - wide / 2, box.center().y() - 10, wide, 20)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour(theme.raised))
    painter.drawRoundedRect(pill, 4, 4)
    painter.setPen(colour(theme.dim))
    painter.drawText(pill, CENTRE, frame.progress)
