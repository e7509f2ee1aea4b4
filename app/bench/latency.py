"""How late the GUI thread comes to what is posted to it, the painting by GL apart."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtOpenGLWidgets import QOpenGLWidget
from vispy import gloo

from isoscope.widgets.scene.view import SceneView

EVERY_S = 0.004
DRAW = "_draw"  # what a scene's canvas calls to be painted


class Latency(QObject):
    """Posts from a thread of its own, and notes when it was heard.

    Attributes
    ----------
    taken
        [n] of (posted, heard), [s].
    """

    posted = Signal(float)

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[tuple[float, float]] = []
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self.posted.connect(self._heard, Qt.ConnectionType.QueuedConnection)

    def begin(self) -> None:
        """Begin anew."""
        self.taken = []
        self._over.clear()
        self._thread = threading.Thread(target=self._post, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop posting."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _post(self) -> None:
        while not self._over.wait(EVERY_S):
            self.posted.emit(time.perf_counter())

    def _heard(self, at: float) -> None:
        self.taken.append((at, time.perf_counter()))

    def p999_s(self, painting: list[tuple[float, float]]) -> float:
        """The 99.9th percentile, without what lay in these stretches, [s]."""
        late = [
            heard - at - sum(_overlap(at, heard, one) for one in painting)
            for at, heard in self.taken
        ]
        return float(np.percentile(late, 99.9)) if late else float("nan")


class Painting:
    """Notes when GL paints: the scene, and the window that the scene is in.

    Made before the window is. What the driver puts off is waited for, so that it counts
    as painting, too. Of the scenes that `watch` was told of all of a picture counts,
    with what Qt has GL do when it is drawn; and a window with a scene in it is put
    together and shown by GL, and that is waited for by Qt.

    Attributes
    ----------
    spent
        [n] of (begin, end) of the scene alone, [s].
    composed
        [n] of (begin, end) of putting the window together, [s].
    """

    def __init__(self) -> None:
        self.spent: list[tuple[float, float]] = []
        self.composed: list[tuple[float, float]] = []
        self._composing = 0.0
        self._whole = _Whole(self.spent)
        self._kind = SceneView
        self._original = getattr(SceneView, DRAW)
        spent, original, whole = self.spent, self._original, self._whole

        def draw(view: SceneView, *size: Any) -> None:
            begun = time.perf_counter()
            original(view, *size)
            gloo.finish()
            if not whole.painting:
                spent.append((begun, time.perf_counter()))

        setattr(self._kind, DRAW, draw)

    def watch(self, view: SceneView) -> None:
        """Note when the window of this scene is put together."""
        widget = view.canvas_widget
        if isinstance(widget, QOpenGLWidget):
            widget.installEventFilter(self._whole)
            widget.aboutToCompose.connect(self._begin)
            widget.frameSwapped.connect(self._end)

    def clear(self) -> None:
        """Begin anew."""
        self.spent.clear()
        self.composed.clear()

    def _begin(self) -> None:
        self._composing = time.perf_counter()

    def _end(self) -> None:
        if self._composing:
            self.composed.append((self._composing, time.perf_counter()))
        self._composing = 0.0

    def remove(self) -> None:
        """Note nothing more."""
        setattr(self._kind, DRAW, self._original)


class _Whole(QObject):
    """Notes when a scene's widget is painted, from begin to end."""

    def __init__(self, spent: list[tuple[float, float]]) -> None:
        super().__init__()
        self.painting = False
        self._spent = spent

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Have it painted here, and wait for the driver."""
        paints = event.type() is QEvent.Type.Paint
        if not paints or not isinstance(watched, QOpenGLWidget):
            return False
        begun, self.painting = time.perf_counter(), True
        try:
            watched.event(event)
        finally:
            self.painting = False
        watched.makeCurrent()
        watched.context().functions().glFinish()
        self._spent.append((begun, time.perf_counter()))
        return True


def _overlap(begin: float, end: float, other: tuple[float, float]) -> float:
    return max(0.0, min(end, other[1]) - max(begin, other[0]))
