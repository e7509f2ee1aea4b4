"""Has documents stepped again alone in the background, and takes in what that finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.app.alone.process import step_alone
from isoscope.app.document_jobs import DocumentJobs
from isoscope.core.errors import CancelledError
from isoscope.core.summary import counted
from isoscope.widgets.findings.alone import can_step

if TYPE_CHECKING:
    from isoscope.app.analysing import Analysing
    from isoscope.app.document_jobs import Tell
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
        tell: Tell,
    ) -> None:
        self.session, self._analysing = session, analysing
        self._jobs = DocumentJobs(session, workers, tell)
        self.cancel = self._jobs.cancel  # nothing of it is kept
        session.removed.connect(self._jobs.drop)

    @property
    def busy(self) -> bool:
        """Whether any is being stepped."""
        return self._jobs.busy

    def start(self, document: Document) -> None:
        """Step a document's environments again, if that can be and is not done yet."""
        path, analysis = document.recording.path, document.analysis
        if self._jobs.has(document) or not can_step(document):
            return
        assert path is not None
        assert analysis is not None
        substeps = analysis.attribution.substeps

        def work(job: Job[Audit]) -> Audit:
            def progress(share: float) -> None:
                job.progress(round(share * THOUSAND), THOUSAND)

            return step_alone(path, substeps, progress, job.cancelled)

        def done(found: Audit) -> None:
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
            if isinstance(error, CancelledError):
                text = ""
            else:
                text = self._jobs.tell(error, f"stepping {document.name} again alone")
            document.set_stepping_alone(None, text)

        document.set_stepping_alone(0.0)
        self._jobs.start(
            document,
            work,
            done,
            failed,
            lambda steps, total: document.set_stepping_alone(steps / total),
            lasting=True,
        )
