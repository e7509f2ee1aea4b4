"""A picture of the window, with what OpenGL drew in it, once all of it is drawn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QEventLoop, QIODevice, QTimer
from PySide6.QtWidgets import QApplication

from isoscope.core.errors import IsoscopeError
from isoscope.core.newfile import new_file

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtGui import QPixmap
    from PySide6.QtWidgets import QWidget

    from isoscope.app.window.window import Window

TIMEOUT_S = 60.0
QUIET_S = 0.15  # so long nothing may be left to do
LOOK_EVERY_MS = 20


class ScreenshotError(IsoscopeError):
    """A picture that could not be taken."""


def wait_settled(window: Window, timeout_s: float = TIMEOUT_S) -> None:
    """Let the window work until it is settled for a moment.

    Raises
    ------
    ScreenshotError
        If it isn't within `timeout_s`; the message names what isn't.
    """
    end = time.monotonic() + timeout_s
    quiet_since: float | None = None
    loop = QEventLoop()
    ticker = QTimer()
    ticker.setInterval(LOOK_EVERY_MS)

    def look() -> None:
        nonlocal quiet_since
        now = time.monotonic()
        if not window.settled():
            quiet_since = None
        elif quiet_since is None:
            quiet_since = now
        if quiet_since is not None and now - quiet_since >= QUIET_S:
            loop.exit(0)
        elif now > end or not window.isVisible():
            loop.exit(1)

    ticker.timeout.connect(look)
    ticker.start()
    code = loop.exec()
    ticker.stop()
    if code:
        raise ScreenshotError(f"taking a picture: {_unsettled(window, timeout_s)}")


def _unsettled(window: Window, timeout_s: float) -> str:
    if not window.isVisible():
        return "the window was closed"
    waiting = [p.title for p in window.panels.values() if not p.settled()]
    if window.workspace.busy:
        waiting.insert(0, "the index")
    names = ", ".join(waiting) or "the window"
    return f"after {timeout_s:g} s still waiting for {names}"


def grab(widget: QWidget) -> QPixmap:
    """The widget as it looks, at the screen's own resolution."""
    QApplication.processEvents(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents)
    return widget.grab()


def save_png(widget: QWidget, path: Path, *, overwrite: bool = False) -> None:
    """Save a picture of the widget, whole or not at all.

    Raises
    ------
    IsoscopeError
        If it can't be written.
    """
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not grab(widget).save(buffer, "PNG"):
        raise ScreenshotError(f"writing {path}: the picture can't be made into a PNG")
    with new_file(path, overwrite=overwrite) as file:
        file.write(bytes(buffer.data().data()))
