"""Messages: one line at a time, nothing lost, nothing stacked."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from isoscope.widgets import message_bar
from isoscope.widgets.message_bar import KEPT_AT_MOST, MessageBar
from isoscope.widgets.session import Message

LEFT = Qt.MouseButton.LeftButton


def bar_with(qtbot, *messages: Message) -> MessageBar:
    bar = MessageBar()
    qtbot.addWidget(bar)
    bar.resize(900, 60)
    for message in messages:
        bar.show_message(message)
    return bar


def test_the_newest_error_is_shown_and_the_older_one_is_a_click_away(qtbot):
    bar = bar_with(qtbot, Message("error", "one"), Message("error", "two"))
    assert bar.text == "two"
    QTest.mouseClick(bar._older, LEFT)
    assert bar.text == "one"
    QTest.mouseClick(bar._dismiss, LEFT)
    assert bar.text == "two"
    QTest.mouseClick(bar._dismiss, LEFT)
    assert not bar.isVisible()


def test_the_same_message_again_only_counts(qtbot):
    bar = bar_with(qtbot, Message("error", "one"), Message("error", "one"))
    assert len(bar.messages) == 1
    assert bar.text == "one  (2 times)"


def test_a_note_goes_by_itself_and_does_not_push_an_error_away(qtbot, monkeypatch):
    monkeypatch.setattr(message_bar, "NOTE_FOR_MS", 50)
    bar = bar_with(qtbot, Message("error", "bad"), Message("note", "by the way"))
    assert bar.text == "bad"
    qtbot.waitUntil(lambda: len(bar.messages) == 1, timeout=3000)
    assert bar.text == "bad"
    alone = bar_with(qtbot, Message("note", "saved"))
    assert alone.text == "saved"
    qtbot.waitUntil(lambda: not alone.isVisible(), timeout=3000)


def test_details_unfold_and_are_copied(qtbot):
    bar = bar_with(qtbot, Message("error", "bad", "line 1\nline 2"))
    assert not bar._details.isVisible()
    QTest.mouseClick(bar._unfold, LEFT)
    assert bar._details.isVisible()
    assert bar._details.toPlainText() == "line 1\nline 2"
    QTest.mouseClick(bar._copy, LEFT)
    assert QGuiApplication.clipboard().text() == "bad\n\nline 1\nline 2"


def test_a_flood_of_errors_is_bounded(qtbot):
    many = [Message("error", f"error {i}") for i in range(KEPT_AT_MOST + 30)]
    bar = bar_with(qtbot, *many)
    assert len(bar.messages) == KEPT_AT_MOST
    assert bar.text == many[-1].text


def test_the_level_is_told_by_a_shape(qtbot):
    shapes = set()
    for level in ("error", "warning", "note"):
        shapes.add(bar_with(qtbot, Message(level, "x"))._mark.text())
    assert len(shapes) == 3
