"""Has documents stepped again alone in the background, and takes in what that finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.app.alone.process import step_alone
from isoscope.core.errors import CancelledError
from isoscope.core.summary import counted
from isoscope.widgets.findings.alone import can_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.app.analysing import Analysing
    from isoscope.app.workers import Job, Workers
    from isoscope.core.isolation.findings import Audit
    from isoscope.widgets.session import Document, Session

THOUSAND = 1000  # shares are told as whole numbers of this


class SteppingAlone:
    """One such process at a time for each document.

    Parameters
    ----------
    analysing
        Takes in what is found.
    tell
        Called with an error and what was being done: shows it, and gives its one line.
    """

    def __init__(
        self,
        session: Session,
        workers: Workers,
        analysing: Analysing,
        tell: Callable[[BaseException, str], str],
    ) -> None:
        self.session, self.workers = session, workers
        self._analysing, self._tell = analysing, tell
        self._jobs: dict[Document, Job[Audit]] = {}
        session.removed.connect(self._removed)

    @property
    def busy(self) -> bool:
        """Whether any is being stepped."""
        return bool(self._jobs)

    def start(self, document: Document) -> None:
        """Step a document's environments again, if that can be and is not done yet."""
        path, analysis = document.recording.path, document.analysis
        if document in self._jobs or not can_step(document):
            return
        assert path is not None
        assert analysis is not None
        substeps = analysis.attribution.substeps

        def work(job: Job[Audit]) -> Audit:
            def progress(share: float) -> None:
                job.progress(round(share * THOUSAND), THOUSAND)

            return step_alone(path, substeps, progress, job.cancelled)

        def done(found: Audit) -> None:
            del self._jobs[document]
            refused = "; ".join(n.reason for n in found.not_run)
            document.set_stepping_alone(None, refused)
            if refused:
                self.session.say("error", f"Nothing was stepped again: {refused}")
                return
            self._analysing.take_in(document, found)
            many = len(found.findings)
            self.session.say(
                "warning" if many else "note",
                f"{document.name}: {counted(many, 'environment')} "
                f"{'goes' if many == 1 else 'go'} otherwise alone"
                if many
                else f"{document.name}: alone, every environment goes the same way",
            )

        def failed(error: BaseException) -> None:
            del self._jobs[document]
            if isinstance(error, CancelledError):
                text = ""
            else:
                text = self._tell(error, f"stepping {document.name} again alone")
            document.set_stepping_alone(None, text)

        document.set_stepping_alone(0.0)
        self._jobs[document] = self.workers.start(
            work,
            done,
            failed,
            lambda steps, total: document.set_stepping_alone(steps / total),
            lasting=True,
        )

    def cancel(self, document: Document) -> None:
        """Stop; nothing of it is kept."""
        job = self._jobs.get(document)
        if job is not None:
            job.cancel()

    def _removed(self, document: Document) -> None:
        job = self._jobs.pop(document, None)
        if job is not None:
            job.drop()
