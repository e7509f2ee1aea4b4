"""Validates and exports what is chosen of documents, as the command does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.app.document_jobs import DocumentJobs
from isoscope.app.reports.report import versions
from isoscope.core.dataset.manifest.build import Made
from isoscope.core.dataset.manifest.exporting import export_with_manifest
from isoscope.core.dataset.readers.source import DatasetSource
from isoscope.core.dataset.validate.registry import RULES
from isoscope.core.dataset.validate.run import AUDIT, validate
from isoscope.core.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.app.workers import Job, Workers
    from isoscope.core.dataset.exporters.report import ExportReport
    from isoscope.core.dataset.validate.report import Report, Waiver
    from isoscope.core.isolation.findings import Audit
    from isoscope.widgets.export.panel import ExportPanel
    from isoscope.widgets.export.request import Request
    from isoscope.widgets.session import Document, Session

    # What a job ends with: the validation, and what was written if that was asked.
    Ended = tuple[Report, ExportReport | None]


class Exporting:
    """One validation or export at a time for each document.

    Parameters
    ----------
    tell
        Called with an unexpected error and what was being done; gives its one line.
    """

    def __init__(
        self,
        session: Session,
        workers: Workers,
        tell: Callable[[BaseException, str], str],
    ) -> None:
        self._jobs = DocumentJobs(session, workers, tell)
        self._panel: ExportPanel | None = None
        session.removed.connect(self._jobs.cancel)

    @property
    def busy(self) -> bool:
        """Whether anything is being validated or written."""
        return self._jobs.busy

    def show_in(self, panel: ExportPanel) -> None:
        """Do what this panel asks for, and show in it how that goes."""
        self._panel = panel
        panel.validate_asked.connect(
            lambda document, request: self.start(document, request, write=False)
        )
        panel.export_asked.connect(
            lambda document, request: self.start(document, request, write=True)
        )
        panel.cancel_asked.connect(self._jobs.cancel)  # nothing half written stays

    def start(self, document: Document, request: Request, *, write: bool) -> None:
        """Validate what is chosen of a document and, if nothing blocks, write it."""
        curation, panel = document.curation, self._panel
        if curation is None or panel is None or self._jobs.has(document):
            return
        choice, kept = curation.choice, curation.kept()
        audit, edits = curation.audit_of_kept(), curation.workspace.edits
        beside = () if curation.transitions is None else (curation.transitions,)
        of_recording = not isinstance(document.source, DatasetSource)
        recording = document.recording if of_recording else None
        analysis = document.analysis
        substeps = None if analysis is None else analysis.attribution.substeps
        waivers = _known(request.waivers, audit)

        def work(job: Job[Ended]) -> Ended:
            report = validate(kept, audit, waivers, job.progress, job.cancelled)
            if report.blocking or not write:
                return report, None
            job.post(lambda: panel.show_running(document, "Writing and reading back"))
            made = Made(
                kept,
                recording,
                audit,
                report,
                edits,
                dict(versions()),
                beside,
                substeps,
            )
            try:
                done = export_with_manifest(
                    made,
                    request.format,
                    request.target,
                    mapping=request.fields,
                    splits=request.splits,
                    options=request.options,
                    overwrite=request.overwrite,
                    progress=job.progress,
                    cancelled=job.cancelled,
                )
            except ImportError as error:
                raise MissingExtraError(
                    f"exporting to {request.format}", "data", str(error.name)
                ) from None
            return report, done

        def ended(found: Ended) -> None:
            panel.show_ended(document, choice, *found)

        doing = f"{'exporting' if write else 'validating'} {document.name}"
        self._jobs.show(document, panel, "Validating", work, ended, doing)


def _known(waivers: tuple[Waiver, ...], audit: Audit | None) -> list[Waiver]:
    """Waivers whose rule is there: a finding may be gone with its episodes."""
    found = {AUDIT + f.id for f in audit.findings} if audit is not None else set()
    return [w for w in waivers if w.rule in RULES or w.rule in found]
