"""Attribution and audit in the window: in the background, and what they lead to."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from isoscope.app import analysing
from isoscope.app.window import sentences
from isoscope.core.analysis import Analyser
from isoscope.core.clock import TimeKind
from isoscope.core.isolation.registry import CHECKS
from isoscope.widgets.session import Phase
from tests.app.conftest import settle
from tests.app.stand_ins import WITHOUT_GL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.app.window import Window

LEFT = Qt.MouseButton.LeftButton
MISSED = "shared_cartpole_missed_restore.h5"
GRAVITY = "shared_cartpole_leak_gravity.h5"
INERTIA, ALONE = "shared_cartpole_leak_inertia.h5", "independent_cartpole_env0.h5"


@pytest.fixture
def gate(monkeypatch) -> Iterator[threading.Event]:
    """Analyses wait until this is set, or until they are cancelled."""
    opened = threading.Event()
    run = Analyser.run

    def wait(self, progress=None, cancelled=None, **more):
        while not opened.wait(0.005):
            if progress is not None:
                progress(30, 120)
            if cancelled is not None and cancelled():
                break
        return run(self, progress, cancelled, **more)

    monkeypatch.setattr(Analyser, "run", wait)
    yield opened
    opened.set()


def press(window: Window, button: str, qtbot) -> None:
    qtbot.mouseClick(window.frame.sentence_bar.buttons[button], LEFT)


def key(window: Window, which: Qt.Key, keys=Qt.KeyboardModifier.NoModifier) -> None:
    QTest.keyClick(window.windowHandle(), which, keys)


def said(window: Window) -> str:
    return window.frame.sentence_bar.label.text


# -- the sentence and where it leads --------------------------------------------------


def test_the_sentence_says_what_is_wrong_tinted_by_how_bad_it_is(
    make_window, recordings
) -> None:
    window = make_window(recordings / MISSED)
    assert "1 error: env 0 went on from env 1's state" in said(window)
    bar = window.frame.sentence_bar
    assert bar.sentence.tone == "error"
    assert list(bar.buttons) == [sentences.SHOW, sentences.FINDINGS]
    quiet = make_window(recordings / "shared_cartpole_2env.h5")
    assert quiet.frame.sentence_bar.sentence.tone == "plain"
    could_not = len(CHECKS) - 12
    assert f"No findings: 12 checks ran, {could_not} could not." in said(quiet)
    warned = make_window(recordings / "post_callback.h5")
    assert warned.frame.sentence_bar.sentence.tone == "warning"


def test_show_leads_to_the_worst_finding_with_the_panels_that_prove_it(
    make_window, recordings, qtbot
) -> None:
    window = make_window(recordings / MISSED, panels=WITHOUT_GL)
    assert window.arrangement.key == "inspect"
    press(window, sentences.SHOW, qtbot)
    settle(window)
    assert window.arrangement.key == "isolate"
    assert window.panels["findings"].isVisible()
    document = window.session.active
    assert document.finding == 0
    assert document.focus == 0
    assert window.session.clock.row == 34


def test_all_findings_leads_to_the_list_and_moves_nothing(
    make_window, recordings, qtbot
) -> None:
    window = make_window(recordings / "restore_twice.h5", panels=WITHOUT_GL)
    assert window.frame.sentence_bar.buttons["findings"].text() == "All 2 findings"
    press(window, sentences.FINDINGS, qtbot)
    settle(window)
    assert window.panels["findings"].isVisible()
    assert window.session.clock.row == 0
    assert window.session.active.finding is None


def test_opening_forces_no_layout(make_window, recordings) -> None:
    window = make_window(recordings / MISSED)
    assert window.arrangement.key == "inspect"
    window.set_layout("isolate")
    assert window.arrangement.title == "Isolate"


# -- going there ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("position", "row", "focus", "finding"),
    [
        ("finding:1", 34, 0, 0),
        ("control:0/1/9", 35, 0, None),
        ("control:1/1/9", 37, 1, None),
        ("control:1/2/0", 43, 1, None),
        ("time:scene=0.34001", 34, None, None),
        ("native:5", 5, None, None),
    ],
)
def test_positions_are_looked_up_with_what_was_found_out(
    make_window, recordings, position, row, focus, finding
) -> None:
    window = make_window()
    window.open_files([recordings / MISSED], at=position)
    settle(window)
    document = window.session.active
    assert window.session.clock.row == row
    assert (document.focus, document.finding) == (focus, finding)


@pytest.mark.parametrize(
    ("position", "problem"),
    [
        ("finding:2", "its findings go from 1 to 1"),
        ("control:7/1/1", "its environments are 0 and 1"),
    ],
)
def test_a_position_that_is_not_there_is_told_after_the_analysis(
    make_window, recordings, position, problem
) -> None:
    window = make_window()
    heard = []
    window.session.messaged.connect(lambda message: heard.append(message.text))
    window.open_files([recordings / MISSED], at=position)
    settle(window)
    assert any(problem in text for text in heard)
    assert not window.workspace.busy


def test_a_control_step_waits_for_the_analysis(
    make_window, recordings, gate, qtbot
) -> None:
    window = make_window()
    window.open_files([recordings / MISSED], at="control:0/1/9")
    qtbot.waitUntil(lambda: window.session.active is not None)
    document = window.session.active
    qtbot.waitUntil(lambda: document.phase is Phase.READY)
    assert window.session.clock.row == 0
    assert window.workspace.busy
    gate.set()
    settle(window)
    assert window.session.clock.row == 35


def test_left_and_right_go_by_control_steps(make_window, recordings) -> None:
    window = make_window(recordings / MISSED)
    clock = window.session.clock
    clock.seek(0)
    rows = []
    for _ in range(4):
        key(window, Qt.Key.Key_Right)
        rows.append(clock.row)
    assert rows == [1, 3, 5, 7]  # both environments, in turn
    window.session.focus(1)
    key(window, Qt.Key.Key_Right)
    key(window, Qt.Key.Key_Right)
    assert clock.row == 13
    key(window, Qt.Key.Key_Left)
    assert clock.row == 9
    key(window, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    labels = window.session.active.labels
    assert (labels.env[clock.row], labels.control_step[clock.row]) == (1, 1)


def test_the_transport_can_step_by_control_steps_once_they_are_known(
    make_window, recordings
) -> None:
    window = make_window(recordings / MISSED)
    transport = window.panels["transport"]
    assert transport.next.isEnabled()
    assert transport.readout.text.endswith("scene 0.00001 s · control 1/0")
    assert TimeKind.CONTROL in window.session.clock.kinds


def test_events_are_findings_resets_and_borders(make_window, recordings) -> None:
    window = make_window(recordings / MISSED)
    clock = window.session.clock
    assert clock.marks("event") == [1, 34, 40, 43, 96, 123]
    clock.seek(2)
    key(window, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    assert clock.row == 34
    window.session.focus(1)
    assert clock.marks("event") == [1, 34, 43, 96]


def look_up(window: Window, text: str, qtbot) -> str:
    """Type into the palette, take the first entry; its title."""
    key(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    card = window.frame.palette_card
    # another window on the display may be the active one; "/" is a key of ours then
    window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is card.line)
    qtbot.keyClicks(card.line, text)
    first = card.shown[0]
    qtbot.keyClick(card.line, Qt.Key.Key_Return)
    settle(window)
    return first.title


def test_the_palette_finds_findings_and_environments(
    make_window, recordings, qtbot
) -> None:
    window = make_window(recordings / MISSED, panels=WITHOUT_GL)
    document, clock = window.session.active, window.session.clock
    qtbot.waitUntil(lambda: document.analysis is not None, timeout=60_000)
    assert look_up(window, "went on from", qtbot).startswith("env 0 went on from env 1")
    assert (document.finding, clock.row) == (0, 34)
    assert look_up(window, "look at env 1", qtbot) == "Look at env 1"
    assert document.focus == 1
    assert look_up(window, "scene itself", qtbot) == "Look at the scene itself"
    assert document.focus is None
    assert look_up(window, "control:0/1/9", qtbot) == "Go to native step 35"
    assert (clock.row, document.focus) == (35, 0)
    assert look_up(window, "time:scene=0.02001", qtbot) == "Go to native step 2"


# -- in the background ----------------------------------------------------------------


def test_the_window_works_while_it_is_analysed(
    make_window, recordings, gate, qtbot
) -> None:
    window = make_window()
    window.open_files([recordings / MISSED])
    qtbot.waitUntil(
        lambda: "Finding out whose each step was" in said(window), timeout=5000
    )
    assert said(window).startswith("126 native steps over 2.4 s of CartPole")
    bar = window.frame.sentence_bar
    qtbot.waitUntil(lambda: bar.sentence.progress == 0.25)
    key(window, Qt.Key.Key_Period)
    assert window.session.clock.row == 1
    gate.set()
    settle(window)
    assert bar.sentence.progress is None
    assert "1 error" in said(window)
    assert window.session.clock.row == 1


def test_it_can_be_stopped_and_begun_again(
    make_window, recordings, gate, qtbot
) -> None:
    window = make_window()
    window.open_files([recordings / MISSED])
    qtbot.waitUntil(lambda: sentences.CANCEL in window.frame.sentence_bar.buttons)
    document = window.session.active
    qtbot.waitUntil(lambda: document.analysing is not None)
    press(window, sentences.CANCEL, qtbot)
    settle(window)
    assert document.analysis is None
    assert document.analysis_error == analysing.STOPPED
    assert "The analysis was stopped" in said(window)
    gate.set()
    press(window, sentences.ANALYSE, qtbot)
    settle(window)
    assert "1 error" in said(window)
    assert document.analysis_error == ""


def test_a_late_answer_for_a_closed_recording_is_never_heard(
    make_window, recordings, gate, qtbot
) -> None:
    window = make_window()
    window.open_files([recordings / MISSED])
    qtbot.waitUntil(
        lambda: (
            window.session.active is not None
            and window.session.active.analysing is not None
        )
    )
    document = window.session.active
    heard = []
    document.analysed.connect(lambda: heard.append(True))
    window.actions_by_id["file.close"].trigger()
    gate.set()
    settle(window)
    qtbot.wait(100)
    assert heard == []
    assert document.analysis is None
    assert not window.workspace.busy


def test_an_analysis_that_fails_is_told_and_the_rest_goes_on(
    make_window, recordings, monkeypatch
) -> None:
    def broken(self, *_, **__):
        raise RuntimeError("it broke")

    monkeypatch.setattr(Analyser, "run", broken)
    heard = []
    window = make_window()
    window.session.messaged.connect(heard.append)
    window.open_files([recordings / MISSED])
    settle(window)
    (message,) = [m for m in heard if m.level == "error"]
    assert message.text.startswith(f"analysing {MISSED}: something unexpected")
    assert "it broke" in message.details
    assert window.session.active.phase is Phase.READY
    assert "The analysis failed" in said(window)


def test_a_twin_is_compared_with_and_let_go(
    make_window, recordings: Path, qtbot
) -> None:
    window = make_window(recordings / ALONE, recordings / INERTIA)
    workspace, session = window.workspace, window.session
    twin = workspace.find(recordings / ALONE)
    shared = workspace.find(recordings / INERTIA)
    session.activate(shared)
    assert shared.findings == []
    workspace.analysing.use_twin(shared, twin)
    settle(window)
    (leak,) = shared.findings
    assert (leak.id, leak.env, leak.episode, leak.control_step) == (
        "hidden-leak",
        0,
        2,
        4,
    )
    assert "env 0 departs from its twin at episode 2, control step 4" in said(window)
    workspace.close(twin)
    settle(window)
    assert shared.twin is None
    assert shared.findings == []


def test_a_twin_that_is_still_being_analysed_is_waited_for(
    make_window, recordings: Path, gate, qtbot
) -> None:
    window = make_window()
    window.open_files([recordings / ALONE, recordings / INERTIA])
    workspace = window.workspace
    qtbot.waitUntil(lambda: len(window.session.documents) == 2)
    twin = workspace.find(recordings / ALONE)
    shared = workspace.find(recordings / INERTIA)
    workspace.analysing.use_twin(shared, twin)
    gate.set()
    settle(window)
    assert [f.id for f in shared.findings] == ["hidden-leak"]


def test_a_long_recording_is_attributed_while_it_is_indexed(
    make_window, cartpole_20k, monkeypatch, qtbot
) -> None:
    monkeypatch.setattr(analysing, "FIRST_AFTER_S", 0.0)
    monkeypatch.setattr(analysing, "FIRST_ROWS", 64)
    rows = []
    window = make_window()
    window.session.added.connect(
        lambda d: d.analysed.connect(lambda: rows.append(d.analysis.rows))
    )
    window.open_files([cartpole_20k])
    settle(window)
    assert rows[-1] == 20_000
    assert rows == sorted(rows)
    document = window.session.active
    assert document.analysis.audit is not None
    assert document.findings == []


def test_nothing_to_attribute_needs_no_analysis(make_window, tmp_path) -> None:
    window = make_window()
    window.open_files([tmp_path / "nothing.h5"])
    settle(window)
    document = window.session.active
    assert document.phase is Phase.FAILED
    assert document.analysis is None
    assert not window.workspace.analysing.busy


def test_each_document_keeps_who_is_looked_at(
    make_window, recordings: Path, qtbot
) -> None:
    window = make_window(recordings / MISSED, recordings / GRAVITY)
    session = window.session
    gravity = session.active
    session.focus(1)
    session.activate(window.workspace.find(recordings / MISSED))
    assert session.active.focus is None
    session.show_finding(0)
    session.activate(gravity)
    assert session.active.focus == 1
    assert session.clock.marks("control")[0] == 1
