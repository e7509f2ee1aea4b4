"""What the mouse does in the timeline: scrub, pan, zoom, select, drag handles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPointF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QWheelEvent

from isoscope.core.timeline.model import LaneKind
from isoscope.widgets.timeline.overlay import HANDLE_PX, loop_rows
from isoscope.widgets.timeline.overview import overview_box, whole

if TYPE_CHECKING:
    from isoscope.core.clock import Clock
    from isoscope.widgets.timeline.canvas import Canvas

ZOOM_A_NOTCH = 1.25
NOTCH = 120
PAN_A_NOTCH_PX = 60.0
GRIP_PX = 6.0
SNAP_PX = 6.0


class Mode(Enum):
    """What a pressed button is doing."""

    IDLE = "idle"
    SCRUB = "scrub"
    PAN = "pan"
    SELECT = "select"
    LOOP_IN = "loop in"
    LOOP_OUT = "loop out"
    BOX = "box"
    BOX_LEFT = "box left"
    BOX_RIGHT = "box right"


CURSORS = {
    Mode.PAN: Qt.CursorShape.ClosedHandCursor,
    Mode.LOOP_IN: Qt.CursorShape.SizeHorCursor,
    Mode.LOOP_OUT: Qt.CursorShape.SizeHorCursor,
    Mode.BOX: Qt.CursorShape.OpenHandCursor,
    Mode.BOX_LEFT: Qt.CursorShape.SizeHorCursor,
    Mode.BOX_RIGHT: Qt.CursorShape.SizeHorCursor,
}


@dataclass(slots=True)
class _Grip:
    mode: Mode = Mode.IDLE
    x: float = 0.0  # where it was pressed, then last seen
    row: int = 0


class Gestures(QObject):
    """Turns mouse events of a canvas into commands for the clock and the view.

    `selected` tells a finished selection of rows, both ends inclusive; `chosen` that a
    lane's label was clicked, `marked` that a mark's row was, `picked` in which lane and
    row a chunk may have been.
    """

    selected = Signal(int, int)
    chosen = Signal(str)
    marked = Signal(int)
    picked = Signal(str, int)

    def __init__(self, canvas: Canvas, clock: Clock) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._clock = clock
        self._grip = _Grip()

    @property
    def busy(self) -> bool:
        """Whether a button is held down for something."""
        return self._grip.mode is not Mode.IDLE

    def take(self, event: QEvent) -> bool:
        """Do what an event of the mouse asks for; whether it is one."""
        kind = event.type()
        if isinstance(event, QMouseEvent):
            if kind is QEvent.Type.MouseButtonPress:
                self.press(event)
            elif kind is QEvent.Type.MouseMove:
                self.move(event)
            elif kind is QEvent.Type.MouseButtonRelease:
                self.release(event)
            elif kind is QEvent.Type.MouseButtonDblClick:
                self.double_click(event)
            return True
        if isinstance(event, QWheelEvent):
            self.wheel(event)
            return True
        return False

    # -- mouse --------------------------------------------------------------------

    def press(self, event: QMouseEvent) -> None:
        """Begin what lies under the pointer."""
        canvas = self._canvas
        at = event.position()
        if not canvas.timeline.rows:
            return
        if event.button() is Qt.MouseButton.MiddleButton:
            self._begin(Mode.PAN, at)
        elif event.button() is Qt.MouseButton.LeftButton:
            mode = self._under(at, bool(event.modifiers() & _SHIFT))
            if mode is None:
                placed = canvas.place.lane_at(at.y())
                if placed is not None:
                    self.chosen.emit(placed.lane.key)
                return
            self._begin(mode, at)
            if mode is Mode.SCRUB:
                self._clear_selection()
                self._clock.pause()
                mark = self._mark_at(at)
                self._clock.seek(self._row_at(at.x()) if mark is None else mark)
                if mark is not None:
                    self.marked.emit(mark)
                placed = canvas.place.lane_at(at.y())
                if placed is not None and placed.lane.kind is LaneKind.CHUNKS:
                    self.picked.emit(placed.lane.key, self._row_at(at.x()))
            elif mode is Mode.BOX and not self._on_box(at):
                self._centre_box(at.x())

    def move(self, event: QMouseEvent) -> None:
        """Go on with it, or say what could be begun here."""
        at = event.position()
        grip = self._grip
        step = at.x() - grip.x
        if grip.mode is Mode.IDLE:
            self._hover(at)
            return
        if grip.mode is Mode.SCRUB:
            self._clock.seek(self._row_at(self._pulled(at.x())))
        elif grip.mode is Mode.SELECT:
            row = self._row_at(self._pulled(at.x()))
            span = (min(row, grip.row), max(row, grip.row))
            pointing = replace(self._canvas.pointing, selection=span)
            self._canvas.set_pointing(pointing)
        elif grip.mode is Mode.PAN:
            self._canvas.set_view(self._canvas.view.panned(-step))
        elif grip.mode in (Mode.LOOP_IN, Mode.LOOP_OUT):
            self._drag_loop(at.x())
        else:
            self._drag_box(step, at.x())
        grip.x = at.x()

    def release(self, event: QMouseEvent) -> None:
        """Finish it."""
        mode = self._grip.mode
        self._grip = _Grip()
        selection = self._canvas.pointing.selection
        if mode is Mode.SELECT and selection is not None:
            self.selected.emit(*selection)
        self._hover(event.position())

    def leave(self) -> None:
        """Forget what was pointed at."""
        if not self.busy:
            self._canvas.set_pointing(replace(self._canvas.pointing, hover=None))

    def double_click(self, event: QMouseEvent) -> None:
        """Show everything."""
        if event.button() is Qt.MouseButton.LeftButton:
            self._grip = _Grip()
            self._canvas.fit()

    def wheel(self, event: QWheelEvent) -> None:
        """Zoom at the pointer; pan with Shift or sideways; scroll over the labels."""
        canvas = self._canvas
        if not canvas.timeline.rows:
            return
        turn, fine = event.angleDelta(), event.pixelDelta()
        at = event.position()
        sideways = fine.x() if not fine.isNull() else turn.x() * PAN_A_NOTCH_PX / NOTCH
        down = fine.y() if not fine.isNull() else turn.y() * PAN_A_NOTCH_PX / NOTCH
        if event.modifiers() & _SHIFT:
            self._pan(-(sideways or down))
        elif abs(sideways) > abs(down):
            self._pan(-sideways)
        elif at.x() < canvas.place.left or event.modifiers() & _ALT:
            canvas.set_scroll(canvas.scrolled - round(down or sideways))
        elif turn.y():
            factor = ZOOM_A_NOTCH ** (-turn.y() / NOTCH)
            self.zoom(factor, at.x())
        event.accept()

    def zoom(self, factor: float, x: float) -> None:
        """Show `factor` times as many rows, keeping the row under canvas x."""
        canvas = self._canvas
        view = canvas.view
        grown = view.scaled(x - canvas.place.left, factor)
        canvas.set_view(grown, fitted=grown.all_shown and factor > 1)

    # -- inside -------------------------------------------------------------------

    def _begin(self, mode: Mode, at: QPointF) -> None:
        row = self._row_at(at.x())
        self._grip = _Grip(mode, at.x(), row)
        canvas = self._canvas
        if mode in CURSORS:
            canvas.setCursor(CURSORS[mode])
        canvas.set_pointing(replace(canvas.pointing, hover=None))

    def _row_at(self, x: float) -> int:
        canvas = self._canvas
        row = canvas.view.row_at(x - canvas.place.left)
        return min(row, max(canvas.timeline.rows - 1, 0))

    def _mark_at(self, at: QPointF) -> int | None:
        # A mark under the pointer is what was meant, however many rows are there.
        canvas = self._canvas
        placed = canvas.place.lane_at(at.y())
        row = self._row_at(at.x())
        if placed is None or placed.lane.kind is not LaneKind.EVENTS:
            return None
        reach = int(SNAP_PX * canvas.view.per_px) + 1
        marks = placed.lane.marks
        near = marks.between(row - reach, row + reach + 1)
        if not near:
            return None
        best = max(
            near, key=lambda i: (marks.shapes[i], -abs(int(marks.rows[i]) - row))
        )
        return int(marks.rows[best])

    def _pulled(self, x: float) -> float:
        # Beyond the edge, the view follows the pointer.
        canvas = self._canvas
        place = canvas.place
        beyond = min(x - place.left, 0.0) + max(x - place.right, 0.0)
        if beyond and not canvas.view.all_shown:
            canvas.set_view(canvas.view.panned(beyond / 4))
        return min(max(x, place.left), place.right - 1)

    def _under(self, at: QPointF, shift: bool) -> Mode | None:
        canvas = self._canvas
        place = canvas.place
        if place.in_overview(at.y()):
            return self._box_part(at.x())
        if at.y() < place.ruler_top:
            return None
        if place.in_ruler(at.y()) and not shift:
            loop = self._loop_end(at.x())
            if loop is not None:
                return loop
        if at.x() < place.left - HANDLE_PX or at.x() > place.right + HANDLE_PX:
            return None
        return Mode.SELECT if shift else Mode.SCRUB

    def _loop_end(self, x: float) -> Mode | None:
        rows = loop_rows(self._canvas.state)
        if rows is None:
            return None
        frame = self._canvas.frame()
        ends = (frame.x_of(rows[0]), frame.x_of(rows[1] + 1))
        away = [abs(x - end) for end in ends]
        if min(away) > GRIP_PX:
            return None
        # where both ends are near, the side that the pointer is on decides
        out = away[1] < away[0] or (away[0] == away[1] and x >= ends[1])
        return Mode.LOOP_OUT if out else Mode.LOOP_IN

    def _box_part(self, x: float) -> Mode:
        box = overview_box(self._canvas.frame())
        if not self._canvas.view.all_shown and box.width() > 3 * GRIP_PX:
            if abs(x - box.left()) <= GRIP_PX:
                return Mode.BOX_LEFT
            if abs(x - box.right()) <= GRIP_PX:
                return Mode.BOX_RIGHT
        return Mode.BOX

    def _on_box(self, at: QPointF) -> bool:
        box = overview_box(self._canvas.frame())
        return box.left() - 2 <= at.x() <= box.right() + 2

    def _centre_box(self, x: float) -> None:
        canvas = self._canvas
        row = whole(canvas.frame()).row_at(x - canvas.place.left)
        view = canvas.view
        away = row + 0.5 - (view.first + view.last) / 2
        canvas.set_view(view.panned(away / view.per_px))

    def _drag_loop(self, x: float) -> None:
        rows = loop_rows(self._clock.state)
        if rows is None:
            return
        row = self._row_at(self._pulled(x))
        low, high = rows
        if self._grip.mode is Mode.LOOP_IN:
            self._clock.set_loop_range(min(row, high), high)
        else:
            self._clock.set_loop_range(low, max(row, low))

    def _drag_box(self, step_px: float, x: float) -> None:
        canvas = self._canvas
        full = whole(canvas.frame())
        view = canvas.view
        if self._grip.mode is Mode.BOX:
            if not view.all_shown:
                canvas.set_view(view.panned(step_px * full.per_px / view.per_px))
            return
        edge = full.first + (x - canvas.place.left) * full.per_px
        least = 2.0
        if self._grip.mode is Mode.BOX_LEFT:
            low, high = min(max(edge, 0.0), view.last - least), view.last
        else:
            low, high = view.first, max(min(edge, full.rows), view.first + least)
        canvas.set_view(view.spanning(low, high))

    def _pan(self, px: float) -> None:
        self._canvas.set_view(self._canvas.view.panned(round(px)))

    def _hover(self, at: QPointF) -> None:
        canvas = self._canvas
        place = canvas.place
        mode = self._under(at, shift=False)
        canvas.setCursor(CURSORS.get(mode or Mode.IDLE, Qt.CursorShape.ArrowCursor))
        inside = place.left <= at.x() < place.right
        over = place.ruler_top <= at.y() < place.lanes_bottom
        hover = canvas.view.row_at(at.x() - place.left) if inside and over else None
        canvas.set_pointing(replace(canvas.pointing, hover=hover))

    def _clear_selection(self) -> None:
        pointing = self._canvas.pointing
        if pointing.selection is not None:
            self._canvas.set_pointing(replace(pointing, selection=None))


_SHIFT = Qt.KeyboardModifier.ShiftModifier
_ALT = Qt.KeyboardModifier.AltModifier
