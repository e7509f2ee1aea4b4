"""Opening, failing, indexing, cancelling and closing documents in the window."""

from __future__ import annotations

import os
import threading

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from isoscope.app import extras, opening
from isoscope.app.bookmarks import key_of
from isoscope.app.panels import PANELS
from isoscope.app.window import commands
from isoscope.core.errors import CancelledError
from isoscope.core.recording.registry import open_source
from isoscope.widgets.session import FieldRef, Phase
from tests.app import stand_ins
from tests.app.conftest import our_threads, settle

LEFT = Qt.MouseButton.LeftButton
NO_MODIFIER = Qt.KeyboardModifier.NoModifier
COPY = Qt.DropAction.CopyAction


class Gated:
    """A source whose index stops half-way until it is let on or cancelled."""

    def __init__(self, path):
        self.inner = open_source(path)
        self.recording = self.inner.recording
        self.event_count = self.inner.event_count
        self.preview = self.inner.preview
        self.half_way, self.go_on = threading.Event(), threading.Event()
        self.closed = False

    def index(self, progress=None, cancelled=None):
        progress(10, 100)
        self.half_way.set()
        while not self.go_on.wait(0.01):
            if cancelled():
                raise CancelledError("stopped")
        self.inner.index(progress, cancelled)

    def close(self):
        self.closed = True
        self.inner.close()


@pytest.fixture
def gated(monkeypatch):
    """The gated sources that were opened, instead of plain ones."""
    made: list[Gated] = []

    def make(path):
        made.append(Gated(path))
        return made[-1]

    monkeypatch.setattr(opening, "open_source", make)
    return made


def drag(files):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file)) for file in files])
    return data


def test_it_opens_on_a_recording_and_says_what_it_is(window):
    assert window.session.active.phase is Phase.READY
    assert window.session.clock.state.rows == 126
    text = window.frame.sentence_bar.label.text
    assert text == (
        "2 environments in one scene, 6 episodes, 2 substeps per control step. 1 error:"
        " env 0 went on from env 1's state at episode 1, control step 9."
    )
    assert window.windowTitle().startswith("shared_cartpole_missed_restore.h5")


def test_files_are_dropped_anywhere_on_the_window(make_window, recordings, qtbot):
    window = make_window()
    files = [recordings / "no_state.h5", recordings / "soft_body.h5"]
    data, action = drag(files), COPY
    # Over a panel deep inside, which doesn't take drops itself.
    target = window.panels["scene"]
    at = QPointF(5, 5)
    enter = QDragEnterEvent(at.toPoint(), action, data, LEFT, NO_MODIFIER)
    QApplication.sendEvent(target, enter)
    assert enter.isAccepted()
    assert window.frame.veil.isVisible()
    drop = QDropEvent(at, action, data, LEFT, NO_MODIFIER)
    QApplication.sendEvent(window, drop)
    assert not window.frame.veil.isVisible()
    settle(window)
    names = [document.name for document in window.session.documents]
    assert sorted(names) == ["no_state.h5", "soft_body.h5"]
    assert window.session.active.name == "soft_body.h5"


def test_a_drag_of_text_is_not_taken(window):
    data = QMimeData()
    data.setText("hello")
    enter = QDragEnterEvent(
        QPointF(5, 5).toPoint(),
        Qt.DropAction.CopyAction,
        data,
        LEFT,
        NO_MODIFIER,
    )
    QApplication.sendEvent(window, enter)
    assert not window.frame.veil.isVisible()


def test_the_same_file_is_opened_once(window, recordings):
    first = window.session.active
    window.open_files([recordings / "no_state.h5"])
    settle(window)
    assert window.session.active is not first
    window.open_files([first.source.recording.path])
    settle(window)
    assert window.session.active is first
    assert len(window.session.documents) == 2


def test_a_failed_open_is_told_in_the_bar_and_kept_as_a_document(window, recordings):
    before = window.session.active
    window.open_files([recordings / "killed.h5"])
    settle(window)
    bar = window.frame.message_bar
    assert bar.isVisible()
    assert bar.current.level == "error"
    assert "killed.h5" in bar.text
    assert "Traceback" not in bar.current.details
    failed = next(d for d in window.session.documents if d.phase is Phase.FAILED)
    assert failed.error == bar.current.text
    assert failed.recording.problems
    assert window.session.active is before
    QTest.mouseClick(bar._dismiss, LEFT)
    assert not bar.isVisible()


def test_a_failed_document_that_is_a_pipe_is_never_waited_for(
    make_window, tmp_path, recordings
):
    pipe = tmp_path / "pipe.h5"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="no ordinary file"):
        key_of(pipe)
    # The Replay panel asks which model stood in for the engine of what is active.
    panels = {**stand_ins.ALL, "replay": PANELS["replay"]}
    window = make_window(recordings / "no_state.h5", panels=panels)
    window.open_files([pipe])
    settle(window)
    assert "this is a pipe" in window.frame.message_bar.text
    QTest.keyClick(
        window.windowHandle(), Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier
    )
    settle(window)
    assert window.session.active.name == "pipe.h5"
    assert window.session.active.phase is Phase.FAILED


def test_trying_again_replaces_the_failed_document(window, tmp_path, recordings):
    path = tmp_path / "late.h5"
    window.open_files([path])
    settle(window)
    assert "no such file" in window.frame.message_bar.text
    path.write_bytes((recordings / "no_state.h5").read_bytes())
    window.open_files([path])
    settle(window)
    named = [d for d in window.session.documents if d.name == "late.h5"]
    assert [d.phase for d in named] == [Phase.READY]


def test_it_is_usable_while_it_is_indexed_and_can_be_stopped(
    make_window, recordings, gated, qtbot
):
    window = make_window()
    window.open_files([recordings / "soft_body.h5"])
    qtbot.waitUntil(lambda: bool(gated) and gated[0].half_way.is_set(), timeout=5000)
    qtbot.waitUntil(lambda: window.session.active is not None, timeout=5000)
    document = window.session.active
    assert document.phase is Phase.INDEXING
    assert len(document.recording) == 1  # the first step, before there is an index
    bar = window.frame.sentence_bar
    qtbot.waitUntil(lambda: bar.sentence.progress == 0.1, timeout=5000)
    assert "10%" in bar.label.text
    assert not window.settled()
    QTest.mouseClick(bar.buttons["cancel"], LEFT)
    qtbot.waitUntil(lambda: document.phase is Phase.STOPPED, timeout=5000)
    assert gated[0].closed
    assert "Stopped" in bar.label.text
    assert window.frame.message_bar.current is None  # it is no error


def test_reading_again_after_a_stop_reads_all(make_window, recordings, gated, qtbot):
    window = make_window()
    window.open_files([recordings / "soft_body.h5"])
    qtbot.waitUntil(lambda: bool(gated) and gated[0].half_way.is_set(), timeout=5000)
    qtbot.waitUntil(lambda: window.session.active is not None, timeout=5000)
    window.workspace.cancel(window.session.active)
    bar = window.frame.sentence_bar
    qtbot.waitUntil(lambda: "reload" in bar.buttons, timeout=5000)
    QTest.mouseClick(bar.buttons["reload"], LEFT)
    qtbot.waitUntil(lambda: len(gated) == 2, timeout=5000)
    gated[1].go_on.set()
    settle(window)
    assert len(window.session.active.recording) == 40
    assert window.session.active.phase is Phase.READY


def test_a_position_is_gone_to_as_soon_as_it_is_there(
    make_window, recordings, gated, qtbot
):
    window = make_window()
    window.open_files([recordings / "soft_body.h5"], at="native:30")
    qtbot.waitUntil(lambda: bool(gated) and gated[0].half_way.is_set(), timeout=5000)
    gated[0].go_on.set()
    settle(window)
    assert window.session.clock.row == 30


def test_a_position_that_is_not_there_is_told(make_window, recordings):
    window = make_window(recordings / "soft_body.h5")
    window.open_files([recordings / "soft_body.h5"], at="native:4000")
    settle(window)
    assert "4000" in window.frame.message_bar.text
    assert window.session.clock.row == 0


def test_closing_while_indexing_leaves_no_thread(make_window, recordings, gated, qtbot):
    window = make_window()
    window.open_files([recordings / "soft_body.h5", recordings / "no_state.h5"])
    qtbot.waitUntil(lambda: bool(gated) and gated[0].half_way.is_set(), timeout=5000)
    window.close()
    assert our_threads() == []
    assert gated[0].closed
    docked = [dock.panel for dock in window.docks.docks.values()]
    assert all(panel.released for panel in docked)


def test_closing_a_document_drops_its_late_answer(
    make_window, recordings, gated, qtbot
):
    window = make_window()
    window.open_files([recordings / "soft_body.h5"])
    qtbot.waitUntil(lambda: bool(gated) and gated[0].half_way.is_set(), timeout=5000)
    qtbot.waitUntil(lambda: window.session.active is not None, timeout=5000)
    document = window.session.active
    window.actions_by_id["file.close"].trigger()
    gated[0].go_on.set()
    qtbot.waitUntil(lambda: gated[0].closed, timeout=5000)
    qtbot.wait(50)
    assert window.session.documents == []
    assert document.phase is Phase.INDEXING  # nobody told it any more
    assert window.frame.starting  # nothing is open: the start page


def test_each_document_keeps_its_cursor_plots_and_hidden_actors(window, recordings):
    first = window.session.active
    window.session.clock.seek(50)
    first.add_plot(FieldRef(1, "vcom"))
    first.set_hidden(2, True)
    window.open_files([recordings / "soft_body.h5"])
    settle(window)
    assert window.session.clock.row == 0
    window.session.clock.seek(7)
    window.actions_by_id["view.next_document"].trigger()
    assert window.session.active is first
    assert window.session.clock.row == 50
    assert FieldRef(1, "vcom") in first.plots
    assert first.hidden == {2}
    window.actions_by_id["view.next_document"].trigger()
    assert window.session.clock.row == 7


def test_the_start_page_is_one_click_away_and_back(window):
    QTest.mouseClick(window.frame.header.brand, LEFT)
    page = window.frame.start_page
    assert page.isVisible()
    assert [row.accessibleName() for row in page.rows] == [
        f"Open {window.session.active.source.recording.path}"
    ]
    QTest.mouseClick(page.back_button, LEFT)
    assert not page.isVisible()


def test_the_start_page_opens_recent_and_shipped_recordings(
    make_window, window, recordings
):
    window.actions_by_id["file.close"].trigger()
    page = window.frame.start_page
    assert page.isVisible()
    QTest.mouseClick(page.rows[0], LEFT)
    settle(window)
    assert window.session.active.name == "shared_cartpole_missed_restore.h5"
    window.actions_by_id["file.close"].trigger()
    QTest.mouseClick(page.shipped_button, LEFT)
    settle(window)
    assert window.session.clock.state.rows == 126


def test_a_panel_that_cannot_be_made_says_why_and_the_rest_works(
    make_window, recordings, monkeypatch
):
    places = stand_ins.ALL | {"signals": "tests.app.needs_what_is_not_here:Signals"}
    monkeypatch.setitem(extras.BROUGHT_BY, "a_package_that_is_not_here", ("app", "it"))
    window = make_window(recordings / "no_state.h5", panels=places)
    assert "pip install 'isoscope[app]'" in window.frame.message_bar.text
    assert window.docks.docks["signals"].isVisible()
    assert window.session.clock.state.rows == 5


def test_reading_again_keeps_what_the_user_did(window):
    old = window.session.active
    window.session.clock.seek(21)
    old.set_plots([FieldRef(1, "vcom")])
    old.set_hidden(2, True)
    window.actions_by_id["file.reload"].trigger()
    settle(window)
    new = window.session.active
    assert new is not old
    assert window.session.documents == [new]
    assert window.session.clock.row == 21
    assert (new.plots, new.hidden) == ([FieldRef(1, "vcom")], {2})


def test_a_panel_out_of_the_window_takes_drops_and_keys(window, recordings, qtbot):
    dock = window.docks.docks["signals"]
    dock.setFloating(True)
    qtbot.waitUntil(dock.isVisible, timeout=3000)
    data, action, at = drag([recordings / "no_state.h5"]), COPY, QPointF(5, 5)
    enter = QDragEnterEvent(at.toPoint(), action, data, LEFT, NO_MODIFIER)
    QApplication.sendEvent(dock, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(dock, QDropEvent(at, action, data, LEFT, NO_MODIFIER))
    settle(window)
    assert window.session.active.name == "no_state.h5"
    dock.activateWindow()
    qtbot.waitUntil(dock.isActiveWindow, timeout=3000)
    dock.panel.line.clearFocus()  # a text box takes plain keys for itself
    QTest.keyClick(dock.windowHandle(), Qt.Key.Key_Period)
    assert window.session.clock.row == 1


def test_a_picture_is_saved_under_a_new_name_each_time(window, tmp_path, monkeypatch):
    monkeypatch.setattr(
        commands.QStandardPaths,
        "writableLocation",
        lambda _: str(tmp_path / "pictures"),
    )
    window.session.clock.seek(7)
    action = window.actions_by_id["file.screenshot"]
    action.trigger()
    action.trigger()
    names = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    stem = "isoscope-shared_cartpole_missed_restore-native-7"
    assert names == [f"{stem}-2.png", f"{stem}.png"]
    assert "Saved as" in window.frame.message_bar.text


def test_enter_presses_the_button_that_has_the_focus(window):
    window.frame.header.brand.setFocus()
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_Return)
    assert window.frame.starting


def test_reading_the_only_recording_again_does_not_lead_to_the_start_page(
    window, tmp_path, recordings
):
    window.actions_by_id["file.reload"].trigger()
    assert not window.frame.starting
    settle(window)
    assert not window.frame.starting
    window.actions_by_id["file.close"].trigger()
    assert window.frame.starting
    window.open_files([tmp_path / "late.h5"])
    settle(window)
    assert window.session.active.phase is Phase.FAILED
    assert not window.frame.starting
    (tmp_path / "late.h5").write_bytes((recordings / "no_state.h5").read_bytes())
    window.actions_by_id["file.reload"].trigger()
    settle(window)
    assert [d.phase for d in window.session.documents] == [Phase.READY]
    assert not window.frame.starting


def test_reading_again_what_is_gone_keeps_what_was_read(
    make_window, tmp_path, recordings
):
    path = tmp_path / "run.h5"
    path.write_bytes((recordings / "soft_body.h5").read_bytes())
    window = make_window(path)
    document = window.session.active
    window.session.clock.seek(9)
    path.unlink()
    window.actions_by_id["file.reload"].trigger()
    settle(window)
    assert "no such file" in window.frame.message_bar.text
    assert window.session.documents == [document]
    assert (document.phase, document.rows) == (Phase.READY, 40)
    assert window.session.clock.row == 9


def test_why_a_file_did_not_open_is_told_and_not_that_it_has_no_rows(
    make_window, recordings
):
    window = make_window()
    window.open_files([recordings / "killed.h5"], at="native:3")
    settle(window)
    assert "its writer died" in window.frame.message_bar.text


def test_a_file_asked_for_twice_is_opened_once_and_gone_to(make_window, recordings):
    window = make_window()
    path = recordings / "soft_body.h5"
    heard = []
    window.open_files([path], then=heard.append)
    window.open_files([path], at="native:9", then=heard.append)
    settle(window)
    assert len(window.session.documents) == 1
    assert heard == [window.session.active] * 2
    assert window.session.clock.row == 9
