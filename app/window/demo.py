"""The demo in the window: its process, its document, and what to do when it crashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QObject

from isoscope.app.following import live_run
from isoscope.core.errors import IsoscopeError
from isoscope.widgets.document import Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.app.demo.live_settings import LiveDemo
    from isoscope.app.demo.process import DemoProcess
    from isoscope.app.window.window import Window
    from isoscope.core.recording.source import Source
    from isoscope.widgets.document import Document

NAME = "the demo"
LAYOUT = "live"
WAITS_S = 10.0  # a demo for its window, which so sees all of it
CRASH_WAIT_S = 2.0  # for a process whose run has died to be gone itself


class Demo(QObject):
    """Starts demos; ends their processes as they are watched no longer."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.window = window
        self._starting: list[DemoProcess] = []
        self.processes: dict[Document, DemoProcess] = {}
        window.session.removed.connect(self._on_removed)
        window.workspace.attaching.went_on.connect(self._on_went_on)

    def start(
        self,
        demo: LiveDemo | None = None,
        then: Callable[[Document], None] | None = None,
        layout: str | None = LAYOUT,
    ) -> None:
        """Start a demo and look at it; what goes wrong is told in the bar.

        Parameters
        ----------
        demo
            Which; by default a CartPole batch, eight environments sharing a scene.
        then
            Called with its document once it is there.
        layout
            How to arrange the panels; None to leave them.
        """
        attaching = self.window.workspace.attaching
        if NAME in attaching.joining:
            return
        try:
            process = self._begun(demo)
        except IsoscopeError as error:
            self.window.session.say("error", str(error))
            return
        running = [one for one in self._starting if one.running]
        self._starting = [*running, process]

        memory_bytes = self.window.settings.values.live_memory_bytes

        def join() -> Source:
            from isoscope.core.live.discovery import find
            from isoscope.core.live.source import LiveSource

            try:
                run = find(process.joinable())
                return LiveSource(run, memory_bytes=memory_bytes)
            except BaseException:
                process.end()
                raise

        def joined(document: Document) -> None:
            self._starting.remove(process)
            self.processes[document] = process
            document.phase_changed.connect(self._on_phase)
            process.begin()
            self.window.frame.show_start(False)
            if then is not None:
                then(document)

        self.window.frame.show_start(False)
        offered = [known.key for known in self.window.arrangement.layouts]
        if layout is not None and layout in offered:
            self.window.set_layout(layout)
        attaching.attach(join, NAME, joined)

    @staticmethod
    def _begun(demo: LiveDemo | None) -> DemoProcess:
        from isoscope.app.extras import needs

        with needs("simulating"):
            import gymnasium  # noqa: F401

            from isoscope.app.demo.live_settings import LiveDemo
            from isoscope.app.demo.process import DemoProcess
        demo = msgspec.structs.replace(demo or LiveDemo(), waits_s=WAITS_S)
        return DemoProcess(demo)

    def _on_phase(self, document: Document) -> None:
        process = self.processes.get(document)
        if process is None or document.phase is Phase.LIVE:
            return
        session, demo = self.window.session, process.demo
        run = live_run(document.source)
        if document.phase is Phase.STOPPED and run is not None and not run.left:
            self._end(document)  # nobody else is there to watch it
            return
        live = document.live
        died = live is not None and live.state == "died"
        if died:
            process.wait(CRASH_WAIT_S)
        if process.running or not (process.crashed or died):
            return

        def restart() -> None:
            self.window.workspace.close(document)
            self.start(demo, layout=None)

        said = process.last_words
        session.say(
            "error",
            f"The demo crashed: {process.ended}",
            said if "\n" in said else "",
            ("Restart", restart),
        )

    def _on_went_on(self, document: Document, after: Document) -> None:
        process = self.processes.pop(document, None)
        if process is not None:
            document.phase_changed.disconnect(self._on_phase, missing_ok=True)
            self.processes[after] = process
            after.phase_changed.connect(self._on_phase)

    def _on_removed(self, document: Document) -> None:
        self._end(document)

    def _end(self, document: Document) -> None:
        """End the process of a document, if it has one."""
        process = self.processes.pop(document, None)
        if process is None:
            return
        process.stop()
        document.phase_changed.disconnect(self._on_phase, missing_ok=True)
        self.window.workspace.workers.start(
            lambda job: process.end(), lambda _: None, lambda _: None, lasting=True
        )

    def let_go(self) -> None:
        """Ask every process to end; the first thing that a closing window does."""
        for process in self._all():
            process.stop()

    def shut_down(self) -> None:
        """End every process; afterwards there is none."""
        for process in self._all():
            process.end()
        self.window.session.removed.disconnect(self._on_removed, missing_ok=True)
        went_on = self.window.workspace.attaching.went_on
        went_on.disconnect(self._on_went_on, missing_ok=True)
        for document in self.processes:
            document.phase_changed.disconnect(self._on_phase, missing_ok=True)

    def _all(self) -> list[DemoProcess]:
        return [*self._starting, *self.processes.values()]
