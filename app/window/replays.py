"""Stepping again from the window's commands and from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.widgets.replay.panel import ReplayPanel
from isoscope.widgets.replay.request import Request

if TYPE_CHECKING:
    from isoscope.app.window.window import Window
    from isoscope.widgets.replay.request import Way
    from isoscope.widgets.session import Document


def panel_of(window: Window) -> ReplayPanel | None:
    """The Replay panel, where there is one."""
    panel = window.panels.get("replay")
    return panel if isinstance(panel, ReplayPanel) else None


def step(window: Window, way: Way) -> None:
    """Step the active document again, and have the panel in view that tells of it."""
    panel = panel_of(window)
    if panel is not None:
        window.show_replay()
        panel.run_way(way)


def step_when_ready(window: Window, document: Document, way: Way, *, go: bool) -> None:
    """Step a document again as soon as it can be; `go` goes where it departs."""
    panel = panel_of(window)
    if panel is not None:
        panel.form.set_way(way)
        window.workspace.replaying.want(document, Request(way=way), go=go)


def to_first(window: Window) -> None:
    """Go to where what was stepped again first departs; say so where it doesn't."""
    panel, document = panel_of(window), window.session.active
    found = None if document is None else document.replayed
    if found is None:
        window.session.say(
            "note", "Nothing was stepped again yet: Ctrl+R opens the Replay panel."
        )
        return
    first = found.report.first_divergence
    if first is None or first.native is None:
        window.session.say("note", f"{found.name}: no native step departs.")
    elif panel is not None:
        panel.go(first.native)
