"""What grows is painted a little at a time, and looks as if painted at once."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtGui import QColor

from isoscope.core.clock import ClockState
from isoscope.core.timeline.lanes import timeline_of
from isoscope.core.timeline.model import Timeline, TimelineExtras
from isoscope.widgets import turns as turns_module
from isoscope.widgets.theme import tokens
from isoscope.widgets.timeline import canvas as module
from isoscope.widgets.timeline.canvas import Canvas
from tests.widgets.timeline.stand_ins import recording_of, turns

ROWS, ENVS = 400, 8


def run_of(rows: int) -> Timeline:
    extras = TimelineExtras(labels=turns(rows, ENVS))
    return timeline_of(recording_of(np.full(rows, 0.02)), extras, [], rows)


@pytest.fixture
def canvas(qtbot) -> Canvas:
    made = Canvas()
    qtbot.addWidget(made)
    made.resize(700, 300)
    made.set_timeline(run_of(ROWS))
    made.fit()
    with qtbot.waitExposed(made):
        made.show()
    qtbot.waitUntil(lambda: not made.stale)
    return made


def picture(canvas: Canvas):
    return canvas._picture.toImage()


def grow(canvas: Canvas, timeline: Timeline) -> None:
    with canvas.calmly():
        canvas.set_timeline(timeline)


def test_it_takes_several_turns_and_shows_the_old_picture_until_then(
    canvas, qtbot, monkeypatch
) -> None:
    monkeypatch.setattr(turns_module, "LATE_S", 60.0)
    monkeypatch.setattr(module, "SLICE_S", 0.0)
    before, turns = picture(canvas), []
    go_on = canvas._go_on

    def noted() -> None:
        go_on()
        turns.append(picture(canvas) == before)

    canvas._turn._call = noted
    grow(canvas, run_of(ROWS + 100))
    assert canvas.stale
    assert canvas.painting
    qtbot.waitUntil(lambda: not canvas.stale)
    assert len(turns) > 2
    assert all(turns[:-1])
    assert not turns[-1]


def test_it_looks_as_if_it_was_painted_at_once(canvas, qtbot) -> None:
    grow(canvas, run_of(ROWS + 100))
    qtbot.waitUntil(lambda: not canvas.stale)
    calm = picture(canvas)
    canvas.set_timeline(run_of(ROWS + 100))
    canvas.repaint()
    assert picture(canvas) == calm


def test_what_the_user_does_is_painted_at_once(canvas, qtbot, monkeypatch) -> None:
    monkeypatch.setattr(turns_module, "LATE_S", 60.0)
    monkeypatch.setattr(module, "SLICE_S", 0.0)
    grow(canvas, run_of(ROWS + 100))
    view = canvas.view
    canvas.set_view(view.scaled(0.0, 0.25))
    assert not canvas.painting
    canvas.repaint()
    assert not canvas.stale
    assert canvas.view.per_px < view.per_px


def test_nothing_of_the_run_before_is_seen_of_one_that_begins(canvas) -> None:
    canvas.set_timeline(Timeline(0, 0, ()), "nothing yet")
    canvas.repaint()
    grow(canvas, run_of(4))
    assert not canvas.painting
    canvas.repaint()
    seen = picture(canvas)
    canvas.set_timeline(run_of(4))
    canvas.repaint()
    assert seen == picture(canvas)


def test_nothing_new_is_not_painted_anew(canvas) -> None:
    with canvas.calmly():
        pass
    assert not canvas.stale


def playheads(canvas: Canvas) -> list[int]:
    """Where lines of the playhead's colour begin, in what is seen."""
    seen = canvas.grab().toImage()
    middle, accent = round(canvas.place.lanes_top) + 2, QColor(tokens("dark").accent)
    xs = [x for x in range(seen.width()) if seen.pixelColor(x, middle) == accent]
    return [x for x in xs if x - 1 not in xs]


def test_a_playhead_stays_where_its_row_is_seen(canvas, qtbot, monkeypatch) -> None:
    monkeypatch.setattr(turns_module, "LATE_S", 60.0)
    monkeypatch.setattr(module, "SLICE_S", 0.0)
    canvas.set_state(ClockState(row=200, rows=ROWS))
    (before,) = playheads(canvas)
    updated = []
    monkeypatch.setattr(canvas, "_update_box", updated.append)
    grow(canvas, run_of(2 * ROWS))
    canvas.set_state(ClockState(row=200, rows=2 * ROWS))
    assert canvas.painting
    assert playheads(canvas) == [before]
    assert any(box.left() < before < box.right() for box in updated)
    qtbot.waitUntil(lambda: not canvas.stale)
    (after,) = playheads(canvas)
    assert after < before


def test_a_playhead_that_follows_is_at_the_end_of_what_is_seen(canvas, qtbot) -> None:
    canvas.set_state(ClockState(row=ROWS - 1, rows=ROWS, follow=True))
    (before,) = playheads(canvas)
    canvas.set_state(ClockState(row=ROWS + 50, rows=ROWS + 51, follow=True))
    assert playheads(canvas) == [before]
