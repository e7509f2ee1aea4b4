"""Paint the lanes: items, bars, ribbon, marks, arcs, hatching."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainterPath, QPen, QPolygonF

from isoscope.core.timeline.chunks import ChunkLook
from isoscope.core.timeline.model import LaneKind
from isoscope.core.timeline.pieces import NO_ROWS, SEVERITY_SHAPES, Shape
from isoscope.widgets.timeline import images
from isoscope.widgets.timeline.chunk_image import chunks_image
from isoscope.widgets.timeline.frame import LEFT_MIDDLE, colour, draw_pixels, small
from isoscope.widgets.timeline.glyphs import draw_border, draw_glyph
from isoscope.widgets.timeline.palette import argb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from PySide6.QtGui import QPainter

    from isoscope.core.recording.tracks import Array, Int64Array
    from isoscope.core.timeline.model import Arc
    from isoscope.core.timeline.view import Columns
    from isoscope.widgets.timeline.frame import Frame
    from isoscope.widgets.timeline.layout import Placed

MARK_EVERY_PX = 4  # marks closer than this are drawn as the most important of them
BORDER_EVERY_PX = 3
ARC_EVERY_PX = 2
CROWDED_PX = 14  # marks closer than this on average are only notches
NOTCH_PX = 3.0
NUMBER_FROM_PX = 20.0
LANES_A_PART = 2
NUMBER_HIGH_PX = 10
HALVES = (ChunkLook.POLICY, ChunkLook.ENV, ChunkLook.BOTH)
HALVES_FROM_PX = 16  # lanes that are lower don't number halves
BORDERS = (Shape.RESET, Shape.EPISODE)


def paint_lanes(painter: QPainter, frame: Frame) -> None:
    """All lanes in sight, without their labels."""
    for part in lanes_in_parts(frame):
        part(painter)


def lanes_in_parts(frame: Frame) -> Iterator[Callable[[QPainter], None]]:
    """The same as calls of about one cost, to be made in this order."""
    columns = frame.columns
    pinned = len(frame.layout.pinned)
    lanes = frame.layout.visible()

    yield partial(_paint_some, frame, columns, lanes[:pinned], False)
    for at in range(pinned, len(lanes), LANES_A_PART):
        some = lanes[at : at + LANES_A_PART]
        yield partial(_paint_some, frame, columns, some, True)
    if frame.layout.arcs_bottom:
        yield partial(_paint_arcs, frame=frame)


def _paint_some(
    frame: Frame,
    columns: Columns,
    lanes: Sequence[Placed],
    scrolled: bool,
    painter: QPainter,
) -> None:
    place = frame.layout
    painter.save()
    if scrolled:
        high = place.scroll_bottom - place.scroll_top
        window = QRectF(place.left - 4, place.scroll_top, place.plot_width + 8, high)
        painter.setClipRect(window)
    for placed in lanes:
        _paint_lane(painter, frame, placed, columns)
    painter.restore()


def _paint_lane(
    painter: QPainter, frame: Frame, placed: Placed, columns: Columns
) -> None:
    lane, place = placed.lane, frame.layout
    target = QRectF(place.left, placed.top, place.plot_width, placed.height)
    if lane.kind is LaneKind.STEPS or lane.kind is LaneKind.RESIDUAL:
        painter.fillRect(
            QRectF(target.left(), target.bottom() - 1, target.width(), 1),
            colour(frame.theme.border),
        )
    leaders = _leaders(frame, placed)
    crowded = len(leaders) * CROWDED_PX > frame.view.width
    pixels = _pixels(frame, placed, columns)
    if pixels is not None:
        _hatch_taint(frame, placed, columns, pixels)
        if crowded:
            leaders = _notch(frame, placed, columns, pixels, leaders)
        draw_pixels(painter, pixels, target)
    if lane.kind in (LaneKind.ITEMS, LaneKind.CHUNKS):
        _paint_numbers(painter, frame, placed)
    if lane.kind is LaneKind.CHUNKS:
        _paint_chosen(painter, frame, placed)
    _paint_marks(painter, frame, placed, leaders)
    if lane.env in frame.timeline.pale:
        painter.fillRect(target.adjusted(-4, -1, 4, 1), colour(frame.theme.panel, 190))


def _pixels(frame: Frame, placed: Placed, columns: Columns) -> Array | None:
    lane, unit = placed.lane, frame.unit
    height = max(round(placed.height * frame.scale), 1)
    if lane.kind is LaneKind.ITEMS:
        fill = frame.colours.fill(lane.env)
        return images.items_image(lane.items, columns, height, fill, unit)
    if lane.kind is LaneKind.CHUNKS:
        theme, rows = frame.theme.name, frame.timeline.rows
        return chunks_image(lane.items, columns, height, theme, unit, rows)
    if lane.rows is None:
        return None
    if lane.kind is LaneKind.OWNER:
        return images.owner_image(lane.rows, columns, height, frame.colours, unit)
    if lane.kind is LaneKind.RESIDUAL:
        return images.residual_image(lane.rows, columns, height, frame.colours)
    return images.steps_image(lane.rows, columns, height, frame.colours, unit)


def _hatch_taint(frame: Frame, placed: Placed, columns: Columns, pixels: Array) -> None:
    lane = placed.lane
    if (
        lane.kind not in (LaneKind.ITEMS, LaneKind.CHUNKS, LaneKind.OWNER)
        or lane.actor is not None
    ):
        return
    taints = frame.timeline.taints
    tainted = np.zeros(len(columns), np.bool_)
    for env in {None, lane.env}:
        if env in taints:
            tainted |= images.tainted_columns(*taints[env], columns)
    if tainted.any():
        stripes = images.hatched(len(pixels), len(columns), 2 * frame.unit)
        pixels[stripes & tainted & (pixels > 0)] = frame.colours.taint


def _paint_numbers(painter: QPainter, frame: Frame, placed: Placed) -> None:
    items, view = placed.lane.items, frame.view
    fill = frame.colours.fill(placed.lane.env)
    chunks = placed.lane.kind is LaneKind.CHUNKS
    # A control step of number 0 is a reset.
    least = 0 if chunks or placed.lane.env is None else 1
    if not len(items) or placed.height < NUMBER_HIGH_PX:
        return
    # Whole numbers: real ones would have the whole column made real.
    ends = np.array([np.floor(view.first) - 1, np.ceil(view.last)], np.int64)
    low, high = np.searchsorted(items.start, ends, "left")
    low = max(int(low) - 1, 0)
    if (high - low) * NUMBER_FROM_PX > 1.5 * view.width:
        return
    painter.setFont(small(frame.font, 0.8))
    for i in range(low, int(high)):
        number = int(items.number[i])
        left, right = frame.x_of(items.start[i]), frame.x_of(items.stop[i])
        left = max(left, float(frame.layout.left))
        if number < least or min(right, frame.layout.right) - left < NUMBER_FROM_PX:
            continue
        look = int(items.look[i])
        if chunks and look in HALVES and placed.height < HALVES_FROM_PX:
            continue  # the line between the halves would go through it
        over_active = frame.x_of(items.active_stop[i]) - left >= NUMBER_FROM_PX / 2
        ink = fill.ink_active if over_active else fill.ink_held
        if chunks:
            ink = frame.colours.chunk_ink(look)
        painter.setPen(colour(ink))
        box = QRectF(left + 4, placed.top, right - left, placed.height)
        painter.drawText(box, LEFT_MIDDLE, str(number))


def _paint_chosen(painter: QPainter, frame: Frame, placed: Placed) -> None:
    """A frame around the chunk that is looked at."""
    chosen = frame.timeline.chosen.get(placed.lane.key)
    items = placed.lane.items
    if chosen is None or chosen >= len(items):
        return
    stop = min(int(items.stop[chosen]), frame.timeline.rows)
    left = max(frame.x_of(int(items.start[chosen])), frame.layout.left - 3.0)
    right = min(frame.x_of(stop), frame.layout.right + 3.0)
    painter.setPen(QPen(colour(frame.theme.text), 1.5))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    box = QRectF(left, placed.top, max(right - left, 4), placed.height)
    painter.drawRoundedRect(box.adjusted(0, -1, 0, 1), 2, 2)


def _leaders(frame: Frame, placed: Placed) -> Int64Array:
    # Marks to draw, the least important first, so that no other is covered by them.
    marks = placed.lane.marks
    if not len(marks):
        return NO_ROWS
    pixel = MARK_EVERY_PX if placed.lane.kind is LaneKind.EVENTS else BORDER_EVERY_PX
    leaders = marks.leaders(_row_edges(frame, pixel))
    return leaders[np.argsort(marks.shapes[leaders], kind="stable")]


def _notch(
    frame: Frame, placed: Placed, columns: Columns, pixels: Array, leaders: Int64Array
) -> Int64Array:
    # Crowded resets are notches, as pixels; what is left is still to be painted.
    marks = placed.lane.marks
    shapes = marks.shapes[leaders]
    plain = shapes <= Shape.EPISODE
    at = np.searchsorted(columns.stop, marks.rows[leaders[plain]], "right")
    at = at[at < len(columns)]
    high = max(round(NOTCH_PX * frame.scale), 1)
    ink = frame.theme.dim if placed.lane.kind is LaneKind.STEPS else frame.theme.text
    for k in range(frame.unit):
        pixels[:high, np.minimum(at + k, len(columns) - 1)] = argb(ink)
    return leaders[~plain]


def _paint_marks(
    painter: QPainter, frame: Frame, placed: Placed, leaders: Int64Array
) -> None:
    marks = placed.lane.marks
    for i in leaders:
        shape = Shape(int(marks.shapes[i]))
        row = int(marks.rows[i])
        if shape in BORDERS:
            x = max(frame.x_of(row), frame.layout.left + 1)
            top, bottom = placed.top - 1, placed.bottom + 1
            draw_border(painter, shape, x, top, bottom, frame.theme)
            continue
        y = placed.middle
        if placed.lane.kind is LaneKind.STEPS:
            y = placed.bottom - 4 if shape is Shape.ZERO else placed.top + 2
        draw_glyph(painter, shape, frame.x_mid(row), y, frame.theme)


def _paint_arcs(painter: QPainter, frame: Frame) -> None:
    base = frame.layout.arcs_bottom
    painter.save()
    painter.setClipRect(frame.plot)
    for arc in _seen_arcs(frame):
        ink = frame.theme.faint
        if arc.severity is not None:
            shape = SEVERITY_SHAPES[arc.severity]
            ink = frame.theme.error if shape is Shape.ERROR else frame.theme.dim
            ink = frame.theme.warning if shape is Shape.WARNING else ink
        # from the end of the one row to the beginning of the other
        begin, end = frame.x_of(arc.source + 1), frame.x_of(arc.target)
        if abs(end - begin) < 10:
            begin = end - 10 if arc.target > arc.source else end + 10
        height = min(5.0 + 0.08 * abs(end - begin), 11.0)
        path = QPainterPath(QPointF(begin, base - 1))
        lift = base - 1 - height * 4 / 3
        path.cubicTo(begin, lift, end, lift, end, base - 3)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour(ink), 1.4 if arc.severity else 1.0))
        painter.drawPath(path)
        head = [QPointF(end - 3, base - 5), QPointF(end + 3, base - 5)]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(ink))
        painter.drawPolygon(QPolygonF([*head, QPointF(end, base)]))
    painter.restore()


def _seen_arcs(frame: Frame) -> list[Arc]:
    # Those that end in sight, the most severe of each few pixels; severe ones last.
    edges = _row_edges(frame, ARC_EVERY_PX)
    seen: dict[int, int] = {}
    for marks, arcs in frame.timeline.arc_ends:
        for i in marks.leaders(edges):
            seen[int(arcs[i])] = int(marks.shapes[i])
    return [frame.timeline.extras.arcs[i] for i in sorted(seen, key=seen.__getitem__)]


def _row_edges(frame: Frame, every_px: int) -> Int64Array:
    view = frame.view
    count = view.width // every_px + 2
    edges = np.floor(view.first + np.arange(count + 1) * every_px * view.per_px)
    return np.unique(edges.astype(np.int64))
