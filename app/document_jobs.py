"""Work in threads for documents, one piece at a time for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from isoscope.core.errors import CancelledError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.app.workers import Job, Workers
    from isoscope.widgets.session import Document, Session

    Tell = Callable[[BaseException, str], str]

T = TypeVar("T")


class ShowsWork(Protocol):
    """A panel that says how work for a document goes."""

    def show_running(self, document: Document, what: str) -> None:
        """Say what is being done."""
        ...

    def show_progress(self, document: Document, done: int, total: int) -> None:
        """Say how far it is."""
        ...

    def show_failed(self, document: Document, error: str) -> None:
        """Say why nothing came of it."""
        ...


class DocumentJobs:
    """One job at a time for each document; belongs to the GUI thread.

    Parameters
    ----------
    tell
        Called with an unexpected error and what was being done: shows it, and gives its
        one line.
    """

    def __init__(self, session: Session, workers: Workers, tell: Tell) -> None:
        self.session, self.workers, self.tell = session, workers, tell
        self._jobs: dict[Document, Job[Any]] = {}

    @property
    def busy(self) -> bool:
        """Whether anything is being done."""
        return bool(self._jobs)

    def has(self, document: Document) -> bool:
        """Whether something is being done for a document."""
        return document in self._jobs

    def cancel(self, document: Document) -> None:
        """Ask what is done for a document to stop; it still says how it ended."""
        job = self._jobs.get(document)
        if job is not None:
            job.cancel()

    def drop(self, document: Document) -> None:
        """Stop what is done for a document, and listen to it no longer."""
        job = self._jobs.pop(document, None)
        if job is not None:
            job.drop()

    def start(
        self,
        document: Document,
        work: Callable[[Job[T]], T],
        done: Callable[[T], None],
        failed: Callable[[BaseException], None],
        progress: Callable[[int, int], None] | None = None,
        *,
        lasting: bool = False,
    ) -> None:
        """Do something for a document in a thread, instead of what is done for it.

        Parameters
        ----------
        work
            Called in the thread.
        done, failed
            Called in this thread with the result, or why there is none.
        lasting
            Whether it may take minutes; see `Workers.start`.
        """
        self.drop(document)

        def ended(found: T) -> None:
            del self._jobs[document]
            done(found)

        def went_wrong(error: BaseException) -> None:
            del self._jobs[document]
            failed(error)

        self._jobs[document] = self.workers.start(
            work, ended, went_wrong, progress, lasting=lasting
        )

    def show(
        self,
        document: Document,
        panel: ShowsWork,
        what: str,
        work: Callable[[Job[T]], T],
        ended: Callable[[T], None],
        doing: str,
    ) -> None:
        """Do something that takes long, and have a panel say how it goes.

        Parameters
        ----------
        what
            What the panel says meanwhile: ``"Validating"``.
        ended
            Called with the result, unless it failed or was stopped.
        doing
            What an unexpected error is said to have happened in.
        """

        def failed(error: BaseException) -> None:
            stopped = isinstance(error, CancelledError)
            text = str(error) if stopped else self.tell(error, doing)
            panel.show_failed(document, text)

        panel.show_running(document, what)
        self.start(
            document,
            work,
            ended,
            failed,
            lambda done, total: panel.show_progress(document, done, total),
            lasting=True,
        )
