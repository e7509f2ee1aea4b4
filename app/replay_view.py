"""Steps documents again in the background, as the command does, for the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.errors import CancelledError
from isoscope.core.isolation.context import Examined
from isoscope.core.replay.again import ReplayOptions
from isoscope.core.replay.again import replay as step_again
from isoscope.core.replay.compare import TOLERANCE
from isoscope.core.replay.states import Keeper, Replayed
from isoscope.widgets.document import Phase
from isoscope.widgets.replay.empty import why_not

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.app.workers import Job, Workers
    from isoscope.core.replay.engine import EngineMaker
    from isoscope.widgets.replay.panel import ReplayPanel
    from isoscope.widgets.replay.request import Request
    from isoscope.widgets.session import Document, Session

CANCELLED = "stopped"


class Replaying:
    """One re-simulation at a time for each document, in a thread of its own.

    Parameters
    ----------
    tell
        Called with an error and what was being done: shows it, and gives its one line.
    """

    def __init__(
        self,
        session: Session,
        workers: Workers,
        tell: Callable[[BaseException, str], str],
    ) -> None:
        self.session, self.workers, self._tell = session, workers, tell
        self._jobs: dict[Document, Job[Replayed]] = {}
        self._waiting: dict[Document, tuple[Request, bool]] = {}
        self._panel: ReplayPanel | None = None
        session.removed.connect(self._removed)

    @property
    def busy(self) -> bool:
        """Whether anything is being stepped."""
        return bool(self._jobs or self._waiting)

    def show_in(self, panel: ReplayPanel) -> None:
        """Do what this panel asks for, and show in it how that goes."""
        self._panel = panel
        panel.run_asked.connect(self.start)
        panel.cancel_asked.connect(self.cancel)

    def cancel(self, document: Document) -> None:
        """Stop; what was shown before stays."""
        job = self._jobs.get(document)
        if job is not None:
            job.cancel()

    def want(self, document: Document, request: Request, *, go: bool = False) -> None:
        """Step a document again as soon as it is known whose its steps were.

        `go` also goes to the first divergence, where there is one.
        """
        self._waiting[document] = (request, go)
        self.look(document)

    def look(self, document: Document) -> None:
        """Start what waits for a document, if it can be by now."""
        if document not in self._waiting:
            return
        failed = document.phase in (Phase.FAILED, Phase.STOPPED)
        if document.phase is not Phase.READY and not failed:
            return
        if document.analysing is not None:
            return
        request, go = self._waiting[document]
        why = why_not(document)
        if not why:
            del self._waiting[document]
            self.start(document, request, go=go)
        elif failed or document.analysis is not None or document.analysis_error:
            del self._waiting[document]
            self.session.say("error", why.partition("\n")[0], why)

    def _removed(self, document: Document) -> None:
        self._waiting.pop(document, None)
        job = self._jobs.pop(document, None)
        if job is not None:
            job.drop()

    def start(self, document: Document, request: Request, *, go: bool = False) -> None:
        """Step a document again."""
        panel, analysis = self._panel, document.analysis
        if panel is None or analysis is None or document in self._jobs:
            return
        examined = Examined(document.recording, analysis.attribution)
        options = ReplayOptions(
            start=request.start,
            env=request.env,
            steps=request.steps,
            mode="actions" if request.way == "twice" else request.way,
            twice=request.way == "twice",
            tolerances=dict(request.tolerances),
        )

        def work(job: Job[Replayed]) -> Replayed:
            def progress(done: int, total: int) -> None:
                if job.cancelled():
                    raise CancelledError(CANCELLED)
                job.progress(done, total)

            keeper = Keeper(TOLERANCE)
            maker = maker_of(request)
            report = step_again(examined, maker, options, progress, keeper)
            return Replayed(request.name, report, keeper.states(examined.recording))

        def ended(found: Replayed) -> None:
            del self._jobs[document]
            panel.show_ended(document, request, found)
            first = found.report.first_divergence
            if go and first is not None and first.native is not None:
                panel.go(first.native)

        def failed(error: BaseException) -> None:
            del self._jobs[document]
            if isinstance(error, CancelledError):
                text = "stopped; what was stepped until then is not kept"
            else:
                text = self._tell(error, f"stepping {document.name} again")
            panel.show_failed(document, text)

        panel.show_running(document, request, "Stepping again")
        self._jobs[document] = self.workers.start(
            work,
            ended,
            failed,
            lambda done, total: panel.show_progress(document, done, total),
            lasting=True,
        )


def maker_of(request: Request) -> EngineMaker:
    """What makes the engine that a request names.

    Raises
    ------
    IsoscopeError
        If it isn't there.
    """
    from isoscope.app.replaying import make_builtin

    return make_builtin
