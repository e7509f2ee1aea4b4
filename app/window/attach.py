"""Joining runs from the window: which there are, and what to do with the chosen one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from isoscope.app.runs import about_run
from isoscope.core.errors import IsoscopeError
from isoscope.widgets.attach_card import RunRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.app.window.window import Window
    from isoscope.core.recording.source import Source
    from isoscope.widgets.document import Document

LOOK_MS = 1000  # while the card is open


class Attach(QObject):
    """Opens the card, keeps its list fresh, and joins."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.window = window
        self.card = window.frame.attach_card
        self.card.join_asked.connect(self.join)
        self.card.closed.connect(self._closed)
        self._looking = False
        self._look = QTimer(self, interval=LOOK_MS)
        self._look.timeout.connect(self.look)

    def open(self) -> None:
        """Show which runs can be joined."""
        self.card.open_card()
        self.look()
        self._look.start()

    def _closed(self) -> None:
        self._look.stop()

    def look(self) -> None:
        """See which runs there are now."""
        if self._looking:
            return
        self._looking = True

        def done(rows: list[RunRow]) -> None:
            self._looking = False
            first = not self.card.lines
            self.card.show_runs(rows)
            if first and rows and not self.card.address.text():
                self.card.lines[0].setFocus()

        def failed(error: BaseException) -> None:
            self._looking = False
            self._look.stop()
            self.card.show_runs([])
            self.window.session.say("error", f"looking for runs: {error}")

        self.window.workspace.workers.start(
            lambda job: running_rows(), done, failed, quick=True
        )

    def join(
        self,
        address: str,
        token: str = "",
        key: str = "",
        then: Callable[[Document], None] | None = None,
    ) -> None:
        """Join the run at this address; what goes wrong is told in the bar."""
        memory_bytes = self.window.settings.values.live_memory_bytes

        def work() -> Source:
            # Late: the wire is only needed by those who join something.
            from isoscope.core.live.discovery import find
            from isoscope.core.live.source import LiveSource

            run = find(address, token=token, server_key=key)
            return LiveSource(run, memory_bytes=memory_bytes)

        def joined(document: Document) -> None:
            self.window.frame.show_start(False)
            if then is not None:
                then(document)

        self.window.workspace.attaching.attach(work, address, joined)


def running_rows() -> list[RunRow]:
    """The runs that can be joined, the oldest first.

    Raises
    ------
    IsoscopeError
        If that can't be looked up.
    """
    try:
        from isoscope.core.live.discovery import running
    except ModuleNotFoundError as error:
        raise IsoscopeError(f"watching runs needs {error.name}") from None
    return [
        RunRow(run.address, run.name or run.run[:8] or "a run", about_run(run))
        for run in running()
    ]
