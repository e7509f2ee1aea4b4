"""A recording that grows is drawn a plot at a time, and looks as if drawn at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.widgets import turns as turns_module
from isoscope.widgets.session import FieldRef, Phase, Session
from isoscope.widgets.signals import panel as module
from isoscope.widgets.signals.panel import SignalsPanel
from tests.widgets.opened import add_steps, made_document, made_recording

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.widgets.session import Document

PLOTS = [FieldRef(0, "omega", part) for part in range(3)]


@pytest.fixture
def panel(qtbot) -> Iterator[SignalsPanel]:
    made = SignalsPanel(Session())
    qtbot.addWidget(made)
    made.resize(460, 360)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.release()


@pytest.fixture
def document(panel, qtbot) -> Document:
    document = made_document(made_recording(50), Phase.INDEXING)
    panel.session.add(document)
    document.set_plots(list(PLOTS))
    qtbot.waitUntil(panel.settled)
    return document


def grow(document: Document, rows: int) -> None:
    track = document.recording.actors[0].fields["omega"]
    at = np.arange(rows, dtype=np.float32)
    track.append(np.stack([at, -at, at % 7], axis=1))
    add_steps(document.recording, rows)
    document.set_progress(len(track), len(track))


def test_it_grows_in_several_turns_and_shows_the_old_picture_until_then(
    panel, document, qtbot, monkeypatch
) -> None:
    monkeypatch.setattr(turns_module, "LATE_S", 60.0)
    monkeypatch.setattr(panel._parts, "slice_s", 0.0)  # one plot a turn
    canvas, seen = panel.canvas, []
    refresh = panel.refresh

    def noted() -> None:
        refresh()
        seen.append((canvas.span.rows, canvas.painted_once))

    panel._due._call = noted
    grow(document, 30)
    qtbot.waitUntil(lambda: panel.settled() and canvas.span.rows == 80)
    turns = [rows for rows, _ in seen]
    assert turns.count(50) >= 2 * len(PLOTS) - 1  # loaded, then painted, each by itself
    assert turns[-1] == 80
    assert all(painted for _, painted in seen)  # never is nothing there to show


def test_it_looks_as_if_it_was_drawn_at_once(panel, document, qtbot) -> None:
    grow(document, 30)
    qtbot.waitUntil(lambda: panel.settled() and panel.canvas.span.rows == 80)
    in_parts = panel.canvas.grab().toImage()
    panel.invalidate()
    qtbot.waitUntil(panel.settled)
    assert panel.canvas.grab().toImage() == in_parts


def test_what_the_user_does_meanwhile_is_drawn_at_once(
    panel, document, qtbot, monkeypatch
) -> None:
    monkeypatch.setattr(turns_module, "LATE_S", 60.0)
    monkeypatch.setattr(panel._parts, "slice_s", 0.0)
    grow(document, 30)
    qtbot.waitUntil(lambda: panel._parts.rest is not None)
    panel.show_span(panel.span.between(10, 20))
    assert panel._parts.rest is None
    qtbot.waitUntil(panel.settled)
    assert (panel.span.first, panel.span.stop) == (10, 21)
    assert panel.canvas.stack.row_axis.range == [panel.span.low, panel.span.high]


def test_behind_another_panel_it_waits(panel, document, qtbot) -> None:
    panel.set_behind(True)
    grow(document, 30)
    qtbot.wait(2 * module.GROWTH_MS)
    assert panel.canvas.span.rows == 50
    panel.set_behind(False)
    qtbot.waitUntil(lambda: panel.settled() and panel.canvas.span.rows == 80)
