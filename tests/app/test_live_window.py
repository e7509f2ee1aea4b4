"""A run watched in the window: it grows, can be asked, scrubbed back in, and ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt

from isoscope.app.settings import Settings
from isoscope.app.window.sentences import sentence_of
from isoscope.core.live.memory import Memory
from isoscope.core.timeline.chunks import ChunkKey
from isoscope.widgets.document import Phase
from isoscope.widgets.sources.texts import env_text, state_text, tooltip
from isoscope.widgets.timeline.hints import IN_FILE, hint_at
from isoscope.widgets.timeline.legend import legend
from tests.app import stand_ins
from tests.live.source import Standing, TestSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.app.window import Window
    from isoscope.widgets.document import Document


@pytest.fixture
def window(make_window) -> Window:
    return make_window(panels=stand_ins.WITHOUT_GL)


@pytest.fixture
def run(tmp_path) -> TestSource:
    source = TestSource(tmp_path / "run.isoscope.h5", envs=4, sources=2)
    source.told = {"allowed": ["pause", "resume", "step", "speed"], "speed": 1.0}
    return source


@pytest.fixture
def follow(window, run, qtbot) -> Callable[[int], Document]:
    """Watch the run, after so many turns; until they are shown."""

    def begin(turns: int) -> Document:
        document = window.workspace.attaching.follow(run)
        run.go(turns)
        wait_rows(qtbot, document, run)
        qtbot.waitUntil(window.panels["timeline"].settled)
        return document

    return begin


def wait_rows(qtbot, document, run) -> None:
    wanted = run.recorder.rows

    def there() -> bool:
        steps = document.own_steps
        taken = steps is not None and steps.rows >= wanted
        return taken and document.progress[0] >= wanted  # and told

    qtbot.waitUntil(there, timeout=10_000)


def said(window) -> str:
    return window.frame.sentence_bar.label.text


def test_it_grows_and_the_cursor_follows(window, follow, run, qtbot):
    document = follow(6)
    clock = window.session.clock
    assert document.phase is Phase.LIVE
    assert clock.state.follow
    assert clock.row == document.rows - 1
    before = document.rows
    run.go(5)
    wait_rows(qtbot, document, run)
    assert document.rows > before
    assert clock.row == document.rows - 1
    timeline = window.panels["timeline"].canvas
    qtbot.waitUntil(lambda: timeline.timeline.rows == document.rows)
    assert document.analysis.environments == (0, 1, 2, 3)
    assert "4 environments" in said(window)
    assert state_text(document).startswith("● live")
    # Control steps can be stepped by, as they come.
    assert clock.marks("control")[-1] == document.rows - 1


def test_of_a_batch_it_is_said_how_many_are_read_back(window, follow, run, qtbot):
    document = follow(6)
    assert "4 environments," in said(window)
    document.recording.labelled.identity.environments = 4096
    assert any("4 of 4,096 environments, " in p for p in sentence_of(document).parts)


def test_a_click_scrubs_back_and_alt_right_follows_again(window, follow, run, qtbot):
    document = follow(12)
    timeline = window.panels["timeline"]
    canvas, clock = timeline.canvas, window.session.clock
    place = canvas.place
    at = QPoint(place.left + place.plot_width // 3, place.lanes_top + 4)
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=at)
    assert not clock.state.follow
    row = clock.row
    assert row < document.rows - 1
    run.go(4)
    wait_rows(qtbot, document, run)
    assert clock.row == row
    qtbot.keyClick(window, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert clock.state.follow
    assert clock.row == document.rows - 1
    assert window.panels["transport"].follow.isVisible()
    assert window.panels["transport"].follow.isChecked()


def test_the_run_is_asked_for_what_it_allows_only(window, follow, run, qtbot):
    document = follow(2)
    controls = window.panels["transport"].run
    qtbot.waitUntil(controls.pause.isVisible)
    assert controls.speed.isVisible()
    assert not controls.step.isEnabled()  # it runs
    qtbot.mouseClick(controls.pause, Qt.MouseButton.LeftButton)
    assert run.asked == [("pause", {})]
    run.phase = Standing.PAUSED
    qtbot.waitUntil(controls.step.isEnabled)
    assert "paused" in said(window)
    qtbot.mouseClick(controls.step, Qt.MouseButton.LeftButton)
    controls.speeds[2.0].trigger()
    qtbot.mouseClick(controls.pause, Qt.MouseButton.LeftButton)
    assert run.asked[1:] == [("step", {}), ("speed", {"speed": 2.0}), ("resume", {})]
    run.refuse = "it is busy"
    run.phase = Standing.RUNNING
    qtbot.waitUntil(lambda: document.live.state == "running")
    qtbot.mouseClick(controls.pause, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(window.frame.message_bar.messages))
    assert "it is busy" in window.frame.message_bar.messages[-1].text
    assert not controls.stop.isVisible()
    run.told = {"allowed": ["stop"]}
    qtbot.waitUntil(controls.stop.isVisible)
    run.refuse = ""
    qtbot.mouseClick(controls.stop, Qt.MouseButton.LeftButton)
    assert run.asked[-1] == ("stop", {})
    run.told = {}
    qtbot.waitUntil(lambda: not controls.stop.isVisible())
    assert not controls.pause.isVisible()
    assert not controls.step.isVisible()


def test_a_chunk_is_chosen_by_a_click_and_left_by_escape(window, follow, run, qtbot):
    document = follow(14)
    timeline = window.panels["timeline"]
    qtbot.waitUntil(timeline.grouping.isVisible)
    timeline.grouping.choices["sources"].trigger()
    lane = timeline.canvas.timeline.lane("source:1.0")
    assert lane is not None
    placed = next(p for p in timeline.canvas.place.scrolled if p.lane is lane)
    view, place = timeline.canvas.view, timeline.canvas.place
    x = place.left + view.x_mid(int(lane.items.start[1]) + 2)
    at = QPoint(round(x), round(placed.middle))
    qtbot.mouseClick(timeline.canvas, Qt.MouseButton.LeftButton, pos=at)
    assert str(document.chunk) == "0.0.1.0.1"
    qtbot.waitUntil(timeline.card.isVisible)
    assert "chunk 1 of step 0" in timeline.card.title.text()
    assert "policy part: slots 0 to 1" in timeline.card.text.text()
    rows = timeline.canvas.timeline.lane("rows:T+E, before")
    assert rows is not None
    assert rows.items.number.tolist()[:2] == [1, 2]
    timeline.setFocus()
    qtbot.keyClick(timeline, Qt.Key.Key_Escape)
    assert document.chunk is None
    assert not timeline.card.isVisible()


def test_a_chunks_card_is_read_to_its_end_in_a_low_dock(window, follow, run, qtbot):
    document = follow(14)
    timeline = window.panels["timeline"]
    window.resize(window.minimumWidth(), window.minimumHeight())
    document.set_chunk(ChunkKey(0, 0, 1, 0, 1))
    qtbot.waitUntil(timeline.card.isVisible)
    card = timeline.card
    bar = card.area.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    needed = card.text.heightForWidth(card.area.viewport().width())
    assert card.text.height() >= needed
    card.area.setFocus()
    while bar.value() < bar.maximum():
        before = bar.value()
        qtbot.keyClick(card.area, Qt.Key.Key_PageDown)
        assert bar.value() > before
    end = card.text.mapTo(card.area.viewport(), card.text.rect().bottomLeft())
    assert end.y() <= card.area.viewport().height()


def test_a_full_memory_is_told_where_the_run_is(window, follow, run, qtbot):
    document = follow(6)
    assert "in memory: 1.0 of 128 MiB" in tooltip(document)
    run.memory = Memory(4 << 20, 4 << 20, 12)
    told = "native steps before 12 are read again from its recording"
    qtbot.waitUntil(lambda: told in tooltip(document))
    assert "in memory: 4.0 of 4 MiB" in tooltip(document)
    timeline = window.panels["timeline"]
    qtbot.waitUntil(lambda: timeline.canvas.timeline.in_file == 12)
    assert ("in file", "in the recording only") in legend(timeline.canvas.timeline)
    place = timeline.canvas.place
    at = QPointF(place.left + 1, place.lanes_top + 4)
    assert IN_FILE in hint_at(timeline.canvas, at, document.recording)
    at.setX(place.right - 1)
    assert IN_FILE not in hint_at(timeline.canvas, at, document.recording)


def test_the_memory_of_a_run_is_chosen_in_the_menu(window, follow, run, qtbot):
    document = follow(3)
    costs = window.panels["costs"]
    qtbot.waitUntil(lambda: costs.memory.text == "In memory: 1.0 of 128 MiB")
    menus = window.frame.header.menu_bar.actions()
    top = next(a.menu() for a in menus if a.text().replace("&", "") == "Run")
    below = next(a.menu() for a in top.actions() if a.text().startswith("Memory for"))
    below.aboutToShow.emit()
    choices = {a.text(): a for a in below.actions()}
    assert choices["128 MiB"].isChecked()
    assert next(iter(choices)) == "4 MiB"
    choices["4 MiB"].trigger()
    qtbot.waitUntil(lambda: document.live.memory.cap_bytes == 4 << 20)
    qtbot.waitUntil(lambda: "of 4 MiB" in costs.memory.text)
    assert Settings().values.live_memory_mb == 4


def test_environments_say_how_they_stand(window, follow, run, qtbot):
    document = follow(23)  # with the one before, a whole episode of env 0
    row = document.told.envs[0].at(document.rows - 1).row
    assert env_text(document, 0, row) == "ep 1 · ■ terminated"
    assert env_text(document, 0, row - 40).startswith("ep 1 · ")
    run.go(4)
    wait_rows(qtbot, document, run)
    assert env_text(document, 0, document.rows - 1) == "ep 2 · 3"
    # Env 1 has longer episodes, and they are cut.
    last = int(document.told.envs[1].marks.rows[0])
    assert env_text(document, 1, last) == "ep 1 · □ truncated"


def test_signals_and_clocks_grow_without_being_made_anew(window, follow, run, qtbot):
    document = follow(8)
    signals, clocks = window.panels["signals"], window.panels["clocks"]
    window.set_layout("isolate")
    window.docks.raise_panel("clocks")
    qtbot.waitUntil(lambda: bool(signals.specs) and bool(clocks.specs), timeout=5000)
    qtbot.waitUntil(lambda: signals.settled() and clocks.settled(), timeout=5000)
    before = [curve.decimator for spec in signals.specs for curve in spec.curves]
    lines = [curve for spec in clocks.specs for curve in spec.curves]
    run.go(6)
    wait_rows(qtbot, document, run)
    qtbot.waitUntil(lambda: signals.canvas.span.rows == document.rows, timeout=5000)
    qtbot.waitUntil(lambda: clocks.canvas.span.rows == document.rows, timeout=5000)
    after = [curve.decimator for spec in signals.specs for curve in spec.curves]
    assert before == after
    of_env_2 = next(c for c in signals.specs[0].curves if c.name.startswith("2 "))
    assert of_env_2.decimator.turns.sequence[-1] == document.analysis.rows_of(2)[-1]
    assert lines == [curve for spec in clocks.specs for curve in spec.curves]
    assert len(lines[0].rows) == document.rows


def test_the_end_is_told_and_all_is_analysed(window, follow, run, qtbot):
    document = follow(10)
    rows = document.rows
    run.end()
    qtbot.waitUntil(lambda: document.phase is Phase.READY, timeout=10_000)
    qtbot.waitUntil(lambda: not window.workspace.busy, timeout=20_000)
    assert document.analysis.audit is not None
    assert document.rows == rows
    assert document.live.state == "ended"
    assert not window.panels["transport"].run.pause.isVisible()
    assert len(document.told.chunks) == 6
    assert "The run has ended." in said(window)


def test_a_run_that_dies_says_its_last_words(window, follow, run, qtbot):
    document = follow(3)
    run.lost = {"native steps": 12}
    run.end(Standing.DIED, "it divided by zero")
    qtbot.waitUntil(lambda: document.phase is Phase.READY, timeout=10_000)
    assert document.live.state == "died"
    assert "it divided by zero" in said(window)
    assert "12 dropped" in state_text(document)


def test_a_run_whose_recording_stops_is_watched_on(
    window, follow, run, qtbot, tmp_path
):
    document = follow(3)
    after = TestSource(tmp_path / "after.isoscope.h5", envs=4, sources=2)
    run.leave("recording to run stopped: no space is left, and the run goes on", after)
    qtbot.waitUntil(lambda: window.session.active is not document, timeout=10_000)
    assert document.phase is Phase.STOPPED
    assert any("recording has stopped" in str(p) for p in sentence_of(document).parts)
    assert "no longer watched" in state_text(document)
    second = window.session.active
    assert second.name == f"{document.name}, going on"
    assert window.session.clock.state.follow
    assert "no space is left" in window.frame.message_bar.text
    after.go(4)
    wait_rows(qtbot, second, after)
    # Who looks back is left there, and has the way on in the bar.
    window.session.clock.seek(1)
    last = TestSource(tmp_path / "last.isoscope.h5", envs=4, sources=2)
    after.leave("recording to run stopped: it was killed, and the run goes on", last)
    bar = window.frame.message_bar
    qtbot.waitUntil(lambda: "it was killed" in bar.text, timeout=10_000)
    assert window.session.active is second
    assert bar.act.text() == "Show"
    qtbot.mouseClick(bar.act, Qt.MouseButton.LeftButton)
    assert window.session.active is window.session.documents[-1]
    assert window.session.active.source is last
    assert window.session.clock.state.follow
    last.end()


def test_of_messages_that_a_run_refused_the_count_is_told(window, follow, run, qtbot):
    document = follow(3)
    run.told = {**run.told, "refused": {"malformed": 9_998, "oversized": 2}}
    qtbot.waitUntil(lambda: document.live.refused == 10_000, timeout=10_000)
    assert "refused 10,000 messages" in said(window)
    assert "10,000 refused" in state_text(document)
    assert "10,000 messages to the run refused" in tooltip(document)


def test_it_can_be_watched_no_longer_and_be_closed(window, follow, run, qtbot):
    document = follow(3)
    window.workspace.cancel(document)
    qtbot.waitUntil(lambda: document.phase is Phase.STOPPED, timeout=10_000)
    assert document.rows
    assert "no longer watched" in said(window)
    state = window.panels["transport"].run.state
    assert state.text() == "no longer watched"
    window.workspace.close(document)
    qtbot.waitUntil(lambda: run.closed, timeout=10_000)
    assert window.session.active is None


def test_closing_the_window_lets_the_run_go(make_window, run, qtbot):
    window = make_window(panels=stand_ins.WITHOUT_GL)
    document = window.workspace.attaching.follow(run)
    qtbot.waitUntil(lambda: document.rows > 0, timeout=10_000)
    window.close()
    assert run.closed
