"""News of a run are taken in one a turn, in order, and all of them in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QObject

from isoscope.app.taking_in import TakingIn
from isoscope.core.following.feed import News

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytestqt.qtbot import QtBot


class Written:
    """Stands in for a document: writes down what is asked of it."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.growth_later: Callable[[], None] | None = None

    def take(self, news: News) -> None:
        self.said.append(f"take {news.rows}")
        if self.growth_later is not None:
            self.growth_later()

    def tell_growth(self) -> None:
        self.said.append("grown")


def taking_into(document: Any, parent: QObject, every_s: float) -> TakingIn:
    return TakingIn(parent, document, lambda: every_s)


@pytest.fixture
def document() -> Written:
    return Written()


def test_news_are_taken_in_order_and_growth_is_told(document: Written, qtbot: QtBot):
    parent, owed = QObject(), [1, 2, 3]
    taking = taking_into(document, parent, 0.0)
    for rows in (1, 2, 3):
        taking.take(News(rows), lambda rows=rows: owed.remove(rows))
    assert not document.said  # not before its turn comes
    qtbot.waitUntil(lambda: "take 3" in document.said[:-1])
    taken = [word for word in document.said if word != "grown"]
    assert taken == ["take 1", "take 2", "take 3"]
    assert not owed
    taking.end()
    assert document.said[-1] == "grown"
    assert document.growth_later is None


def test_growth_waits_until_it_may_be_told_again(document: Written, qtbot: QtBot):
    parent = QObject()
    taking = taking_into(document, parent, 1e5)
    taken: list[int] = []
    taking.take(News(1), lambda: None)
    qtbot.waitUntil(lambda: "grown" in document.said)
    taking.take(News(2), lambda: taken.append(2))
    qtbot.waitUntil(lambda: taken == [2])
    qtbot.wait(50)
    assert document.said == ["take 1", "grown", "take 2"]
    taking.end()  # nothing is left untold
    assert document.said == ["take 1", "grown", "take 2", "grown"]


def test_the_end_takes_what_waits_and_dropping_does_not(document: Written):
    for leave, said in (("end", ["take 1", "take 2", "grown"]), ("drop", [])):
        document.said.clear()
        parent = QObject()
        taking = taking_into(document, parent, 0.0)
        for rows in (1, 2):
            taking.take(News(rows), lambda: None)
        getattr(taking, leave)()
        assert document.said == said
        assert document.growth_later is None
