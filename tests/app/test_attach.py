"""Attaching: the card, its list and its address, and a real run of a tapped process."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

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
        qtbot.waitUntil(lambda: document.rows > before, timeout=15_000)
        qtbot.waitUntil(lambda: document.live is not None, timeout=15_000)
        assert not document.live.whole
        child.tell("end")
        qtbot.waitUntil(lambda: document.phase is Phase.READY, timeout=20_000)
        assert document.live.state == "ended"


def test_the_command_lists_what_can_be_joined(capsys):
    assert as_json(capsys, "attach") == {"schema": "isoscope.attach/1", "runs": []}
    assert "tap.attach(env)" in printed(capsys, "attach", "--list")
    assert "no run of yours" in refused(capsys, "attach", "tcp://127.0.0.1:9")
