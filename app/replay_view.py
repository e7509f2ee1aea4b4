"""Steps documents again in the background, as the command does, for the window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from isoscope.app.document_jobs import DocumentJobs
from isoscope.app.model_choices import load_choice, save_choice
from isoscope.core.errors import CancelledError
from isoscope.core.isolation.context import Examined
from isoscope.core.recording.labelled.records import Identity
from isoscope.core.replay.again import ReplayOptions
from isoscope.core.replay.again import replay as step_again
from isoscope.core.replay.compare import TOLERANCE
from isoscope.core.replay.driver import CANCELLED
from isoscope.core.replay.states import Keeper, Replayed
from isoscope.core.summary import counted
from isoscope.widgets.document import Phase
from isoscope.widgets.replay.empty import why_not

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.app.workers import Job, Workers
    from isoscope.core.replay.engine import EngineMaker
    from isoscope.widgets.replay.panel import ReplayPanel
    from isoscope.widgets.replay.request import Request
    from isoscope.widgets.session import Document, MessageLevel, Session

    Progress = Callable[[int, int], None]

NOTHING_YET = "cancelled, before there was anything to show"
T = TypeVar("T")


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
        self.session, self._jobs = session, DocumentJobs(session, workers, tell)
        self._waiting: dict[Document, tuple[Request, bool]] = {}
        self._panel: ReplayPanel | None = None
        session.removed.connect(self._removed)

    @property
    def busy(self) -> bool:
        """Whether anything is being stepped."""
        return self._jobs.busy or bool(self._waiting)

    def show_in(self, panel: ReplayPanel) -> None:
        """Do what this panel asks for, and show in it how that goes."""
        self._panel = panel
        panel.run_asked.connect(self.start)
        panel.cancel_asked.connect(self._jobs.cancel)
        panel.remembered = lambda document: load_choice(document.recording.path)

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
        why = why_not(document, by_model=request.by_model)
        if not why:
            del self._waiting[document]
            self.start(document, request, go=go)
        elif failed or document.analysis is not None or document.analysis_error:
            del self._waiting[document]
            self.session.say("error", why.partition("\n")[0], why)

    def _removed(self, document: Document) -> None:
        self._waiting.pop(document, None)
        self._jobs.drop(document)

    def start(self, document: Document, request: Request, *, go: bool = False) -> None:
        """Step a document again; `go` goes to the first divergence."""
        panel, examined = self._panel, examined_of(document)
        if panel is None or examined is None:
            return
        if request.by_model:
            save_choice(document.recording.path, request.model)

        def work(progress: Progress) -> Replayed:
            return _stepped(examined, request, progress)

        def ended(found: Replayed) -> None:
            panel.show_ended(document, request, found)
            stopped = getattr(found.report, "stopped", None)
            if stopped is not None:
                kind: MessageLevel = "note" if stopped == CANCELLED else "error"
                steps = counted(found.report.compared_steps, "native step")
                text = f"{request.name} ended early: {stopped}"
                self.session.say(kind, f"{text}; {steps} compared until then")
            first = found.report.first_divergence
            if go and first is not None and first.native is not None:
                panel.go(first.native)

        self.begin(document, "Stepping again", work, ended)

    def begin(
        self,
        document: Document,
        what: str,
        work: Callable[[Progress], T],
        ended: Callable[[T], None],
    ) -> bool:
        """Do something for a document in a thread; False while it does something else.

        Parameters
        ----------
        what
            In words: ``"Stepping again"``.
        work
            Called in the thread with what takes steps done and all, and stops it.
        ended
            Called with its result in this thread, unless it failed or was stopped.
        """
        panel = self._panel
        if panel is None or self._jobs.has(document):
            return False

        def run(job: Job[T]) -> T:
            def progress(done: int, total: int) -> None:
                if job.cancelled():
                    raise CancelledError(CANCELLED)
                job.progress(done, total)

            try:
                return work(progress)
            except CancelledError:
                raise CancelledError(NOTHING_YET) from None

        doing = f"{what.lower()}: {document.name}"
        self._jobs.show(document, panel, what, run, ended, doing)
        return True


def _stepped(examined: Examined, request: Request, progress: Progress) -> Replayed:
    """What comes of a request.

    Raises
    ------
    IsoscopeError
        If nothing does; with the reason.
    """
    if request.by_model:
        return _predicted(examined, request, progress)
    options = ReplayOptions(
        start=request.start,
        env=request.env,
        steps=request.steps,
        mode="actions" if request.way == "twice" else request.way,
        twice=request.way == "twice",
        tolerances=dict(request.tolerances),
    )
    keeper = Keeper(TOLERANCE)
    maker = maker_of(request, examined)
    report = step_again(examined, maker, options, progress, keeper, keep_cancelled=True)
    if report.stopped == CANCELLED and not report.compared_steps:
        raise CancelledError(NOTHING_YET)
    name = f"{request.name}, in part" if report.stopped else request.name
    return Replayed(name, report, keeper.states(examined.recording))


def _predicted(examined: Examined, request: Request, progress: Progress) -> Replayed:
    from isoscope.app.standing_in import predicted
    from isoscope.core.replay.stand_in.report import StandInOptions

    chosen = request.model
    options = StandInOptions(
        model=chosen.model,
        integrator=chosen.integrator,
        transitions=Path(chosen.transitions) if chosen.transitions else None,
        start=request.start,
        env=request.env,
        steps=request.steps,
        tolerances=dict(request.tolerances),
        free=request.way != "pinned",
    )
    return predicted(examined, options, request.name, progress)


def examined_of(document: Document) -> Examined | None:
    """The document's recording and whose its steps are; None while nobody knows."""
    analysis = document.analysis
    if analysis is None:
        return None
    return Examined(document.recording, analysis.attribution)


def maker_of(request: Request, examined: Examined) -> EngineMaker:
    """What makes the engine that a request names.

    Raises
    ------
    IsoscopeError
        If it isn't there.
    """
    from isoscope.app.replay_engines import EngineOptions, engine_maker

    labelled = examined.recording.labelled
    identity = Identity() if labelled is None else labelled.identity
    options = EngineOptions(request.engine or None, request.module or None)
    return engine_maker(identity, options)
