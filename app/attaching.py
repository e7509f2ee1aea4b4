"""Runs that are watched: joined, followed by a thread of their own, let go.

All of the methods belong to the GUI thread, the work does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from psygnal import Signal

from isoscope.app.events import new_marks
from isoscope.app.following import Following, live_run
from isoscope.app.taking_in import TakingIn
from isoscope.core.errors import CancelledError
from isoscope.widgets.document import Document, Phase

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from isoscope.app.following import LiveRun
    from isoscope.app.workers import Job, Workers
    from isoscope.core.recording.source import Source
    from isoscope.widgets.session import Session

GOING_ON = ", going on"


class Attaching:
    """Joins runs and follows them.

    Parameters
    ----------
    session
        Which gets a document for each.
    workers
        Where the work is done.
    tell
        Called with an error and what was being done; gives its one line.
    over
        Called with a document, its next phase and why, once it is no longer followed.

    Attributes
    ----------
    changed
        Tells that a run began or ended being joined.
    went_on
        Tells that a run whose recording stopped is watched on, in a new document.
    joining
        Runs that have still to answer, by what they are called.
    every_s
        Gives how long it is at least from one time that something is told of a run to
        the next: nobody sees more.
    """

    changed = Signal()
    went_on = Signal(Document, Document)  # in place of the first the second

    def __init__(
        self,
        session: Session,
        workers: Workers,
        tell: Callable[[BaseException, str], str],
        over: Callable[[Document, Phase, str], None],
    ) -> None:
        self.session, self.workers = session, workers
        self._tell, self._over = tell, over
        self.joining: dict[str, Job[Source]] = {}
        self.every_s: Callable[[], float] = lambda: 0.0
        self._jobs: dict[Document, Job[None]] = {}
        self._marked: dict[Document, dict[int, int]] = {}
        self._taking: dict[Document, TakingIn] = {}

    def watches(self, document: Document) -> bool:
        """Whether this run is being followed."""
        return document in self._jobs

    def attach(
        self,
        join: Callable[[], Source],
        name: str,
        then: Callable[[Document], None] | None = None,
    ) -> None:
        """Join a run and follow it until it ends, or the document is closed.

        Parameters
        ----------
        join
            Gives the source; may take seconds.
        name
            What to call the run in messages.
        then
            Called with its document once it is joined.
        """
        if name in self.joining:
            return

        def done(source: Source) -> None:
            del self.joining[name]
            document = self.follow(source)
            if then is not None:
                then(document)
            self.changed.emit()

        self._join(join, name, done)

    def _join(
        self, join: Callable[[], Source], name: str, done: Callable[[Source], None]
    ) -> None:
        def failed(error: BaseException) -> None:
            self.joining.pop(name, None)
            self._tell(error, f"joining {name}")
            self.changed.emit()

        self.joining[name] = self.workers.start(
            lambda job: join(), done, failed, lasting=True
        )
        self.changed.emit()

    def follow(self, source: Source, after: Document | None = None) -> Document:
        """Follow a run that was joined; gives its document.

        Parameters
        ----------
        after
            The document that it goes on after. Whoever looks back in that one, or looks
            at another one, is left alone.
        """
        document = Document(source)
        document.phase = Phase.LIVE
        document.title = getattr(getattr(source, "run", None), "name", "")
        if after is not None:
            document.title = after.name.removesuffix(GOING_ON) + GOING_ON
        document.ask = lambda what, arguments: self._ask(document, what, arguments)
        taking = TakingIn(self.workers, document, self.every_s)
        self._taking[document] = taking
        session, document.follows = self.session, True
        looks = session.active in (None, after) and session.clock.state.follow
        session.add(document, activate=after is None or looks)
        if session.active is document:
            session.clock.set_follow(True)

        def work(job: Job[None]) -> None:
            following = Following(document, job, taking.take, self.every_s)
            following.look()
            try:
                source.index(following.progress, following.cancelled)
            finally:
                following.finish()

        def done(_: None) -> None:
            run = live_run(source)
            if run is not None and run.left:
                self._ended(document, Phase.STOPPED, run.left)
                self._go_on(document, run)
            else:
                self._ended(document, Phase.READY)

        def failed(error: BaseException) -> None:
            if isinstance(error, CancelledError):
                self._ended(document, Phase.STOPPED, "no longer watched")
            else:
                phase = Phase.STOPPED if document.rows else Phase.FAILED
                self._ended(document, phase, self._tell(error, "watching a run"))

        self._jobs[document] = self.workers.start(work, done, failed, lasting=True)
        document.told_changed.connect(lambda: self._mark_more(document))
        return document

    def _go_on(self, document: Document, run: LiveRun) -> None:
        """Watch on a run that has left its document."""
        address = getattr(getattr(run, "run", None), "address", "")
        name = f"{document.name} {address}".rstrip()

        def done(source: Source) -> None:
            self.joining.pop(name, None)
            if document not in self.session.documents:  # nobody wants it any more
                self._let_go(source)
                self.changed.emit()
                return
            after = self.follow(source, document)
            self.went_on.emit(document, after)
            show = ("Show", lambda: self.session.activate(after))
            text = f"{document.name}: {run.left}, in a document of its own"
            shown = self.session.active is after
            self.session.say("warning", text, action=None if shown else show)
            self.changed.emit()

        self._join(run.onward, name, done)

    def _ended(self, document: Document, phase: Phase, error: str = "") -> None:
        self._jobs.pop(document, None)
        taking = self._taking.pop(document, None)
        if taking is not None:
            taking.end()
        self._marked.pop(document, None)
        document.ask = None
        self._over(document, phase, error)

    def _ask(self, document: Document, what: str, arguments: dict[str, Any]) -> None:
        """Ask something of a run; what it refuses is told."""
        source, job = live_run(document.source), self._jobs.get(document)
        if source is None or job is None:
            return

        def answered(ok: bool, message: str) -> None:
            if not ok:
                why = message or "it gave no reason"
                text = f"asking {document.name} to {what}: refused: {why}"
                job.post(lambda: self.session.say("warning", text))

        source.control(what, answered, **arguments)

    # -- marks -------------------------------------------------------------------------

    def mark_anew(self, document: Document) -> None:
        """Name the rows to step between, of the active document."""
        clock = self.session.clock
        clock.set_marks("event", [mark.row for mark in document.bookmarks])
        clock.set_marks("control", [])
        self._marked[document] = new_marks(document, clock, {})

    def _mark_more(self, document: Document) -> None:
        if document is self.session.active and document.phase is Phase.LIVE:
            taken = self._marked.get(document, {})
            clock = self.session.clock
            self._marked[document] = new_marks(document, clock, taken)

    # -- letting go --------------------------------------------------------------------

    def cancel(self, document: Document) -> None:
        """Follow a run no longer; what came stays."""
        job = self._jobs.get(document)
        if job is not None:
            job.cancel()

    def close(self, document: Document) -> None:
        """Let a run go that is no longer shown; this may take its threads a moment."""
        job = self._jobs.pop(document, None)
        if job is not None:
            job.drop()
        taking = self._taking.pop(document, None)
        if taking is not None:
            taking.drop()
        self._marked.pop(document, None)
        if live_run(document.source) is not None:
            self._let_go(document.source)

    def _let_go(self, source: Source) -> None:
        def failed(error: BaseException) -> None:
            self._tell(error, "letting go of a run")

        self.workers.start(
            lambda _: source.close(), lambda _: None, failed, lasting=True
        )

    def shut_down(self) -> None:
        """Close every run that is shown, once no thread follows it any more."""
        for document in self.session.documents:
            if live_run(document.source) is not None:
                document.source.close()
