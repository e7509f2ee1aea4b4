"""What is open and what is looked at: the one model that all panels share. No Qt.

A panel gets the session, observes its signals, resolves what it has to draw from
(intent + recording + clock) and never keeps a copy of any of it. Panels change the
session only through its methods. Signals may come from the GUI thread only: whoever
works in another thread hands its results over there first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from psygnal import Signal

from isoscope.core.clock import Clock
from isoscope.core.isolation.places import row_of
from isoscope.widgets.document import (
    Bookmark,
    Document,
    FieldRef,
    Message,
    MessageLevel,
    Phase,
    Selection,
)
from isoscope.widgets.live_state import LiveState

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.replay.past_end import PastEnd

__all__ = [
    "Bookmark",
    "Document",
    "FieldRef",
    "LiveState",
    "Message",
    "MessageLevel",
    "Phase",
    "Selection",
    "Session",
]


class Session:
    """Everything that is open, which of it is active, and the one clock."""

    added = Signal(Document)
    removed = Signal(Document)
    active_changed = Signal(object)  # the Document, or None
    selection_changed = Signal()
    focus_changed = Signal()  # which environment of the active document is looked at
    finding_changed = Signal()  # which finding of it
    messaged = Signal(Message)
    theme_changed = Signal(str)  # "dark" or "light"
    interpolate_changed = Signal(bool)

    def __init__(self) -> None:
        self.clock = Clock()
        self.documents: list[Document] = []
        self.active: Document | None = None
        self.theme = "dark"
        self._past_end: PastEnd | None = None  # what the clock has after the end
        self.interpolate = False  # whether states between native steps are made up
        self.clock.changed.connect(self._remember_cursor)

    def add(self, document: Document, *, activate: bool = True) -> None:
        """Take in a document and make it the active one, unless told not to."""
        self.documents.append(document)
        document.grown.connect(self._on_grown)
        document.analysed.connect(self._on_analysed)
        document.replayed_changed.connect(self._on_replayed)
        self.added.emit(document)
        if activate:
            self.activate(document)

    def remove(self, document: Document) -> None:
        """Let a document go; the next one becomes active."""
        if document not in self.documents:
            return
        at = self.documents.index(document)
        self.documents.remove(document)
        document.grown.disconnect(self._on_grown)
        document.analysed.disconnect(self._on_analysed)
        document.replayed_changed.disconnect(self._on_replayed)
        self.removed.emit(document)
        if self.active is document:
            left = self.documents
            self.activate(left[min(at, len(left) - 1)] if left else None)

    def activate(self, document: Document | None) -> None:
        """Look at this document: the clock gets its times and its cursor."""
        if document is self.active:
            return
        self.clock.pause()
        self.active = None  # the clock's moves below are not this document's
        if document is None:
            self.clock.set_axes([], keep_cursor=False)
        else:
            self.clock.set_axes(document.axes(), keep_cursor=False)
            self._set_tail(document)
            self.clock.seek(document.cursor)
            if document.follows:
                self.clock.set_follow(True)
        self.active = document
        self.active_changed.emit(document)

    def select(self, actor: int | None, field: str | None = None) -> None:
        """Choose an actor (and a field of it) in the active document."""
        document = self.active
        if document is None:
            return
        chosen = document.selection
        if (chosen.actor, chosen.field) != (actor, field):
            document.selection = Selection(actor, field)
            self.selection_changed.emit()

    def focus(self, env: int | None) -> None:
        """Look at one environment of the active document, or (None) at the scene."""
        document = self.active
        if document is not None and env != document.focus:
            document.focus = env
            self.clock.set_axes(document.axes())
            self.focus_changed.emit()

    def show_finding(self, at: int | None) -> None:
        """Look at a finding of the active document: its environment, its native step.

        None looks at no finding any more, and leaves the rest as it is.
        """
        document = self.active
        if document is None or (at is not None and at >= len(document.findings)):
            return
        changed = at != document.finding
        document.finding = at
        finding = document.chosen_finding
        if finding is not None:
            self.clock.pause()
            if finding.env is not None and _several(document):
                self.focus(finding.env)
            row = row_of(finding)
            if row is not None:
                self.clock.seek(row)
        if changed:
            self.finding_changed.emit()

    def say(
        self,
        level: MessageLevel,
        text: str,
        details: str = "",
        action: tuple[str, Callable[[], object]] | None = None,
    ) -> None:
        """Show one line in the message bar, perhaps with something to do about it."""
        self.messaged.emit(Message(level, text, details, action))

    def set_theme(self, theme: str) -> None:
        """Change between ``"dark"`` and ``"light"``."""
        if theme != self.theme:
            self.theme = theme
            self.theme_changed.emit(theme)

    def set_interpolate(self, on: bool) -> None:
        """Show states between native steps while playing, or only recorded ones."""
        if on != self.interpolate:
            self.interpolate = on
            self.interpolate_changed.emit(on)

    def _on_grown(self, rows: int) -> None:
        document = self.active
        if document is not None and document.rows != self.clock.state.rows:
            self.clock.set_axes(document.axes())

    def _on_analysed(self) -> None:
        document = self.active
        if document is not None:
            self.clock.set_axes(document.axes())

    def _on_replayed(self) -> None:
        """Have what goes past the recorded end played after it."""
        document = self.active
        if document is None:
            return
        if document.past_end is not self._past_end:
            self._set_tail(document)

    def _set_tail(self, document: Document) -> None:
        found = self._past_end = document.past_end
        self.clock.set_tail(np.zeros(0) if found is None else found.h_s)

    def _remember_cursor(self) -> None:
        if self.active is not None:
            self.active.cursor = self.clock.row
            self.active.follows = self.clock.state.follow


def _several(document: Document) -> bool:
    return document.analysis is not None and document.analysis.shared
