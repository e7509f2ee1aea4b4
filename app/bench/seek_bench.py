"""How long a seek takes until every visible panel is painted, in the real window.

Against it, in the same run and in turn: vispy's own scene graph redrawing the same
bodies alone, in a window that is just as large as the scene panel's canvas, seen from
the same place, with the same antialiasing.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from isoscope.app.bench.alone import SceneAlone
from isoscope.app.commands.open import application
from isoscope.app.display import check_display
from isoscope.app.screenshot import wait_settled
from isoscope.app.settings import Settings
from isoscope.app.window import Window
from isoscope.app.workers import Workers
from isoscope.app.workspace import Workspace
from isoscope.core.bench import interleave, ratio
from isoscope.core.errors import IsoscopeError
from isoscope.widgets.scene.panel import ScenePanel
from isoscope.widgets.scene.view import SceneView
from isoscope.widgets.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROUNDS = 200  # so that ten of them lie above the p95
WARMUP = 20
LAYOUT = "inspect"
INDEX_TIMEOUT_S = 300.0
SEEK_TIMEOUT_S = 10.0
SEED = 20261130


class BenchError(IsoscopeError):
    """A benchmark that can't be carried out here."""


def run(file: Path) -> dict[str, Any]:
    """Seek to random native steps; gives `runs` and the figures.

    Raises
    ------
    IsoscopeError
        If there is no display, or the file can't be shown.
    """
    check_display()
    app = application()
    session = Session()
    window = Window(Workspace(session, Workers(), Settings(remember=False)), "dark")
    try:
        window.set_layout(LAYOUT)
        window.open_files([file])
        window.show()
        wait_settled(window, INDEX_TIMEOUT_S)
        return _measure(app, window)
    finally:
        window.close()
        window.deleteLater()
        app.processEvents()


def _measure(app: QApplication, window: Window) -> dict[str, Any]:
    session = window.session
    document = session.active
    panel = window.panels["scene"]
    view = panel.findChild(SceneView)
    if document is None or document.error or document.rows < 2:
        why = document.error if document is not None else "nothing was opened"
        raise BenchError(f"measuring seeks: {why or 'a single step is no recording'}")
    if not isinstance(panel, ScenePanel) or not isinstance(view, SceneView):
        raise BenchError("measuring seeks: the scene can't be drawn here; see doctor")
    rows = _rows(document.rows)
    alone = SceneAlone(document.recording, view.canvas_widget, view.control.camera)
    alone.prepare(set(rows))
    coming = iter(rows)

    def seek() -> None:
        session.clock.seek(next(coming))
        _wait(window.settled)

    def redraw() -> None:
        drawn = alone.drawn
        alone.redraw(session.clock.row)
        _wait(lambda: alone.drawn > drawn)

    try:
        _wait(lambda: alone.drawn > 0)
        samples = interleave({"seek": seek, "alone": redraw}, ROUNDS, WARMUP)
    finally:
        alone.close()
        app.processEvents()
    seeking, drawing = samples["seek"], samples["alone"]
    width, height = alone.size
    return {
        "runs": ROUNDS,
        "ratio_p95": ratio(seeking.p95_s, drawing.p95_s),
        "ratio_median": ratio(seeking.median_s, drawing.median_s),
        "seek_p95_s": seeking.p95_s,
        "seek_median_s": seeking.median_s,
        "alone_p95_s": drawing.p95_s,
        "alone_median_s": drawing.median_s,
        "canvas_px": [width, height],
        "window_px": [window.width(), window.height()],
        "panels": [p.title for p in window.panels.values() if p.isVisible()],
        "rows": document.rows,
        "opengl": alone.renderer,
    }


def _rows(count: int) -> list[int]:
    """Random rows, none of them the one before it."""
    picks = np.random.default_rng(SEED).integers(0, count - 1, WARMUP + ROUNDS)
    rows = [int(picks[0])]
    for pick in picks[1:].tolist():
        rows.append(pick + (pick >= rows[-1]))
    return rows


def _wait(done: Callable[[], bool]) -> None:
    """Let Qt work until it is done, looking after every turn of its loop."""
    end = time.monotonic() + SEEK_TIMEOUT_S
    ticker = QTimer()  # wakes the loop where nothing else does
    ticker.setInterval(1)
    ticker.start()
    flags = QEventLoop.ProcessEventsFlag.WaitForMoreEvents
    while not done():
        QApplication.processEvents(flags)
        if time.monotonic() > end:
            raise BenchError(
                f"measuring seeks: not painted within {SEEK_TIMEOUT_S:g} s"
            )
    ticker.stop()
