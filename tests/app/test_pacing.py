"""A window that follows a run is painted no more often than it can afford."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from isoscope.app.window import pacing
from tests.app import stand_ins
from tests.live.source import TestSource

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtGui import QPaintEvent

    from isoscope.app.window import Window


class Watched(QWidget):
    """Counts how often it is painted."""

    painted = 0

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        self.painted += 1


@pytest.fixture
def window(make_window) -> Window:
    return make_window(panels=stand_ins.ALL)


@pytest.fixture
def watched(window: Window, qtbot) -> Watched:
    made = Watched(window)
    made.setGeometry(0, 0, 20, 20)
    made.show()
    qtbot.waitUntil(lambda: made.painted > 0)
    return made


@pytest.fixture
def run(tmp_path: Path) -> TestSource:
    return TestSource(tmp_path / "run.isoscope.h5", envs=2, sources=1)


def asked(watched: Watched, qtbot) -> int:
    """Have it painted, and give Qt time for that; returns how often it was so far."""
    before = watched.painted
    watched.update()
    qtbot.wait(30)
    return before


def follow(window: Window, run: TestSource, qtbot) -> None:
    document = window.workspace.attaching.follow(run)
    run.go(2)
    qtbot.waitUntil(lambda: document.rows > 0 and document.progress[0] > 0)


def test_without_a_run_everything_is_painted_at_once(window, watched, qtbot):
    assert asked(watched, qtbot) + 1 == watched.painted
    assert not window.pacing.waiting


def test_what_a_run_changes_waits_and_what_the_user_does_does_not(
    window, watched, run, qtbot, monkeypatch
):
    follow(window, run, qtbot)
    qtbot.waitUntil(lambda: not window.pacing.waiting)
    for name in ("LEAST_S", "MOST_S"):
        monkeypatch.setattr(pacing, name, 1e5)
    asked(watched, qtbot)  # the first is due, or was before
    asked(watched, qtbot)
    before = asked(watched, qtbot)
    assert watched.painted == before
    assert window.pacing.waiting
    QTest.mouseMove(window.windowHandle(), window.rect().center())
    qtbot.waitUntil(lambda: watched.painted > before)
    assert not window.pacing.waiting
    # For a moment afterwards nothing waits.
    monkeypatch.setattr(pacing, "TOUCHED_S", 1e5)
    assert asked(watched, qtbot) + 1 == watched.painted
    # Nor while a part of the run is played.
    monkeypatch.setattr(pacing, "TOUCHED_S", -1.0)
    window.session.clock.set_follow(False)
    window.session.clock.home()
    qtbot.keyClick(window, Qt.Key.Key_Space)
    assert window.session.clock.state.playing
    assert asked(watched, qtbot) < watched.painted


def test_painting_that_costs_much_comes_more_rarely(window):
    pace = window.pacing
    for cost_s, every_s in (
        (0.0, pacing.LEAST_S),
        (0.1 * pacing.SHARE, 0.1),
        (10.0, pacing.MOST_S),
    ):
        pace.cost_s = cost_s
        assert pace.every_s == pytest.approx(every_s)
    assert 1 / pacing.MOST_S >= 5  # pictures a second: it looks alive
