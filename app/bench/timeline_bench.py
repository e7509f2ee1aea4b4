"""A timeline of a million chunks against one of a thousand: seconds a frame.

Both are painted in turn, in the window's own panel, so that both meet the same noise:
everything in sight, and zoomed to one chunk.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtWidgets import QApplication

from isoscope.core.bench import interleave, ratio
from isoscope.core.errors import IsoscopeError
from isoscope.core.following.told import Told
from isoscope.core.recording.model import Labels, Recording, StepKind
from isoscope.core.timeline.chunks import ChunkNews, State
from isoscope.widgets.document import Document, Phase
from isoscope.widgets.session import Session
from isoscope.widgets.timeline.panel import TimelinePanel

if TYPE_CHECKING:
    from collections.abc import Callable

FEW, MANY = 1_000, 1_000_000
SOURCES, BATCH, ROWS = 8, 2, 2  # ROWS native steps a chunk of one source
ROUNDS, WARMUP = 15, 3
SIZE = (1200, 320)
BLOCK = 1 << 16
PATIENCE_S = 120.0


class _Source:
    """Holds a recording that is complete."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    @property
    def event_count(self) -> int:
        return len(self.recording)

    def preview(self, event: int | None = None) -> Recording | None:
        return None

    def index(self, progress: Any = None, cancelled: Any = None) -> None:
        return None

    def close(self) -> None:
        return None


def made_document(chunks: int) -> Document:
    """A run of so many chunks of 8 sources: most flushed, the last on their way."""
    each = chunks // SOURCES
    rows = each * ROWS
    row = np.arange(rows)
    env = (row % (SOURCES * BATCH)).astype(np.int32)
    control = (row // (SOURCES * BATCH) % 64).astype(np.int32)
    labels = Labels(
        env,
        (row // (SOURCES * BATCH) // 64 + 1).astype(np.int32),
        control,
        np.zeros(rows, np.int32),
        np.where(control == 0, StepKind.RESET, StepKind.SUBSTEP).astype(np.int8),
    )
    recording = Recording(None, "bench", labels=labels, complete=True)
    h_s = np.full(rows, 0.01)
    gravity = np.tile([0.0, -9.8, 0.0], (rows, 1))
    recording.steps.append(row, np.cumsum(h_s), h_s, gravity)
    document = Document(_Source(recording))
    document.phase = Phase.READY
    document.told = Told()
    for start in range(0, each, BLOCK):
        stop = min(start + BLOCK, each)
        document.told.chunks.take(_news(start, stop, each))
    return document


def _news(start: int, stop: int, each: int) -> ChunkNews:
    chunk = np.arange(start, stop, dtype=np.int64)
    keys, states, rows = [], [], []
    for source in range(SOURCES):
        for state, after in (
            (State.POLICY, 0),
            (State.ENV, 1),
            (State.JOINED, 1),
            (State.FLUSHED, 1),
        ):
            # The last ones of each source are not over yet, one kind each.
            over = each - int(state).bit_length() * 3
            told = chunk[chunk < over] if state is not State.POLICY else chunk
            key = np.zeros((len(told), 5), np.int64)
            key[:, 0], key[:, 2], key[:, 4] = told // 1000, source, told % 1000
            keys.append(key)
            states.append(np.full(len(told), state, np.uint8))
            rows.append(told * ROWS + after)
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    count = len(row)
    return ChunkNews(
        np.concatenate(keys)[order],
        np.concatenate(states)[order],
        np.tile(np.array([[0, BATCH]], np.int32), (count, 1)),
        row[order] * 0.01,
        row[order] * 0.01,
        row[order].astype(np.int64),
    )


def run(rounds: int = ROUNDS) -> dict[str, Any]:
    """Seconds a frame and their ratios.

    ``ratio_items`` is the worse of both views, 1,000,000 chunks against 1,000.
    """
    if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    existing = QApplication.instance()
    app = existing if isinstance(existing, QApplication) else QApplication(["isoscope"])
    panels = {count: _open(count, app) for count in (FEW, MANY)}
    turn = {count: 0 for count in panels}

    def everything(count: int) -> Callable[[], None]:
        def paint() -> None:
            panel = panels[count]
            turn[count] += 1
            panel.fit()
            view = panel.canvas.view
            factor = 0.999 if turn[count] % 2 else 0.998
            panel.canvas.set_view(view.scaled(0.0, factor))
            panel.canvas.repaint()

        return paint

    def one(count: int) -> Callable[[], None]:
        def paint() -> None:
            panel = panels[count]
            turn[count] += 1
            middle = panel.canvas.timeline.rows // 2 + turn[count]
            wanted = panel.canvas.view.spanning(middle, middle + ROWS)
            panel.canvas.set_view(wanted)
            panel.canvas.repaint()

        return paint

    figures: dict[str, Any] = {"runs": rounds}
    worst = 0.0
    for name, make in (("all", everything), ("one", one)):
        sides = {str(count): make(count) for count in panels}
        samples = interleave(sides, rounds, WARMUP)
        few, many = samples[str(FEW)].median_s, samples[str(MANY)].median_s
        figures[f"{name}_s_{FEW}"], figures[f"{name}_s_{MANY}"] = few, many
        found = figures[f"ratio_{name}"] = ratio(many, few)
        worst = max(worst, found or 0.0)
    figures["ratio_items"] = worst
    for panel in panels.values():
        panel.release()
        panel.close()
    return figures


def _open(chunks: int, app: QApplication) -> TimelinePanel:
    session = Session()
    panel = TimelinePanel(session)
    panel.resize(*SIZE)
    document = made_document(chunks)
    session.add(document)
    panel.set_grouping("sources")
    panel.show()
    patient_until = time.monotonic() + PATIENCE_S
    app.processEvents()
    while not panel.settled():  # what is new is taken in a little at a time
        if time.monotonic() > patient_until:
            raise IsoscopeError(
                f"drawing: a timeline of {chunks:,} chunks is not drawn yet"
            )
        app.processEvents()
    panel.canvas.repaint()
    return panel
