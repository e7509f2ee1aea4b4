"""How the timeline's painting depends on the length of a run, as ratios.

`bench_timeline` paints a run of 1,000,000 native steps and one of 1,000 in turn, so
that both meet the same noise, and compares the medians. Run it alone with
``python -m tests.bench.bench_timeline``; it prints one JSON object.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtWidgets import QApplication

from isoscope.core.recording.model import Labels, Recording, StepKind
from isoscope.widgets.session import Document, Phase, Session
from isoscope.widgets.timeline.panel import TimelinePanel

if TYPE_CHECKING:
    from collections.abc import Callable

FEW, MANY = 1_000, 1_000_000
SIZE = (1000, 260)


def run_of(rows: int, envs: int = 8, substeps: int = 2, episode: int = 40) -> Recording:
    """A run of `envs` environments in turn; a reset before every episode."""
    row = np.arange(rows)
    turn = row // substeps
    count = turn // envs  # of each environment
    control = count % episode
    reset = control == 0
    labels = Labels(
        (turn % envs).astype(np.int32),
        (count // episode + 1).astype(np.int32),
        control.astype(np.int32),
        (row % substeps).astype(np.int32),
        np.where(reset, StepKind.RESET, StepKind.SUBSTEP).astype(np.int8),
    )
    h_s = np.where(reset, 1e-5, 0.02)
    gravity = np.tile([0.0, -9.8, 0.0], (rows, 1))
    made = Recording(None, "bench", labels=labels, complete=True)
    made.steps.append(row, np.cumsum(h_s), h_s, gravity)
    return made


class _Source:
    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.event_count = len(recording)

    def preview(self, event: int | None = None) -> Recording | None:
        return None

    def index(self, progress: object = None, cancelled: object = None) -> None:
        return None

    def close(self) -> None:
        return None


def _open(rows: int) -> tuple[Session, TimelinePanel]:
    session = Session()
    panel = TimelinePanel(session)
    panel.resize(*SIZE)
    document = Document(_Source(run_of(rows)))
    document.phase = Phase.READY
    session.add(document)
    panel.show()
    QApplication.processEvents()
    return session, panel


def _paint_all(panel: TimelinePanel, turn: int) -> float:
    view = panel.canvas.view
    panel.canvas.set_view(view.scaled(0.0, 0.999 if turn % 2 else 1 / 0.999))
    return _timed(panel.canvas.repaint)


def _paint_zoomed(panel: TimelinePanel, turn: int) -> float:
    middle = panel.canvas.timeline.rows // 2 + turn
    panel.canvas.set_view(panel.canvas.view.spanning(middle, middle + 200))
    return _timed(panel.canvas.repaint)


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def bench_timeline(runs: int = 15) -> dict[str, float]:
    """Seconds a frame and their ratios; needs a QApplication.

    Keys: ``ratio_rows_all``, ``ratio_rows_zoomed`` (1,000,000 rows against 1,000, both
    wholly in sight and zoomed to 200 rows) and ``ratio_rows_cursor`` (moving the
    playhead), with the raw seconds of each beside them.
    """
    opened = {rows: _open(rows) for rows in (FEW, MANY)}
    taken: dict[tuple[str, int], list[float]] = {}
    for turn in range(runs + 3):
        for rows, (session, panel) in opened.items():
            panel.fit()
            figures = {"all": _paint_all(panel, turn)}
            figures["zoomed"] = _paint_zoomed(panel, turn)
            panel.fit()
            panel.canvas.repaint()
            session.clock.seek((turn * 37) % rows)
            figures["cursor"] = _timed(QApplication.processEvents)
            if turn >= 3:  # after a warm-up
                for name, seconds in figures.items():
                    taken.setdefault((name, rows), []).append(seconds)
    figures = {}
    for name in ("all", "zoomed", "cursor"):
        few, many = (statistics.median(taken[name, rows]) for rows in (FEW, MANY))
        figures[f"{name}_s_{FEW}"] = few
        figures[f"{name}_s_{MANY}"] = many
        figures[f"ratio_rows_{name}"] = many / few
    for _, panel in opened.values():
        panel.release()
        panel.close()
    return figures


if __name__ == "__main__":
    if not os.environ.get("DISPLAY"):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QApplication.instance() or QApplication(sys.argv)
    json.dump(bench_timeline(), sys.stdout, indent=1)
    sys.stdout.write("\n")
