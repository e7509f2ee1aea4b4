"""Attaching: the card, its list and its address, and a real run of a tapped process."""

from __future__ import annotations

import threading
import time

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from isoscope.app.commands import attach as command
from isoscope.app.main import main
from isoscope.widgets.attach_card import RunRow
from isoscope.widgets.document import Phase
from tests.app import stand_ins
from tests.app.cli import as_json, printed, refused
from tests.core.tap import support

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    yield from support.alone(tmp_path, monkeypatch)


@pytest.fixture
def window(make_window):
    return make_window(panels=stand_ins.WITHOUT_GL)


def open_card(window, qtbot):
    qtbot.keyClick(window, Qt.Key.Key_O, CTRL_SHIFT)
    card = window.frame.attach_card
    qtbot.waitUntil(card.isVisible)
    return card


def test_without_a_run_the_card_says_how_to_make_one(window, qtbot):
    card = open_card(window, qtbot)
    qtbot.waitUntil(card.empty.isVisible)
    assert "tap.attach(env)" in card.empty.text()
    assert not card.join.isEnabled()
    qtbot.keyClick(card, Qt.Key.Key_Escape)
    assert not card.isVisible()


def test_the_start_page_opens_it_too(window, qtbot):
    window.toggle_start()
    assert window.frame.starting
    qtbot.mouseClick(window.frame.start_page.attach_button, Qt.MouseButton.LeftButton)
    assert window.frame.attach_card.isVisible()


@pytest.mark.parametrize(
    ("address", "says"),
    [("tcp://127.0.0.1:9", "no run of yours"), ("nonsense", "nonsense")],
)
def test_an_address_where_nothing_is_is_told_in_the_bar(window, qtbot, address, says):
    card = open_card(window, qtbot)
    qtbot.keyClicks(card.address, address)
    qtbot.keyClick(card.address, Qt.Key.Key_Return)
    assert not card.isVisible()
    bar = window.frame.message_bar
    qtbot.waitUntil(lambda: bool(bar.messages), timeout=15_000)
    assert says in bar.messages[-1].text
    assert bar.messages[-1].level == "error"
    assert window.session.documents == []


def test_the_keyboard_stays_on_a_run_while_the_list_is_told_anew(window, qtbot):
    card = open_card(window, qtbot)
    window.attach._look.stop()
    qtbot.waitUntil(lambda: not window.attach._looking)

    def rows(seconds, *ports):
        return [RunRow(f"tcp://127.0.0.1:{p}", "run", f"{seconds} s") for p in ports]

    card.show_runs(rows(1, 5, 6))
    second = card.lines[1]
    qtbot.waitUntil(second.isVisible)
    second.setFocus()
    card.show_runs(rows(2, 5, 6))
    assert card.lines[1] is second
    assert "2 s" in second.accessibleName()
    card.show_runs(rows(3, 4, 6, 7))
    assert [line.row.address[-1] for line in card.lines] == ["4", "6", "7"]
    assert QApplication.focusWidget() is second
    qtbot.waitUntil(lambda: all(line.isVisible() for line in card.lines))
    tops = [line.mapTo(card, QPoint(0, 0)).y() for line in card.lines]
    assert tops == sorted(tops)
    card.show_runs(rows(4, 4, 7))
    assert QApplication.focusWidget() is card.lines[0]
    card.show_runs([])
    assert QApplication.focusWidget() is card.address
    asked = []
    card.join_asked.connect(lambda address, *_: asked.append(address))
    card.show_runs(rows(5, 4))
    card.show_runs(rows(6, 4))
    qtbot.mouseClick(card.lines[0], Qt.MouseButton.LeftButton)
    assert asked == ["tcp://127.0.0.1:4"]


def test_a_run_is_listed_joined_by_enter_and_watched_to_its_end(window, qtbot):
    with support.Child("tests.core.live.runner", "-") as child:
        assert child.says() == "ready"
        child.tell("3")
        child.says()
        card = open_card(window, qtbot)
        qtbot.waitUntil(lambda: len(card.lines) == 1, timeout=10_000)
        assert card.lines[0].row.name == "runner"
        qtbot.waitUntil(lambda: QApplication.focusWidget() is card.lines[0])
        qtbot.keyClick(card.lines[0], Qt.Key.Key_Return)
        session = window.session
        qtbot.waitUntil(lambda: session.active is not None, timeout=15_000)
        document = session.active
        assert document.phase is Phase.LIVE
        before = document.rows
        child.tell("5")
        steps = int(child.says())
        qtbot.waitUntil(lambda: document.rows >= before + 10, timeout=15_000)
        qtbot.waitUntil(lambda: document.live is not None, timeout=15_000)
        # steps that the run had not sent anybody yet come as well: then it is whole
        whole = document.rows == steps
        qtbot.waitUntil(lambda: document.live.whole == whole, timeout=15_000)
        child.tell("end")
        qtbot.waitUntil(lambda: document.phase is Phase.READY, timeout=20_000)
        assert document.live.state == "ended"


def test_the_command_lists_what_can_be_joined(capsys):
    assert as_json(capsys, "attach") == {"schema": "isoscope.attach/1", "runs": []}
    assert "tap.attach(env)" in printed(capsys, "attach", "--list")
    assert "no run of yours" in refused(capsys, "attach", "tcp://127.0.0.1:9")


def test_a_picture_of_a_run_is_taken_and_the_window_leaves(tmp_path, pictured, qapp):
    with support.Child("tests.core.live.runner", "-") as child:
        assert child.says() == "ready"
        child.tell("3")
        child.says()
        out = tmp_path / "run.png"
        arguments = ["--screenshot", str(out), "--seconds", "0.5", "--size", "1000x700"]
        ticking = threading.Thread(target=keep_going, args=(child, out), daemon=True)
        ticking.start()
        assert main(["attach", *arguments, "--theme", "light"]) == 0
        ticking.join()
        image = QImage(str(out))
        assert (image.width(), image.height()) == (1000, 700)
        (document,) = pictured
        assert document.live is not None
        assert document.rows > 0
        child.tell("end")
        child.process.wait(support.PATIENCE_S)


def test_a_picture_of_an_ordinary_gymnasium_environment(tmp_path, pictured, qapp):
    with support.Child("tests.app.plain_run") as child:
        assert child.says() == "ready"
        out = tmp_path / "run.png"
        arguments = ["--screenshot", str(out), "--seconds", "0.5", "--size", "1000x700"]
        assert main(["attach", *arguments, "--theme", "dark"]) == 0
        assert not QImage(str(out)).isNull()
        (document,) = pictured
        assert document.rows > 0
        assert document.recording.row_is == "control step"
        assert document.analysis.environments == (0, 1, 2)
        child.tell("end")
        child.process.wait(support.PATIENCE_S)


def keep_going(child, out):
    """Have it step now and then, until there is a picture."""
    while not out.exists():
        child.tell("2")
        child.says()
        time.sleep(0.05)


@pytest.fixture
def pictured(monkeypatch):
    """The documents that a window showed when it closed; it has no GL."""
    shown = []
    from isoscope.app import window as module

    class Plain(module.Window):
        def __init__(self, workspace, theme=None):
            super().__init__(workspace, theme, panels=stand_ins.WITHOUT_GL)

        def closeEvent(self, event):  # noqa: N802
            shown.extend(self.session.documents)
            super().closeEvent(event)

    monkeypatch.setattr(module, "Window", Plain)
    return shown


def test_no_picture_of_a_run_that_is_not_there(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "APPEAR_S", 0.3)
    out = tmp_path / "run.png"
    said = refused(capsys, "attach", "tcp://127.0.0.1:9", "--screenshot", str(out))
    assert "no run of yours is at tcp://127.0.0.1:9" in said
    assert "no run of yours" in refused(capsys, "attach", "--screenshot", str(out))
    assert not out.exists()
    assert "--seconds -1" in refused(capsys, "attach", "--seconds", "-1")
