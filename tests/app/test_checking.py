"""What only looks at whole runs: said while a run goes on, and asked for by a click."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt

from isoscope.app import checking
from isoscope.app.demo.live_settings import ENDLESS, LiveDemo
from isoscope.app.demo.settings import DemoSettings
from isoscope.core.errors import CancelledError
from isoscope.core.isolation.incremental import waiting
from isoscope.widgets.diagnose.waiting import OFFER, STOP
from tests.app import stand_ins
from tests.app.test_demo_window import started
from tests.live.source import TestSource

if TYPE_CHECKING:
    from isoscope.app.window import Window
    from isoscope.widgets.diagnose.waiting import WaitingLine

PATIENCE_MS = 60_000
LEFT = Qt.MouseButton.LeftButton
SMALL = LiveDemo(
    settings=DemoSettings(
        envs=2, steps=ENDLESS, integrator="semi_implicit", device="cpu"
    ),
    speed=4.0,
)


def opened(window: Window) -> WaitingLine:
    window.diagnose.open_card()
    return window.diagnose.waiting


def test_a_leak_that_only_a_whole_run_tells_is_found_while_it_goes_on(
    make_window, qtbot
):
    window = make_window(panels=stand_ins.WITHOUT_GL)
    document = started(window, qtbot, SMALL)
    qtbot.waitUntil(lambda: document.analysis.audit is not None, timeout=PATIENCE_MS)
    line = opened(window)
    assert line.isVisible()
    many = len(waiting(document.analysis.audit))
    assert many > 10
    assert line.text.text() == f"{many} checks wait for the run's end"
    assert "config-changed" in line.text.toolTip().split("\n")

    document.ask("fault", {"name": "gravity-leak", "env": 1})
    rows = document.rows
    qtbot.waitUntil(lambda: document.rows > rows + 400, timeout=PATIENCE_MS)
    assert not [f for f in document.findings if f.id == "config-changed"]
    qtbot.mouseClick(line.button, LEFT)
    qtbot.waitUntil(lambda: document.checked_rows > rows, timeout=PATIENCE_MS)
    (found,) = [f for f in document.findings if f.id == "config-changed"]
    assert found.env == 1
    assert found.file == document.source.recording.name
    assert document.live.state == "running"
    assert not [f for f in document.findings if f.id == "incomplete-recording"]
    assert waiting(document.analysis.audit) == ["incomplete-recording"]
    assert line.text.text().startswith("Checked up to native step ")
    assert line.text.text().endswith("; 1 check waits for the run's end")
    qtbot.waitUntil(lambda: not window.workspace.checking.busy, timeout=PATIENCE_MS)


@pytest.fixture
def followed(make_window, tmp_path, qtbot):
    window = make_window(panels=stand_ins.WITHOUT_GL)
    source = TestSource(tmp_path / "run.isoscope.h5", envs=2, sources=1)
    document = window.workspace.attaching.follow(source)
    source.go(4)
    qtbot.waitUntil(lambda: document.analysis is not None, timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: document.analysis.audit is not None, timeout=PATIENCE_MS)
    return window, document, source


def test_it_can_be_stopped_and_says_what_went_wrong(followed, qtbot, monkeypatch):
    window, document, _ = followed
    line, begun = opened(window), threading.Event()

    def slow(recording, cancelled):
        begun.set()
        while not cancelled():
            time.sleep(0.01)
        raise CancelledError("stopped")

    monkeypatch.setattr(checking, "audited_so_far", slow)
    line.button.click()
    qtbot.waitUntil(begun.is_set, timeout=PATIENCE_MS)
    assert line.button.text() == STOP
    line.button.click()
    qtbot.waitUntil(lambda: line.button.text() == OFFER, timeout=PATIENCE_MS)
    assert document.checked_rows == 0
    assert "wait for the run's end" in line.text.text()

    monkeypatch.setattr(checking, "held_bytes", lambda _: checking.PAUSED_BYTES + 1)
    line.button.click()
    assert line.text.text() == checking.TOO_LONG


def test_nothing_waits_any_more_when_the_run_has_ended(followed, qtbot):
    window, document, source = followed
    line = opened(window)
    assert line.isVisible()
    source.end()
    qtbot.waitUntil(lambda: not line.isVisible(), timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: not window.workspace.busy, timeout=PATIENCE_MS)
    assert waiting(document.analysis.audit) == []
