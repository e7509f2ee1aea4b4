from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from isoscope.widgets.soon import Soon

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent
    from pytestqt.qtbot import QtBot


class Watched(QWidget):
    """Writes down when it is painted and when it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []
        self.soon = Soon(self, self.call)

    def call(self) -> None:
        self.told.append("call")
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        self.told.append("paint")


def test_it_is_called_once_and_before_the_frame(qtbot: QtBot) -> None:
    widget = Watched()
    qtbot.addWidget(widget)
    widget.show()
    qtbot.waitExposed(widget)
    qtbot.wait(50)
    widget.told.clear()
    widget.update()
    widget.soon.start()
    widget.soon.start()
    assert widget.soon.isActive()
    qtbot.waitUntil(lambda: "paint" in widget.told)
    qtbot.wait(50)
    assert widget.told == ["call", "paint"]
    assert not widget.soon.isActive()


def test_it_can_be_taken_back_and_asked_for_again(qtbot: QtBot) -> None:
    widget = Watched()
    qtbot.addWidget(widget)
    widget.soon.start()
    widget.soon.stop()
    assert not widget.soon.isActive()
    QCoreApplication.processEvents()
    assert widget.told == []
    widget.soon.start()
    widget.soon.stop()
    widget.soon.start()
    QCoreApplication.processEvents()
    assert widget.told == ["call"]


def test_it_may_ask_for_itself_again(qtbot: QtBot) -> None:
    widget = Watched()
    qtbot.addWidget(widget)
    calls: list[int] = []

    def again() -> None:
        calls.append(len(calls))
        if len(calls) < 3:
            soon.start()

    soon = Soon(widget, again)
    soon.start()
    qtbot.waitUntil(lambda: not soon.isActive())
    assert calls == [0, 1, 2]
