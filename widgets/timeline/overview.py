"""The whole run in one bar, with its marks above and the visible window upon it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QPen

from isoscope.core.timeline.model import LaneKind
from isoscope.core.timeline.pieces import Shape
from isoscope.core.timeline.view import View
from isoscope.widgets.timeline import images
from isoscope.widgets.timeline.frame import colour, draw_pixels
from isoscope.widgets.timeline.glyphs import draw_glyph
from isoscope.widgets.timeline.layout import OVERVIEW, OVERVIEW_MARKS
from isoscope.widgets.timeline.paint_frame import IN_FILE_PX, hatch_in_file

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from isoscope.widgets.timeline.frame import Frame

MARK_EVERY_PX = 4
NARROWEST_BOX_PX = 8.0


def whole(frame: Frame) -> View:
    """The overview's own view: all rows over the full width, however few."""
    rows = max(frame.timeline.expected, 1)
    width = frame.layout.plot_width
    return View(0.0, rows / width, width, rows)


def overview_box(frame: Frame) -> QRectF:
    """The window that the lanes show, on the overview bar; never too thin to grip."""
    place, full = frame.layout, whole(frame)
    left = place.left + max(full.x_of(frame.view.first), 0.0)
    right = place.left + min(full.x_of(frame.view.last), float(full.width))
    if right - left < NARROWEST_BOX_PX:
        middle = (left + right) / 2
        left, right = middle - NARROWEST_BOX_PX / 2, middle + NARROWEST_BOX_PX / 2
    return QRectF(left, place.overview_top - 1, right - left, OVERVIEW + 2)


def paint_overview(painter: QPainter, frame: Frame) -> None:
    """The bar and its marks, without the window, which moves more often."""
    place, full = frame.layout, whole(frame)
    columns = full.columns(frame.scale)
    height = max(round(OVERVIEW * frame.scale), 1)
    target = QRectF(place.left, place.overview_top, place.plot_width, OVERVIEW)
    painter.fillRect(target, colour(frame.theme.raised))
    lanes = {lane.kind: lane for lane in frame.timeline.lanes}
    owner, steps = lanes.get(LaneKind.OWNER), lanes.get(LaneKind.STEPS)
    if owner is not None and owner.rows is not None:
        pixels = images.owner_image(
            owner.rows, columns, height, frame.colours, frame.unit
        )
        draw_pixels(painter, pixels, target)
        painter.fillRect(target, colour(frame.theme.panel, 90))
    elif steps is not None and steps.rows is not None:
        pixels = images.steps_image(
            steps.rows, columns, height, frame.colours, frame.unit
        )
        draw_pixels(painter, pixels, target)
    if frame.timeline.in_file:
        wide = min(full.x_of(frame.timeline.in_file), float(full.width))
        bottom = target.bottom() - IN_FILE_PX
        strip = QRectF(place.left, bottom, wide, IN_FILE_PX)
        hatch_in_file(painter, strip, frame.theme)
    left = full.x_of(frame.timeline.rows)
    if left < full.width:
        coming = QRectF(place.left + left, target.top(), full.width - left, OVERVIEW)
        hatch = QBrush(colour(frame.theme.faint, 150), Qt.BrushStyle.BDiagPattern)
        painter.fillRect(coming, hatch)
    marks = frame.timeline.events
    count = full.width // MARK_EVERY_PX + 2
    edges = np.floor(np.arange(count + 1) * MARK_EVERY_PX * full.per_px)
    leaders = marks.leaders(np.unique(edges.astype(np.int64)))
    for i in leaders[np.argsort(marks.shapes[leaders], kind="stable")]:
        x = place.left + full.x_mid(int(marks.rows[i]))
        y = place.overview_top - OVERVIEW_MARKS / 2 - 1
        draw_glyph(painter, Shape(int(marks.shapes[i])), x, y, frame.theme, 3.0)


def paint_window(painter: QPainter, frame: Frame) -> None:
    """The window's box; when everything is shown it is only a hairline."""
    theme = frame.theme
    box = overview_box(frame)
    painter.setPen(QPen(colour(theme.accent, 90 if frame.view.all_shown else 220), 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if not frame.view.all_shown:
        painter.setBrush(colour(theme.accent, 50))
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 2, 2)
    if frame.view.all_shown or box.width() < 2 * NARROWEST_BOX_PX:
        return
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour(theme.accent))
    for x in (box.left() + 2, box.right() - 4):
        painter.drawRoundedRect(QRectF(x, box.center().y() - 4, 2, 8), 1, 1)
