"""The widget that OpenGL draws into, made by vispy inside Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QObject, Qt, Signal, qInstallMessageHandler
from PySide6.QtGui import QImage

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtOpenGLWidgets import QOpenGLWidget
    from PySide6.QtWidgets import QWidget

    from isoscope.core.recording.tracks import Array

# vispy's Qt backend takes Qt's messages over when it is imported; they stay whose they
# were.
_messages = qInstallMessageHandler(None)
from vispy import app as vispy_app  # noqa: E402
from vispy import gloo  # noqa: E402
from vispy.app.backends import _pyside6  # noqa: E402, F401

qInstallMessageHandler(_messages)

SAMPLES = 4


class Canvas(QObject):
    """A QOpenGLWidget with a gloo context.

    `lost` is emitted, from the event loop, when Qt took the context away: what was
    uploaded is gone, and another canvas has to be made.

    Parameters
    ----------
    parent
        Of the widget.
    draw
        Called with (width, height, scale) when a frame is to be drawn: physical pixels,
        and how many of them are one pixel of the design.
    failed
        Called with one line when drawing raised; nothing is drawn after that.
    """

    lost = Signal()
    _going = Signal()

    def __init__(
        self,
        parent: QWidget,
        draw: Callable[[int, int, float], None],
        failed: Callable[[str], None],
    ) -> None:
        super().__init__(parent)
        self._draw = draw
        self._failed = failed
        self._broken = False
        self._watched = False
        self._canvas: Any = vispy_app.Canvas(
            app="pyside6",
            parent=parent,
            autoswap=False,  # Qt composes the window itself
            dpi=96,  # or vispy asks another program for it
            config={"samples": SAMPLES, "depth_size": 24, "stencil_size": 8},
            show=False,
        )
        self._canvas.events.draw.connect(self._on_draw)
        self._going.connect(self.lost, Qt.ConnectionType.QueuedConnection)

    @property
    def widget(self) -> QOpenGLWidget:
        """The widget."""
        native: QOpenGLWidget = self._canvas.native
        return native

    def update(self) -> None:
        """Draw a frame when Qt finds the time."""
        self.widget.update()

    def activate(self) -> None:
        """Make its context the current one."""
        self._canvas.set_current()

    def image(self) -> Array:
        """What is on it: uint8 [height, width, 3] in physical pixels."""
        image = self.widget.grabFramebuffer().convertToFormat(
            QImage.Format.Format_RGB888
        )
        lines = np.frombuffer(image.constBits(), np.uint8)
        lines = lines.reshape(image.height(), image.bytesPerLine())
        return lines[:, : 3 * image.width()].reshape(image.height(), -1, 3).copy()

    def close(self) -> None:
        """Let go of it; called once, before the widget is deleted."""
        self._broken = True
        self._canvas.events.draw.disconnect(self._on_draw)

    def _on_draw(self, _event: object) -> None:
        if self._broken:
            return
        if not self._watched:
            self._watched = True
            self.widget.context().aboutToBeDestroyed.connect(self._context_goes)
        width, height = self._canvas.physical_size
        gloo.set_stencil_mask(0xFF)  # or the bits of the frame before would stay
        gloo.clear(color=(0.0, 0.0, 0.0, 1.0), depth=True, stencil=True)
        try:
            self._draw(int(width), int(height), self.widget.devicePixelRatioF())
        except (RuntimeError, ValueError, TypeError) as error:
            # vispy raises these for shaders and buffers that the driver refuses.
            self._broken = True
            self._failed(str(error))

    def _context_goes(self) -> None:
        if not self._broken:
            self._broken = True
            self._going.emit()
