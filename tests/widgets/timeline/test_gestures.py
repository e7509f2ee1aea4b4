from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication

from isoscope.core.recording.registry import load
from isoscope.widgets.session import Bookmark
from isoscope.widgets.timeline.overview import overview_box
from tests.widgets.timeline.stand_ins import recording_of, turns

LEFT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
NONE, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def timeline(opened):
    return opened(recording_of(np.full(400, 0.02)))


def at(panel, row, y=None):
    frame = panel.canvas.frame()
    high = frame.layout.lanes_top + 20 if y is None else y
    return QPoint(round(frame.x_mid(row)), round(high))


def drag(qtbot, canvas, begin, end, button=LEFT, keys=NONE):
    qtbot.mousePress(canvas, button, keys, begin)
    for share in (0.3, 0.7, 1.0):
        point = begin + (end - begin) * share
        move(canvas, point, button, keys)
    qtbot.mouseRelease(canvas, button, keys, end)


def move(canvas, point, button, keys):
    # The moves that QTest makes hold no button down.
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(point),
        QPointF(canvas.mapToGlobal(point)),
        Qt.MouseButton.NoButton,
        button,
        keys,
    )
    QApplication.sendEvent(canvas, event)


def wheel(canvas, point, turn=0, sideways=0, keys=NONE):
    event = QWheelEvent(
        QPointF(point),
        QPointF(canvas.mapToGlobal(point)),
        QPoint(),
        QPoint(sideways, turn),
        Qt.MouseButton.NoButton,
        keys,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(canvas, event)


@pytest.mark.parametrize("where", ["lanes", "ruler"])
def test_a_click_puts_the_playhead_there(timeline, session, qtbot, where):
    y = timeline.canvas.place.ruler_top + 4 if where == "ruler" else None
    qtbot.mouseClick(timeline.canvas, LEFT, NONE, at(timeline, 123, y))
    assert session.clock.row == pytest.approx(123, abs=1)


def test_scrubbing_pauses_and_follows_the_pointer(timeline, session, qtbot):
    session.clock.play()
    rows = []
    session.clock.changed.connect(lambda new, old: rows.append(new.row))
    drag(qtbot, timeline.canvas, at(timeline, 50), at(timeline, 250))
    assert not session.clock.state.playing
    assert session.clock.row == pytest.approx(250, abs=1)
    assert len(set(rows)) >= 3


def test_scrubbing_beyond_the_edge_goes_on(timeline, session, qtbot):
    timeline.show_rows(100, 200)
    far = QPoint(timeline.canvas.place.right + 60, at(timeline, 150).y())
    drag(qtbot, timeline.canvas, at(timeline, 150), far)
    assert session.clock.row > 205


def test_the_wheel_zooms_and_keeps_the_row_under_the_pointer(timeline):
    canvas = timeline.canvas
    point = at(timeline, 300)
    before = canvas.view
    for _ in range(4):
        wheel(canvas, point, 120)
    after = canvas.view
    assert after.per_px < before.per_px / 2
    x = point.x() - canvas.place.left
    assert after.row_at(x) == pytest.approx(before.row_at(x), abs=1)
    assert not canvas.fitted
    for _ in range(6):
        wheel(canvas, point, -120)
    assert canvas.view.all_shown
    assert canvas.fitted


@pytest.mark.parametrize(
    "turn", [{"turn": -120, "keys": SHIFT}, {"sideways": -120}], ids=["shift", "side"]
)
def test_the_wheel_pans(timeline, turn):
    timeline.show_rows(100, 200)
    before = timeline.canvas.view
    wheel(timeline.canvas, at(timeline, 150), **turn)
    after = timeline.canvas.view
    assert after.per_px == before.per_px
    assert after.first > before.first


def test_the_middle_button_drags_the_rows(timeline, session, qtbot):
    timeline.show_rows(100, 200)
    row = session.clock.row
    before = timeline.canvas.view
    begin = at(timeline, 150)
    drag(qtbot, timeline.canvas, begin, begin + QPoint(-80, 0), MIDDLE)
    after = timeline.canvas.view
    assert after.first == pytest.approx(before.first + 80 * before.per_px)
    assert session.clock.row == row


def test_shift_and_drag_selects_rows(timeline, session, qtbot):
    begin, end = at(timeline, 220), at(timeline, 100)
    with qtbot.waitSignal(timeline.range_selected) as told:
        drag(qtbot, timeline.canvas, begin, end, keys=SHIFT)
    low, high = told.args
    assert (low, high) == (pytest.approx(100, abs=1), pytest.approx(220, abs=1))
    assert timeline.selected_range == (low, high)
    assert "selected" in timeline.subtitle
    qtbot.mouseClick(timeline.canvas, LEFT, NONE, at(timeline, 10))
    assert timeline.selected_range is None


def test_the_ends_of_the_loop_are_dragged_in_the_ruler(timeline, session, qtbot):
    session.clock.set_loop_range(100, 200)
    y = timeline.canvas.place.ruler_top + 8
    frame = timeline.canvas.frame()
    begin = QPoint(round(frame.x_of(100)) + 1, y)
    drag(qtbot, timeline.canvas, begin, at(timeline, 40, y))
    state = session.clock.state
    assert state.loop_in == pytest.approx(40, abs=1)
    assert state.loop_out == 200
    end = QPoint(round(frame.x_of(201)) - 1, y)
    drag(qtbot, timeline.canvas, end, at(timeline, 10, y))
    state = session.clock.state
    assert state.loop_out == state.loop_in  # never past the other end


def test_dragging_a_loop_end_moves_no_playhead(timeline, session, qtbot):
    session.clock.set_loop_range(100, 200)
    session.clock.seek(7)
    y = timeline.canvas.place.ruler_top + 8
    begin = QPoint(round(timeline.canvas.frame().x_of(100)) + 1, y)
    drag(qtbot, timeline.canvas, begin, at(timeline, 60, y))
    assert session.clock.row == 7


def test_the_overviews_window_is_dragged(timeline, qtbot):
    timeline.show_rows(100, 200)
    before = timeline.canvas.view
    box = overview_box(timeline.canvas.frame())
    centre = box.center().toPoint()
    drag(qtbot, timeline.canvas, centre, centre + QPoint(100, 0))
    after = timeline.canvas.view
    per_px = 400 / timeline.canvas.place.plot_width
    assert after.per_px == pytest.approx(before.per_px)
    assert after.first - before.first == pytest.approx(100 * per_px, rel=0.05)


def test_the_overviews_window_is_resized_by_its_ends(timeline, qtbot):
    timeline.show_rows(100, 200)
    before = timeline.canvas.view
    box = overview_box(timeline.canvas.frame())
    right = QPoint(round(box.right()), round(box.center().y()))
    drag(qtbot, timeline.canvas, right, right + QPoint(90, 0))
    after = timeline.canvas.view
    assert after.first == pytest.approx(before.first, abs=0.5)
    assert after.last > before.last + 20


def test_a_click_beside_the_window_brings_it_there(timeline, session, qtbot):
    timeline.show_rows(100, 200)
    place = timeline.canvas.place
    x = round(place.left + place.plot_width * 0.8)
    point = QPoint(x, place.overview_top + 6)
    qtbot.mouseClick(timeline.canvas, LEFT, NONE, point)
    view = timeline.canvas.view
    assert (view.first + view.last) / 2 == pytest.approx(320, abs=4)
    assert session.clock.row == 0


def test_a_double_click_shows_everything(timeline, qtbot):
    timeline.show_rows(100, 200)
    qtbot.mouseDClick(timeline.canvas, LEFT, NONE, at(timeline, 150))
    assert timeline.canvas.view.all_shown


def test_a_click_on_a_mark_goes_to_its_very_row(opened, session, qtbot):
    panel = opened(recording_of(np.full(100_000, 0.02)))
    session.active.set_bookmarks([Bookmark(43_211, "here")])
    qtbot.waitUntil(panel.settled)
    events = next(p for p in panel.canvas.place.pinned if p.lane.key == "events")
    point = at(panel, 43_211, events.middle) + QPoint(2, 0)
    qtbot.mouseClick(panel.canvas, LEFT, NONE, point)
    assert session.clock.row == 43_211


def test_a_click_on_an_actors_label_selects_it(opened, session, qtbot, recordings):
    panel = opened(load(recordings / "create_destroy.h5"))
    placed = next(p for p in panel.canvas.place.scrolled if p.lane.label == "Late")
    qtbot.mouseClick(panel.canvas, LEFT, NONE, QPoint(30, round(placed.middle)))
    assert session.active.selection.actor == placed.lane.actor


def test_the_wheel_over_the_labels_scrolls_the_lanes(opened, session):
    recording = recording_of(np.full(2000, 0.02))
    recording.labels = turns(2000, 64)
    panel = opened(recording)
    canvas = panel.canvas
    assert canvas.place.overflow > 0
    before = canvas.view
    wheel(canvas, QPoint(20, canvas.place.scroll_top + 20), -240)
    assert canvas.scrolled == 120
    assert canvas.view == before


def test_pointing_says_the_row(timeline, qtbot):
    point = at(timeline, 123)
    move(timeline.canvas, point, Qt.MouseButton.NoButton, NONE)
    row = timeline.canvas.pointing.hover
    assert row == pytest.approx(123, abs=1)
    assert timeline.subtitle == f"native {row} · recording {(row + 1) * 0.02:.3f} s"
