"""Mouse and keys to camera moves; the way moved in a second is the same at any rate.

Left drag orbits, right drag looks about, middle drag pans, the wheel zooms to what is
under the pointer. W A S D move, Q and E go down and up, Shift is faster: these are read
as keys held down, so they need the focus and are not in the table of actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from PySide6.QtCore import (
    QElapsedTimer,
    QEvent,
    QObject,
    QPoint,
    QPointF,
    QRectF,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QWheelEvent,
)

from isoscope.widgets.scene.camera import Camera, between

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from isoscope.core.recording.tracks import Array

FRAME_MS = 16
FLIGHT_MS = 220
_CLICK_PX = 4
# A frame that took longer than this was held up: don't fly through the wall for it.
_LONGEST_S = 0.1

_Button = Qt.MouseButton
_Key = Qt.Key


class CameraControl(QObject):
    """Holds the camera of one widget and moves it by that widget's events."""

    moved = Signal()
    clicked = Signal(float, float)  # x, y as in Camera.ray
    double_clicked = Signal(float, float)
    asked = Signal(float, float, QPoint)  # the pointer rests: x, y, and on the screen

    # Right, up, forward.
    KEYS: ClassVar[dict[int, tuple[int, int, int]]] = {
        _Key.Key_W: (0, 0, 1),
        _Key.Key_S: (0, 0, -1),
        _Key.Key_D: (1, 0, 0),
        _Key.Key_A: (-1, 0, 0),
        _Key.Key_E: (0, 1, 0),
        _Key.Key_Q: (0, -1, 0),
    }

    def __init__(self, widget: QWidget, parent: QObject) -> None:
        super().__init__(parent)
        self.camera = Camera()
        self.touched = False  # whether the user chose a view, which then stays
        # Which part of the widget the picture around a place fills: a grid's cell.
        self.room: Callable[[QPointF], QRectF | None] | None = None
        self.pressed_at = QPointF()
        self._widget = widget
        self._held: set[int] = set()
        self._fast = False
        self._from = QPointF()
        self._last = QPointF()
        self._dragging = False
        self._flight: tuple[Camera, Camera] | None = None
        self._clock = QElapsedTimer()
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME_MS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        widget.installEventFilter(self)

    def watch(self, widget: QWidget) -> None:
        """Take another widget's events from now on; the camera stays."""
        self._release()
        self._widget = widget
        widget.installEventFilter(self)

    @property
    def moving(self) -> bool:
        """Whether the camera moves by itself just now."""
        return self._timer.isActive()

    def jump(self, camera: Camera) -> None:
        """Take this camera at once."""
        self._flight = None
        self._set(camera)

    def fly(self, camera: Camera) -> None:
        """Go there within a moment, so that the eye can follow."""
        self._flight = (self.camera, camera)
        self._start()

    def shift(self, way: Array) -> None:
        """Move everything along by this [3], also a flight under way."""
        if not np.any(way):
            return
        if self._flight is not None:
            start, end = self._flight
            self._flight = (start.shifted(way), end.shifted(way))
        self._set(self.camera.shifted(way))

    def stop(self) -> None:
        """Let go of all keys and end a flight where it leads."""
        if self._flight is not None:
            self.jump(self._flight[1])
        self._held.clear()
        self._timer.stop()

    def _room(self, at: QPointF) -> QRectF:
        """The rectangle of the widget that the picture around this place fills."""
        found = self.room(at) if self.room is not None else None
        return QRectF(self._widget.rect()) if found is None else found

    def pointer(self, at: QPointF) -> tuple[float, float]:
        """A place on the widget as `Camera.ray` takes it."""
        room = self._room(at)
        half = max(room.height(), 1.0) / 2
        middle = room.center()
        return (at.x() - middle.x()) / half, (middle.y() - at.y()) / half

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Take the events that move the camera; the others go on."""
        if isinstance(event, QMouseEvent):
            return self._mouse(event)
        if isinstance(event, QWheelEvent):
            return self._wheel(event)
        if isinstance(event, QKeyEvent):
            return self._key(event)
        if isinstance(event, QHelpEvent):
            self.pressed_at = QPointF(event.pos())
            x, y = self.pointer(self.pressed_at)
            self.asked.emit(x, y, event.globalPos())
            return True
        if isinstance(event, QFocusEvent) and event.lostFocus():
            self._release()
        # The right button looks about: the window's menu would come up under it.
        return event.type() == QEvent.Type.ContextMenu

    # -- events -----------------------------------------------------------------------

    def _mouse(self, event: QMouseEvent) -> bool:
        at = event.position()
        kind = event.type()
        if kind == QEvent.Type.MouseButtonPress:
            self._widget.setFocus(Qt.FocusReason.MouseFocusReason)
            self._from = self._last = self.pressed_at = at
            self._dragging = False
        elif kind == QEvent.Type.MouseMove and event.buttons() != _Button.NoButton:
            self._drag(event.buttons(), at)
        elif kind == QEvent.Type.MouseButtonRelease:
            if not self._dragging and event.button() == _Button.LeftButton:
                self.clicked.emit(*self.pointer(at))
            self._dragging = False
        elif kind == QEvent.Type.MouseButtonDblClick:
            # The release that follows is no click of its own.
            self._dragging = True
            self.pressed_at = at
            if event.button() == _Button.LeftButton:
                self.double_clicked.emit(*self.pointer(at))
        return True

    def _drag(self, buttons: Qt.MouseButton, at: QPointF) -> None:
        if not self._dragging:
            if (at - self._from).manhattanLength() < _CLICK_PX:
                return
            self._dragging = True
        dx, dy = at.x() - self._last.x(), at.y() - self._last.y()
        self._last = at
        camera = self.camera
        if buttons & _Button.LeftButton:
            camera = camera.orbited(dx, dy)
        elif buttons & _Button.RightButton:
            camera = camera.looked(dx, dy)
        elif buttons & _Button.MiddleButton:
            camera = camera.panned(dx, dy, self._room(self._from).height())
        self._by_user(camera)

    def _wheel(self, event: QWheelEvent) -> bool:
        notches = event.angleDelta().y() / 120.0
        if notches:
            x, y = self.pointer(event.position())
            self._by_user(self.camera.zoomed(notches, x, y))
        return True

    def _key(self, event: QKeyEvent) -> bool:
        kind = event.type()
        key = event.key()
        if key == _Key.Key_Shift:
            self._fast = kind == QEvent.Type.KeyPress
            return False
        plain = event.modifiers() & ~(
            Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier
        )
        if key not in self.KEYS or plain != Qt.KeyboardModifier.NoModifier:
            return False
        if kind == QEvent.Type.ShortcutOverride:
            # Without this an action bound to the same letter would take the key.
            event.accept()
            return True
        if event.isAutoRepeat():
            return True
        if kind == QEvent.Type.KeyPress:
            self._fast = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._held.add(key)
            self._flight = None
            self._start()
        elif kind == QEvent.Type.KeyRelease and key in self._held:
            # A tap shorter than a frame counts for as long as it was.
            self.advance(min(self._clock.restart() / 1000.0, _LONGEST_S))
            self._held.discard(key)
        return True

    def _release(self) -> None:
        self._held.clear()
        self._fast = False

    # -- moving by itself -------------------------------------------------------------

    def _start(self) -> None:
        self._clock.start()
        self._timer.start()

    def _tick(self) -> None:
        if self._flight is not None:
            part = min(self._clock.elapsed() / FLIGHT_MS, 1.0)
            start, end = self._flight
            if part >= 1.0:
                self._flight = None
            self._set(between(start, end, part) if part < 1.0 else end)
        elif self._held:
            self.advance(min(self._clock.restart() / 1000.0, _LONGEST_S))
        if self._flight is None and not self._held:
            self._timer.stop()

    def advance(self, dt_s: float) -> None:
        """Move by the keys held for `dt_s` seconds."""
        ways = [self.KEYS[key] for key in self._held]
        if ways:
            right, up, forward = (sum(way) for way in zip(*ways, strict=True))
            self._by_user(self.camera.moved(right, up, forward, dt_s, fast=self._fast))

    def _by_user(self, camera: Camera) -> None:
        self._flight = None
        self.touched = True
        self._set(camera)

    def _set(self, camera: Camera) -> None:
        if camera is not self.camera:
            self.camera = camera
            self.moved.emit()
