from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QWidget

from isoscope.widgets import turns
from isoscope.widgets.turns import InTurn, go_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QPaintEvent
    from pytestqt.qtbot import QtBot


class Ticks(QObject):
    """Posts itself something again and again: a tick a turn of the event loop."""

    tick = Signal()

    def __init__(self, told: list[str]) -> None:
        super().__init__()
        self._told = told
        self.tick.connect(self._heard, Qt.ConnectionType.QueuedConnection)

    def _heard(self) -> None:
        self._told.append("tick")
        if len(self._told) < 10_000:
            self.tick.emit()


class Watched(QWidget):
    """Writes down when it is called and painted."""

    def __init__(self, name: str, told: list[str]) -> None:
        super().__init__()
        self.name, self.told = name, told
        self.turn = InTurn(self, self.call)

    def call(self) -> None:
        self.told.append(self.name)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        self.told.append(f"{self.name} painted")


def test_others_get_a_turn_between_two_calls(qtbot: QtBot) -> None:
    told: list[str] = []
    ticks, parent = Ticks(told), QObject()
    three = [InTurn(parent, lambda name=name: told.append(name)) for name in "abc"]
    for turn in three:
        turn.start(0)
    ticks.tick.emit()
    qtbot.waitUntil(lambda: not any(turn.isActive() for turn in three))
    at = [told.index(name) for name in "abc"]
    assert at == sorted(at)
    for before, after in pairwise(at):
        assert "tick" in told[before:after]


def test_each_is_painted_before_the_next_is_called(qtbot: QtBot) -> None:
    told: list[str] = []
    widgets = [Watched(name, told) for name in "ab"]
    for widget in widgets:
        qtbot.addWidget(widget)
        widget.show()
        qtbot.waitExposed(widget)
    qtbot.wait(50)
    told.clear()
    for widget in widgets:
        widget.turn.start(5)
    qtbot.waitUntil(lambda: "b painted" in told)
    assert told == ["a", "a painted", "b", "b painted"]


def test_it_is_called_once_and_can_be_taken_back(qtbot: QtBot) -> None:
    told: list[str] = []
    parent = QObject()
    first = InTurn(parent, lambda: told.append("first"))
    second = InTurn(parent, lambda: told.append("second"))
    for turn in (first, first, second):
        turn.start(1)
    assert first.isActive()
    second.stop()
    assert not second.isActive()
    qtbot.wait(60)
    assert told == ["first"]
    assert not first.isActive()


def test_a_call_may_ask_for_itself_again_and_for_others(qtbot: QtBot) -> None:
    told: list[str] = []
    parent = QObject()

    def one() -> None:
        told.append("one")
        if told.count("one") < 3:
            first.start(0)
        second.start(0)

    first = InTurn(parent, one)
    second = InTurn(parent, lambda: told.append("two"))
    first.start(0)
    qtbot.waitUntil(lambda: not (first.isActive() or second.isActive()))
    assert told.count("one") == 3
    assert told[0] == "one"
    assert told[-1] == "two"


def test_one_whose_widget_is_gone_holds_nobody_up(qtbot: QtBot) -> None:
    told: list[str] = []
    gone, parent = QObject(), QObject()

    def end() -> None:
        told.append("a")
        gone.deleteLater()

    three = [
        InTurn(parent, end),
        InTurn(gone, lambda: told.append("gone")),
        InTurn(parent, lambda: told.append("b")),
    ]
    for turn in three:
        turn.start(0)
    qtbot.waitUntil(lambda: "b" in told)
    assert told == ["a", "b"]


def test_work_in_parts_does_more_at_a_time_the_longer_it_has_taken() -> None:
    slice_s = 0.004

    def work() -> Iterator[None]:
        while True:
            begun = time.thread_time()
            while time.thread_time() - begun < slice_s / 16:
                pass
            done.append(1)
            yield

    counts = []
    longer_s = 0.5 * turns.OVERDUE_S, 40 * turns.LATE_S
    for late_s in (0.0, 1.5 * turns.LATE_S, *longer_s):
        done: list[int] = []
        assert not go_on(work(), time.perf_counter() - late_s, slice_s)
        counts.append(len(done))
    assert counts[0] <= 16 < counts[1] <= 24 < counts[2] <= 32
    assert 16 * 32 < counts[3] <= 16 * 40
    assert go_on(iter([None]), time.perf_counter(), slice_s)


def test_a_part_that_would_probably_be_too_long_waits_for_the_next_turn() -> None:
    slice_s = 0.004
    done: list[int] = []

    def work() -> Iterator[None]:
        while True:
            begun = time.thread_time()
            while time.thread_time() - begun < 0.6 * slice_s:
                pass
            done.append(1)
            yield

    parts = work()
    for turn in (1, 2, 3):
        assert not go_on(parts, time.perf_counter() + 1e6, slice_s)
        assert len(done) == turn
