"""The legend: what the looks and shapes mean, of those that occur."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from isoscope.core.timeline.chunk_lanes import WORDS
from isoscope.core.timeline.chunks import ChunkLook
from isoscope.core.timeline.model import LaneKind
from isoscope.core.timeline.pieces import Look, Shape, StepLook
from isoscope.widgets.timeline.chunk_image import tiles
from isoscope.widgets.timeline.frame import (
    LEFT_MIDDLE,
    colour,
    draw_pixels,
    small,
    text_width,
)
from isoscope.widgets.timeline.glyphs import NAMES, draw_glyph
from isoscope.widgets.timeline.images import hatched
from isoscope.widgets.timeline.paint_frame import IN_FILE_PX, hatch_in_file
from isoscope.widgets.timeline.palette import palette

if TYPE_CHECKING:
    from typing import TypeAlias

    from PySide6.QtGui import QPaintEvent

    from isoscope.core.timeline.model import Timeline
    from isoscope.widgets.timeline.palette import Palette

    # A mark's shape, how far a chunk is, or the name of a swatch.
    Entry: TypeAlias = Shape | ChunkLook | str

SWATCH_PX = 14
BETWEEN_PX = 12
MOST_LANES = 24


class Legend(QWidget):
    """A line of swatches with words, for the title bar; as many as fit."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries: list[tuple[Entry, str]] = []
        self._theme = "dark"
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)

    def show_entries(self, entries: list[tuple[Entry, str]]) -> None:
        """Show these, as `legend` gives them."""
        if entries != self._entries:
            self._entries = entries
            said = ", ".join(text for _, text in entries)
            self.setAccessibleName(f"Legend: {said}" if said else "Legend")
            self.updateGeometry()
            self.update()

    def set_theme(self, name: str) -> None:
        """Paint in the colours of this theme."""
        self._theme = name
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        """Room for all of them."""
        wide = sum(self._wide(text) + BETWEEN_PX for _, text in self._entries)
        return QSize(round(wide), self.fontMetrics().height() + 2)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """None is needed."""
        return QSize(0, self.fontMetrics().height())

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Paint from the left until there is no more room."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = palette(self._theme)
        painter.setFont(small(self.font()))
        x, middle = 0.0, self.height() / 2
        for kind, text in self._entries:
            wide = self._wide(text)
            if x + wide > self.width() + 1:
                return
            if isinstance(kind, ChunkLook):
                self._chunk(painter, kind, QRectF(x, middle - 5, 9, 10))
            elif isinstance(kind, Shape):
                draw_glyph(painter, kind, x + 5, middle, colours.theme, 3.6)
            else:
                _swatch(painter, colours, kind, QRectF(x, middle - 4, 9, 8))
            painter.setPen(colour(colours.theme.dim))
            box = QRectF(x + SWATCH_PX, 0, wide, self.height())
            painter.drawText(box, LEFT_MIDDLE, text)
            x += wide + BETWEEN_PX

    def _chunk(self, painter: QPainter, look: ChunkLook, box: QRectF) -> None:
        scale = self.devicePixelRatioF()
        high, wide = round(box.height() * scale), round(box.width() * scale)
        tile = tiles(self._theme, high, max(round(scale), 1))[look.bit_length()]
        pixels = np.repeat(tile[:, None], wide, axis=1)
        if look is ChunkLook.FAILED:
            pixels[~hatched(high, wide, max(round(scale), 1))] = 0
        draw_pixels(painter, pixels, box)

    def _wide(self, text: str) -> float:
        return SWATCH_PX + text_width(small(self.font()), text)


def legend(timeline: Timeline) -> list[tuple[Entry, str]]:
    """What occurs in the lanes, as (shape or name of a swatch, words)."""
    found: list[tuple[Entry, str]] = []
    shapes: set[Shape] = set()
    steps = timeline.lane("steps")
    looked_at = timeline.lanes[:MOST_LANES]  # the others are like these
    items = [a for a in looked_at if a.kind is LaneKind.ITEMS]
    for lane in looked_at:
        shapes.update(lane.marks.kinds)
    own = [a for a in items if a.env is not None and a.env >= 0]
    stepped = any(a.items.present & Look.SOLID for a in own)
    if stepped:
        found.append(("active", "control step"))
    if stepped and len(own) > 1:
        found.append(("held", "waiting"))
    if any(a.items.present & Look.PALE for a in own):
        found.append(("pale", "no control step known"))
    if any(a.actor is not None for a in items):
        found.append(("neutral", "actor exists"))
    chunks = [a for a in looked_at if a.kind is LaneKind.CHUNKS]
    if chunks:
        seen = 0
        for lane in chunks:
            every = np.array([0]), np.array([len(lane.items)])
            seen |= int(lane.items.looks.over(*every)[0])
        found += [(look, WORDS[look]) for look in ChunkLook if seen & look]
    if any(a.items.present & Look.HATCHED for a in items):
        found.append(("unknown", "unknown"))
    if timeline.extras.tainted:
        found.append(("tainted", "tainted"))
    if steps is not None and steps.rows is not None and len(steps.rows):
        looks = steps.rows.present
        if looks & StepLook.USUAL:
            found.append(("usual", f"h {timeline.typical_h_s:.6g} s"))
        if looks & (StepLook.LONGER | StepLook.SHORTER):
            found.append(("odd", "another h"))
        if looks & StepLook.ABSENT:
            found.append(("absent", "h unknown"))
    if timeline.in_file:
        found.append(("in file", "in the recording only"))
    found += [(shape, NAMES[shape]) for shape in sorted(shapes)]
    return found


def kept(
    before: list[tuple[Entry, str]], now: list[tuple[Entry, str]]
) -> list[tuple[Entry, str]]:
    """What occurs now, and what did before, each in its place.

    Of a run that goes on much comes and goes: were the legend to do so, too, its title
    bar would be laid out anew all the time.
    """
    every, at = list(before), 0
    for entry in now:
        # Numbers of one kind are equal to those of another.
        kinds = [(type(kind), kind) for kind, _ in every]
        kind = type(entry[0]), entry[0]
        if kind in kinds:
            at = kinds.index(kind)
            every[at] = entry
        else:
            every.insert(at, entry)
        at += 1
    return every


def _swatch(painter: QPainter, colours: Palette, kind: str, box: QRectF) -> None:
    theme = colours.theme
    fill = colours.fill(None)
    painter.setPen(Qt.PenStyle.NoPen)
    if kind == "in file":
        strip = QRectF(box.left(), box.center().y() - IN_FILE_PX / 2, 9, IN_FILE_PX)
        hatch_in_file(painter, strip, theme)
        return
    if kind in ("unknown", "tainted", "absent"):
        ink = theme.error if kind == "tainted" else theme.dim
        painter.setBrush(QBrush(colour(ink), Qt.BrushStyle.BDiagPattern))
        painter.drawRect(box)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour(ink), 1))
        painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))
        return
    pixel = {
        "active": fill.active,
        "neutral": fill.active,
        "held": fill.held,
        "pale": fill.pale,
        "usual": int(colours.steps[StepLook.USUAL]),
        "odd": int(colours.steps[StepLook.LONGER]),
    }[kind]
    painter.setBrush(colour(f"#{pixel & 0xFFFFFF:06x}"))
    if kind == "odd":  # another height: a step up
        corners = [(0, 8), (0, 4), (4.5, 4), (4.5, 0), (9, 0), (9, 8)]
        shifted = [QPointF(box.left() + x, box.top() + y) for x, y in corners]
        painter.drawPolygon(QPolygonF(shifted))
    else:
        painter.drawRoundedRect(box, 1.5, 1.5)
