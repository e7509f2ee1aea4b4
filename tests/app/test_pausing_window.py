"""A run pauses as something is found in it, and is then audited as a whole."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from isoscope.app import analysing
from isoscope.app.demo.live_settings import LiveDemo
from isoscope.app.demo.settings import DemoSettings
from isoscope.app.panels import PANELS
from isoscope.app.settings import Settings
from isoscope.core.errors import CancelledError
from isoscope.core.isolation.findings import Audit, CheckRan, Finding
from isoscope.core.isolation.registry import CHECKS
from tests.app import stand_ins
from tests.live.source import Standing, TestSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.app.window import Window
    from isoscope.widgets.document import Document

PATIENCE_MS = 60_000
DEMO = LiveDemo(
    settings=DemoSettings(envs=2, steps=1 << 40, integrator="semi_implicit"),
    speed=2.0,
    chunk=0,
)


def choose(window: Window, text: str) -> None:
    """Choose from which finding on a run is paused, in the menu."""
    menus = window.frame.header.menu_bar.actions()
    run = next(menu for menu in menus if menu.text() == "Run").menu()
    pause = next(
        a for a in run.actions() if a.text() == "Pause a watched run at findings"
    )
    below = pause.menu()
    below.aboutToShow.emit()
    next(a for a in below.actions() if a.text() == text).trigger()


def state(document: Document) -> str:
    return "" if document.live is None else document.live.state


def said(window: Window) -> list[str]:
    return [message.text for message in window.frame.message_bar.messages]


def snapshots(document: Document, why: str) -> list[int]:
    """The environments whose states were kept for this reason."""
    labelled = document.recording.labelled
    assert labelled is not None
    table = labelled.columns("snapshots")
    return [
        int(env)
        for env, text in zip(table["env"], table["why"], strict=True)
        if text == why
    ]


def test_a_fault_in_the_demo_pauses_it(make_window, qtbot):
    panels = stand_ins.ALL | {"transport": PANELS["transport"]}
    window = make_window(panels=panels)
    choose(window, "At an error")
    assert window.settings.values.pause_on == "error"
    run = window.panels["transport"].run
    window.demo.start(DEMO)

    def there() -> bool:
        document = window.session.active
        live = None if document is None else document.live
        can = live is not None and {"fault", "snapshot"} <= set(live.allowed)
        return can and len(run.faults.envs.actions()) > 1

    qtbot.waitUntil(there, timeout=PATIENCE_MS)
    document = window.session.active
    assert state(document) == "running"
    run.faults.envs.actions()[1].trigger()
    run.faults.by_name["missed-restore"].trigger()

    # it is found while the run goes on, and the run pauses by itself
    qtbot.waitUntil(lambda: state(document) == "paused", timeout=PATIENCE_MS)
    found = next(f for f in document.findings if f.id == "missed-restore")
    assert found.env == 1
    (line,) = [text for text in said(window) if "is paused" in text]
    assert found.headline[:40] in line
    assert "snapshots" in line

    # a state that is kept anyway, a reset's say, is not kept twice
    def kept() -> bool:
        envs = snapshots(document, "asked")
        return 0 < len(envs) <= 2 and len(set(envs)) == len(envs)

    qtbot.waitUntil(kept, timeout=PATIENCE_MS)

    # all checks look at what has come by then, also those that can't keep up
    def all_looked() -> bool:
        steps = document.own_steps
        return steps is not None and steps.looked is not None

    qtbot.waitUntil(all_looked, timeout=PATIENCE_MS)
    audit = document.analysis.audit
    assert {check.id for check in audit.checks} >= set(CHECKS)
    assert not any("see all of a run" in reason.reason for reason in audit.not_run)
    assert [f.id for f in document.findings].count("missed-restore") == 1

    # it goes on, and what was found before doesn't pause it again
    rows = document.rows
    run.pause.click()
    qtbot.waitUntil(lambda: document.rows > rows + 200, timeout=PATIENCE_MS)
    assert state(document) == "running"
    assert any(f.id == "missed-restore" for f in document.findings)


@pytest.fixture
def followed(
    make_window, tmp_path, qtbot
) -> Callable[..., tuple[Window, Document, TestSource]]:
    """A window on a run that allows some things, and in which nothing is wrong."""

    def begin(*allowed: str) -> tuple[Window, Document, TestSource]:
        window = make_window(panels=stand_ins.WITHOUT_GL)
        source = TestSource(tmp_path / "run.isoscope.h5", envs=2, sources=1)
        source.told = {"allowed": list(allowed)}
        document = window.workspace.attaching.follow(source)
        source.go(4)
        qtbot.waitUntil(lambda: state(document) == "running", timeout=PATIENCE_MS)
        qtbot.waitUntil(lambda: document.own_steps is not None, timeout=PATIENCE_MS)
        return window, document, source

    return begin


def wrong(env: int, severity: str = "error") -> Finding:
    return Finding(
        id="missed-restore",
        severity=severity,
        env=env,
        native=(3, 3),
        headline=f"env {env} went on from another state",
        message="",
        remedy="",
    )


def tell(document: Document, *findings: Finding) -> None:
    """Say that these were found so far."""
    checks = [CheckRan(id="missed-restore", ran=True, found=len(findings))]
    document.set_live_audit(
        Audit(files=["run"], findings=list(findings), not_run=[], checks=checks)
    )


def test_a_run_that_can_only_keep_its_states_is_asked_for_them(followed):
    window, document, source = followed("snapshot")
    window.workspace.pausing.choose("warning")
    tell(document, wrong(0, "note"))
    assert source.asked == []
    tell(document, wrong(0, "note"), wrong(1, "warning"))
    assert source.asked == [("snapshot", {})]
    assert "can't be paused from here" in said(window)[-1]
    tell(document, wrong(0, "note"), wrong(1, "warning"))
    assert source.asked == [("snapshot", {})]


def test_a_run_that_takes_no_commands_goes_on_and_it_is_said(followed):
    window, document, source = followed()
    window.workspace.pausing.choose("error")
    tell(document, wrong(0))
    assert source.asked == []
    assert "neither a pause nor a snapshot" in said(window)[-1]


def test_what_was_found_before_it_was_chosen_pauses_nothing(followed):
    window, document, source = followed("pause", "resume")
    window.workspace.pausing.choose("never")
    tell(document, wrong(0))
    window.workspace.pausing.choose("error")
    tell(document, wrong(0))
    assert source.asked == []
    tell(document, wrong(0), wrong(1))
    assert source.asked == [("pause", {})]
    assert "no snapshots when asked" in said(window)[-1]


def test_the_audit_at_a_pause_ends_as_the_run_goes_on(followed, qtbot, monkeypatch):
    window, document, source = followed("pause", "resume")
    begun, ended = [], []

    def slow(recording, cancelled):
        begun.append(threading.current_thread())
        while not cancelled():
            time.sleep(0.01)
        ended.append(recording)
        raise CancelledError("stopped")

    monkeypatch.setattr(analysing, "audited_so_far", slow)
    source.phase = Standing.PAUSED
    qtbot.waitUntil(lambda: bool(begun), timeout=PATIENCE_MS)
    assert begun[0] is not threading.main_thread()
    source.phase = Standing.RUNNING
    qtbot.waitUntil(lambda: bool(ended), timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: not window.workspace.analysing.busy, timeout=PATIENCE_MS)
    assert document.own_steps.looked is None


def test_the_choice_is_remembered(tmp_path: Path, make_window):
    path = tmp_path / "settings.json"
    settings = Settings(path)
    settings.values.pause_on = "warning"
    settings.save()
    assert Settings(path).values.pause_on == "warning"
    path.write_text('{"pause_on": "sometimes"}')
    assert Settings(path).values.pause_on == "never"
