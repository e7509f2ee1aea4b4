"""Finds the episodes of documents, and keeps up which findings touch them.

Only where a panel asks for them: a large recording's transitions take a while. All of
this belongs to the GUI thread, the work is done in others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.app.document_jobs import DocumentJobs
from isoscope.app.workspaces import open_workspace
from isoscope.core.dataset.curate.columns import Touches
from isoscope.core.dataset.readers.source import DatasetSource
from isoscope.core.dataset.transitions.door import episodes_of
from isoscope.core.errors import CancelledError, IsoscopeError, UsageError
from isoscope.core.isolation.context import Examined
from isoscope.core.isolation.tainting import tainted
from isoscope.widgets.curate.curation import Curation
from isoscope.widgets.curate.places import (
    AttributedPlaces,
    DatasetPlaces,
    LabelledPlaces,
)
from isoscope.widgets.session import Phase

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.app.workers import Job, Workers
    from isoscope.core.analysis import Analysis
    from isoscope.core.dataset.model import Episodes
    from isoscope.core.isolation.findings import Audit
    from isoscope.core.recording.model import Recording
    from isoscope.widgets.curate.places import Places
    from isoscope.widgets.session import Document, Session


class Curating:
    """Gives documents their `Curation` when somebody asks.

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
        self.session, self._tell = session, tell
        self._jobs = DocumentJobs(session, workers, tell)
        self._touching = DocumentJobs(session, workers, tell)
        self._wanted: set[Document] = set()
        self._observers: dict[Document, Callable[[], None]] = {}
        session.removed.connect(self.forget)

    @property
    def busy(self) -> bool:
        """Whether episodes, or what touches them, are still to be found."""
        return self._jobs.busy or self._touching.busy

    def want(self, document: Document) -> None:
        """Have the document's episodes as soon as it is read to its end."""
        if document not in self._wanted:
            self._wanted.add(document)
            self._observers[document] = lambda: self._look(document)
            document.analysed.connect(self._observers[document])
            document.phase_changed.connect(self._on_phase)
        self._look(document)

    def forget(self, document: Document) -> None:
        """Let a document go."""
        self._wanted.discard(document)
        observer = self._observers.pop(document, None)
        if observer is not None:
            document.analysed.disconnect(observer, missing_ok=True)
            document.phase_changed.disconnect(self._on_phase, missing_ok=True)
        self._jobs.drop(document)
        self._touching.drop(document)

    def use_transitions(self, document: Document, path: Path) -> None:
        """Take the actions of a bare recording from a file."""
        self._begin(document, path)

    def _on_phase(self, document: Document) -> None:
        self._look(document)

    def _look(self, document: Document) -> None:
        if document.phase not in (Phase.READY, Phase.STOPPED):
            return
        known = document.curation
        if known is not None:
            self._touch(document, known)
        elif not self._jobs.has(document) and not document.curation_error:
            self._begin(document, None)

    def _begin(self, document: Document, transitions: Path | None) -> None:
        source, analysis = document.source, document.analysis

        def work(_: Job[tuple[Curation, str]]) -> tuple[Curation, str]:
            recording = source.recording
            if isinstance(source, DatasetSource):
                if transitions is not None:
                    raise UsageError(f"{recording.name} is a dataset with its actions")
                episodes: Episodes = source.episodes
                places: Places = DatasetPlaces(episodes)
            else:
                attribution = None if analysis is None else analysis.attribution
                episodes = episodes_of(recording, attribution, transitions)
                labelled = recording.labelled
                if labelled is not None and transitions is None:
                    told = labelled.columns("transitions")
                    places = LabelledPlaces(
                        episodes, told["first_row"], told["last_row"]
                    )
                else:
                    assert analysis is not None  # else there was no attribution
                    places = AttributedPlaces(episodes, analysis)
            workspace, said = open_workspace(episodes, recording.path, transitions)
            by = recording.labelled is not None and transitions is None
            return Curation(episodes, workspace, places, transitions, by), said

        def done(found: tuple[Curation, str]) -> None:
            curation, said = found
            if said:
                self.session.say("warning", said)
            document.set_curation(curation)
            self._touch(document, curation)

        def failed(error: BaseException) -> None:
            if isinstance(error, IsoscopeError) and transitions is None:
                document.set_curation(None, str(error))
            else:
                text = self._tell(error, f"finding the episodes of {document.name}")
                document.set_curation(document.curation, text)

        self._jobs.start(document, work, done, failed)

    def _touch(self, document: Document, curation: Curation) -> None:
        """Find out what the present findings touch, if that isn't known."""
        analysis = document.analysis
        audit = None if analysis is None else analysis.audit
        if analysis is None or audit is None or audit is curation.audit:
            return
        if isinstance(document.source, DatasetSource):
            return  # its rows are no native steps, and nothing was audited
        recording = document.recording

        def work(_: Job[tuple[Audit, Touches]]) -> tuple[Audit, Touches]:
            return audit, _touches(recording, analysis, audit, curation)

        def done(found: tuple[Audit, Touches]) -> None:
            curation.audit, curation.touches = found
            document.curation_changed.emit()

        def failed(error: BaseException) -> None:
            if not isinstance(error, CancelledError):
                self._tell(error, f"finding what is tainted in {document.name}")

        self._touching.start(document, work, done, failed)


def _touches(
    recording: Recording, analysis: Analysis, audit: Audit, curation: Curation
) -> Touches:
    spread = analysis.tainted
    if spread is None:  # a run that was watched, and whose audit was stopped at its end
        subject = Examined(recording, analysis.attribution)
        spread = tainted(subject, audit.findings)
    return Touches(curation.episodes, spread, curation.by_transition)
