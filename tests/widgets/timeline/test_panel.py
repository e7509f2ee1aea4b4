from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt

from isoscope.core.clock import TimeKind
from isoscope.core.recording.registry import load
from isoscope.core.timeline.model import FindingMark, Taint, TimelineExtras
from isoscope.widgets.session import Bookmark, Phase
from isoscope.widgets.timeline.hints import hint_at
from isoscope.widgets.timeline.overlay import pill_text
from isoscope.widgets.timeline.panel import NO_STEPS, NOTHING_OPEN
from tests.widgets.timeline.stand_ins import (
    add_rows,
    document_of,
    recording_of,
    truth,
    turns,
)


def keys(panel):
    return [lane.key for lane in panel.canvas.timeline.lanes]


def test_without_a_recording_it_says_what_to_do(panel):
    assert panel.canvas.message == NOTHING_OPEN
    assert panel.settled()


def test_a_recording_without_steps_says_so(session, panel):
    session.add(document_of(recording_of([])))
    assert panel.canvas.message == NO_STEPS


def test_a_failed_recording_says_why(session, panel):
    document = document_of(recording_of([]))
    session.add(document)
    document.set_phase(Phase.FAILED, "reading x.h5: it is torn")
    assert panel.canvas.message == "reading x.h5: it is torn"


def test_closing_the_recording_empties_it(opened, session):
    panel = opened(recording_of(np.full(10, 0.02)))
    session.remove(session.active)
    assert panel.canvas.message == NOTHING_OPEN
    assert panel.canvas.timeline.rows == 0


def test_rows_still_to_come_have_their_room(session, panel, qtbot):
    recording = recording_of(np.full(50, 0.02))
    recording.expected_steps = 200
    document = document_of(recording, Phase.INDEXING)
    session.add(document)
    assert panel.canvas.timeline.expected == 200
    assert panel.canvas.view.last == pytest.approx(200)
    add_rows(recording, np.full(100, 0.02))
    document.set_progress(150, 210)
    assert not panel.settled()
    qtbot.waitUntil(panel.settled)
    assert panel.canvas.timeline.rows == 150
    assert panel.canvas.frame().progress == "indexing: 150 of 210 events"
    document.set_phase(Phase.READY)
    assert panel.canvas.timeline.expected == 150
    assert panel.canvas.view.last == pytest.approx(150)
    assert panel.canvas.frame().progress == ""


def test_a_zoomed_view_stays_as_the_recording_grows(session, panel, qtbot):
    recording = recording_of(np.full(500, 0.02))
    recording.expected_steps = 2000
    document = document_of(recording, Phase.INDEXING)
    session.add(document)
    panel.show_rows(100, 200)
    before = panel.canvas.view
    add_rows(recording, np.full(500, 0.02))
    document.set_progress(1000, 2000)
    qtbot.waitUntil(panel.settled)
    after = panel.canvas.view
    assert (after.first, after.per_px) == (before.first, before.per_px)


def test_playing_turns_the_page(opened, session):
    panel = opened(recording_of(np.full(1000, 0.02)))
    panel.show_rows(0, 100)
    session.clock.seek(99)
    session.clock.play()
    for _ in range(40):
        session.clock.tick(0.2)
        assert panel.canvas.view.shows(session.clock.row)
    assert session.clock.row > 300


def test_seeking_out_of_sight_turns_the_page(opened, session):
    panel = opened(recording_of(np.full(1000, 0.02)))
    panel.show_rows(0, 100)
    scale = panel.canvas.view.per_px
    session.clock.end()
    assert panel.canvas.view.shows(999)
    assert panel.canvas.view.per_px == scale


def test_each_document_keeps_its_view(session, panel):
    one = document_of(recording_of(np.full(1000, 0.02)))
    two = document_of(recording_of(np.full(500, 0.02)))
    session.add(one)
    panel.show_rows(200, 300)
    kept = panel.canvas.view
    session.add(two)
    assert panel.canvas.view.all_shown
    session.activate(one)
    assert panel.canvas.view == kept


def test_what_was_found_out_is_drawn_and_taken_away(opened, session, recordings):
    case = "shared_cartpole_missed_restore"
    panel = opened(load(recordings / f"{case}.h5"))
    assert keys(panel) == ["steps"]
    labels = truth(recordings / f"{case}.truth.json")
    extras = TimelineExtras(
        labels=labels,
        findings=(FindingMark(34, "error", "missed restore", 0),),
        residual=np.full(len(labels), 1e-9),
        tainted=(Taint(34, 40, 0),),
    )
    panel.set_extras(session.active, extras)
    assert keys(panel) == ["owner", "residual", "steps", "events", "env:0", "env:1"]
    panel.set_extras(session.active, None)
    assert keys(panel) == ["steps"]


def test_extras_of_another_document_wait_for_it(session, panel):
    one = document_of(recording_of(np.full(8, 0.02)))
    two = document_of(recording_of(np.full(8, 0.02)))
    session.add(one)
    session.add(two)
    panel.set_extras(one, TimelineExtras(labels=turns(8, 2)))
    assert keys(panel) == ["steps"]
    session.activate(one)
    assert keys(panel) == ["owner", "steps", "env:0", "env:1"]


def test_bookmarks_appear_at_once(opened, session):
    panel = opened(recording_of(np.full(10, 0.02)))
    session.active.set_bookmarks([Bookmark(3, "x")])
    assert panel.canvas.timeline.lane("events").marks.rows.tolist() == [3]


def test_the_playheads_label_gives_the_chosen_time(opened, session):
    panel = opened(recording_of(np.full(10, 0.02)))
    assert pill_text(panel.canvas.frame(), 4) == "4 · 0.100 s"
    session.clock.set_time(TimeKind.NATIVE)
    assert pill_text(panel.canvas.frame(), 4) == "native 4"


def test_commands_zoom_at_the_playhead(opened, session):
    panel = opened(recording_of(np.full(1000, 0.02)))
    session.clock.seek(800)
    x = panel.canvas.view.x_mid(800)
    panel.zoom_in()
    assert panel.canvas.view.x_mid(800) == pytest.approx(x, abs=1)
    assert not panel.canvas.view.all_shown
    panel.zoom_out()
    assert panel.canvas.view.all_shown


def test_keys_zoom_and_escape_selects_nothing(opened, qtbot):
    panel = opened(recording_of(np.full(1000, 0.02)))
    control = Qt.KeyboardModifier.ControlModifier
    qtbot.keyClick(panel, Qt.Key.Key_Plus, control)
    assert not panel.canvas.view.all_shown
    qtbot.keyClick(panel, Qt.Key.Key_0, control)
    assert panel.canvas.view.all_shown
    panel.select_range(10, 20)
    qtbot.keyClick(panel, Qt.Key.Key_Escape)
    assert panel.selected_range is None


def test_the_menu_loops_over_the_selection(opened, session):
    panel = opened(recording_of(np.full(1000, 0.02)))
    panel.select_range(300, 200)
    actions = {action.text(): action for action in panel.menu().actions()}
    actions["Loop over the selection"].trigger()
    state = session.clock.state
    assert (state.loop, state.loop_in, state.loop_out) == (True, 200, 300)
    actions = {action.text(): action for action in panel.menu().actions()}
    actions["Zoom to the selection"].trigger()
    view = panel.canvas.view
    assert view.first < 200 < 300 < view.last < 320
    actions["Remove the loop range"].trigger()
    assert session.clock.state.loop_in is None


def test_the_button_shows_everything(opened, qtbot):
    panel = opened(recording_of(np.full(1000, 0.02)))
    legend, grouping, button = panel.title_tools()
    assert grouping.isHidden()  # there is no choice where there are no chunks
    assert not button.isEnabled()
    panel.zoom_in()
    assert button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert panel.canvas.view.all_shown
    assert legend.accessibleName() == "Legend: h 0.02 s"


def test_hints_explain_what_is_under_the_pointer(opened, session, recordings):
    recording = load(recordings / "variable_steps.h5")
    panel = opened(recording)
    canvas = panel.canvas
    place = canvas.place
    x = canvas.frame().x_mid(8)

    def hint(x, y):
        return hint_at(canvas, QPointF(x, y), recording)

    assert "h 0 s (no time passes)" in hint(x, place.pinned[0].middle)
    assert "a step of 0 s" in hint(x, place.pinned[0].middle)
    assert "evenly spaced" in hint(x, place.ruler_top + 3)
    assert "The whole run" in hint(x, place.overview_top + 3)
    assert "its height is h" in hint(10, place.pinned[0].middle)


def test_hints_escape_names(opened, session):
    panel = opened(recording_of(np.full(4, 0.02)))
    session.active.set_bookmarks([Bookmark(0, "<b>&")])
    canvas = panel.canvas
    y = canvas.place.pinned[0].middle
    at = QPointF(canvas.frame().x_mid(0), y)
    assert "&lt;b&gt;&amp;" in hint_at(canvas, at, session.active.recording)


def test_a_released_panel_hears_nothing_more(opened, session):
    panel = opened(recording_of(np.full(10, 0.02)))
    panel.release()
    session.clock.seek(5)
    session.active.set_bookmarks([Bookmark(3, "x")])
    assert panel.canvas.state.row == 0
    assert keys(panel) == ["steps"]
