"""The demo as a user has it: through buttons and menus, with a real worker."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt

from isoscope.app.demo.live_settings import ENDLESS, LiveDemo
from isoscope.app.demo.settings import DemoSettings
from isoscope.app.panels import PANELS
from isoscope.core.live.source import LiveSource
from isoscope.widgets.document import Phase
from tests.app import stand_ins

if TYPE_CHECKING:
    from isoscope.app.window import Window
    from isoscope.widgets.document import Document
    from isoscope.widgets.transport.panel import TransportPanel

PATIENCE_MS = 60_000
SMALL = LiveDemo(
    settings=DemoSettings(
        envs=2, steps=ENDLESS, integrator="semi_implicit", device="cpu"
    )
)
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panels() -> dict[str, str]:
    return stand_ins.ALL | {"transport": PANELS["transport"]}


def transport(window: Window) -> TransportPanel:
    return window.panels["transport"]  # type: ignore[return-value]


def started(window: Window, qtbot, demo: LiveDemo = SMALL) -> Document:
    """A demo that runs, and can be asked for things."""
    before = list(window.session.documents)
    window.demo.start(demo)

    def there() -> bool:
        document = window.session.active
        return (
            document is not None
            and document not in before
            and document.live is not None
            and "fault" in document.live.allowed
            and document.rows > 0
        )

    qtbot.waitUntil(there, timeout=PATIENCE_MS)
    return window.session.active


def state(document: Document) -> str:
    return "" if document.live is None else document.live.state


def test_the_start_page_starts_it(make_window, panels, qtbot, monkeypatch):
    window = make_window(panels=panels)
    asked = []
    monkeypatch.setattr(window.demo, "start", lambda: asked.append("demo"))
    window.toggle_start()
    qtbot.mouseClick(window.frame.start_page.demo_button, LEFT)
    assert asked == ["demo"]


def test_pause_step_speed_fault_crash_restart_and_close(make_window, panels, qtbot):
    window = make_window(panels=panels)
    document = started(window, qtbot)
    run = transport(window).run
    assert document.told is not None
    qtbot.waitUntil(lambda: len(document.told.chunks) > 0, timeout=PATIENCE_MS)

    # speed
    run.speeds[4.0].trigger()
    qtbot.waitUntil(lambda: document.live.speed == 4.0, timeout=PATIENCE_MS)
    assert document.live.paced_hz == 100.0

    # a fault, by its menu, in environment 1: found while the run goes on
    run.faults.envs.actions()[1].trigger()
    assert run.faults.target == 1
    run.faults.by_name["missed-restore"].trigger()

    def found() -> bool:
        return any(f.id == "missed-restore" and f.env == 1 for f in document.findings)

    qtbot.waitUntil(found, timeout=PATIENCE_MS)
    assert document.live.state == "running"

    # pause, step
    qtbot.mouseClick(run.pause, LEFT)
    qtbot.waitUntil(lambda: state(document) == "paused", timeout=PATIENCE_MS)
    settled = document.rows
    qtbot.waitUntil(lambda: run.step.isEnabled(), timeout=PATIENCE_MS)
    qtbot.wait(300)
    settled = document.rows
    qtbot.mouseClick(run.step, LEFT)
    qtbot.waitUntil(lambda: document.rows > settled, timeout=PATIENCE_MS)
    qtbot.wait(300)
    # a control step of two environments: two native steps each, or a reset's one
    assert document.rows - settled <= 4
    assert state(document) == "paused"
    qtbot.mouseClick(run.pause, LEFT)
    qtbot.waitUntil(lambda: state(document) == "running", timeout=PATIENCE_MS)

    # a crash, and again
    process = window.demo.processes[document]
    os.kill(process.pid, signal.SIGKILL)
    bar = window.frame.message_bar
    qtbot.waitUntil(lambda: "The demo crashed" in bar.text, timeout=PATIENCE_MS)
    assert "SIGKILL" in bar.current.text
    assert bar.act.text() == "Restart"
    qtbot.mouseClick(bar.act, LEFT)

    def again() -> bool:
        active = window.session.active
        return active is not None and active is not document and active.rows > 0

    qtbot.waitUntil(again, timeout=PATIENCE_MS)
    assert document not in window.session.documents
    second = window.session.active
    process = window.demo.processes[second]

    # closed while it is paused
    second.ask("pause", {})
    qtbot.waitUntil(lambda: state(second) == "paused", timeout=PATIENCE_MS)
    window.close()
    assert not process.running


def test_closing_the_document_ends_the_process(make_window, panels, qtbot):
    window = make_window(panels=panels)
    document = started(window, qtbot)
    process = window.demo.processes[document]
    window.workspace.close(document)
    qtbot.waitUntil(lambda: not process.running, timeout=PATIENCE_MS)
    assert not window.demo.processes
    assert window.frame.message_bar.current is None


def test_a_demo_that_is_watched_no_longer_ends(make_window, panels, qtbot):
    window = make_window(panels=panels)
    document = started(window, qtbot)
    process = window.demo.processes[document]
    window.workspace.cancel(document)
    qtbot.waitUntil(lambda: document.phase is Phase.STOPPED, timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: not process.running, timeout=PATIENCE_MS)
    assert not window.demo.processes
    assert window.frame.message_bar.current is None
    qtbot.waitUntil(lambda: not window.workspace.busy, timeout=PATIENCE_MS)
    assert document.recording.complete
    assert document.analysis.audit is not None
    assert not [f for f in document.findings if f.id == "incomplete-recording"]


def test_a_demo_goes_on_with_the_document_that_is_watched_on(
    make_window, panels, qtbot
):
    window = make_window(panels=panels)
    document = started(window, qtbot)
    process, attaching = window.demo.processes[document], window.workspace.attaching
    after = attaching.follow(LiveSource(document.source.run), document)
    attaching.went_on.emit(document, after)
    window.workspace.close(document)
    qtbot.waitUntil(lambda: after.rows > 0, timeout=PATIENCE_MS)
    assert process.running
    assert window.demo.processes == {after: process}
    os.kill(process.pid, signal.SIGKILL)
    bar = window.frame.message_bar
    qtbot.waitUntil(lambda: "The demo crashed" in bar.text, timeout=PATIENCE_MS)
    window.workspace.close(after)
    assert not window.demo.processes


def test_what_can_not_start_says_why_and_leaves_nothing(make_window, panels, qtbot):
    window = make_window(panels=panels)
    window.demo.start(LiveDemo(settings=DemoSettings(task="Nothing")))
    bar = window.frame.message_bar
    qtbot.waitUntil(lambda: "Nothing" in bar.text, timeout=PATIENCE_MS)
    assert not window.session.documents
    assert not window.workspace.attaching.joining
