"""The tooltip: what is under the pointer, in words."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from isoscope.core.timeline.describe import describe_row, things_at

if TYPE_CHECKING:
    from PySide6.QtCore import QPointF

    from isoscope.core.recording.model import Recording
    from isoscope.widgets.timeline.canvas import Canvas

RULER = (
    "Rows are evenly spaced, one native step each, however short it is; the labels "
    "give the {kind} time. Click or drag to move the playhead, drag the handles of the "
    "loop range, turn the wheel to zoom, drag with Shift to select."
)
OVERVIEW = (
    "The whole run. Drag the window to move it, its ends to resize it; double-click "
    "to see everything."
)
IN_FILE = "Memory had no room for it: it is read again from the recording."
NEAR_PX = 4.0


def hint_at(canvas: Canvas, at: QPointF, recording: Recording) -> str:
    """Rich text for the tooltip at this point of the canvas; empty for none."""
    place, timeline = canvas.place, canvas.timeline
    frame = canvas.frame()
    if not timeline.rows or at.y() < place.ruler_top:
        return ""
    if place.in_overview(at.y()):
        return _wrapped([OVERVIEW])
    if place.in_ruler(at.y()):
        return _wrapped([RULER.format(kind=frame.axis.kind.value)])
    placed = place.lane_at(at.y())
    if at.x() < place.left:
        return _wrapped([placed.lane.about]) if placed is not None else ""
    row = canvas.view.row_at(at.x() - place.left)
    reach = int(NEAR_PX * canvas.view.per_px)
    lines = describe_row(recording, timeline, row, frame.axis)
    pointed = placed.lane if placed is not None else None
    if row < timeline.in_file:
        lines.append(IN_FILE)
    if row < timeline.rows:
        lines += things_at(timeline, row - reach, row + reach + 1, pointed)
    if placed is not None and placed.lane.actor is not None:
        lines.append(placed.lane.about)
    return _wrapped(lines, title=True)


def _wrapped(lines: list[str], title: bool = False) -> str:
    parts = [escape(line) for line in lines]
    if title and parts:
        parts[0] = f"<b>{parts[0]}</b>"
    return "<p style='white-space:pre-wrap'>" + "<br>".join(parts) + "</p>"
