"""Every document is attributed and audited in the background as it opens.

While a long recording is still being indexed, what is there is attributed each time
that it has doubled; the audit comes when all is there. Of a run that is watched all
that has come is audited while it is paused. All of the methods belong to the GUI
thread, the work does not.
"""

from __future__ import annotations

import time
from math import prod
from typing import TYPE_CHECKING

from psygnal import Signal

from isoscope.core.analysis import (
    Analyser,
    aligned,
    audited,
    audited_so_far,
    told_more,
)
from isoscope.core.errors import CancelledError
from isoscope.core.following.own_steps import FollowedAnalysis
from isoscope.core.isolation.context import Examined
from isoscope.widgets.session import Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.app.workers import Job, Workers
    from isoscope.core.analysis import Analysis
    from isoscope.core.isolation.findings import Audit
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.source import Cancel
    from isoscope.widgets.session import Document, Session

FIRST_ROWS = 4096  # fewer are not worth an answer before all is there
FIRST_AFTER_S = 1.5  # so long indexing has the processor for itself
STOPPED = "stopped"
# What all checks may read of a run that is only paused; what they have read stays in
# memory until the run is closed.
PAUSED_BYTES = 256 << 20
SETTLED_S = 0.5  # without a new row, and the last ones of a paused run have come


class Analysing:
    """Runs the analysis of each document of a session, one at a time for each.

    Parameters
    ----------
    session
        Whose documents are analysed.
    workers
        Where the work is done.
    tell
        Called with an unexpected error and what was being done; gives its one line.

    Attributes
    ----------
    ended
        Tells that the analysis of a document came to an end, good or not.
    """

    ended = Signal(object)

    def __init__(
        self,
        session: Session,
        workers: Workers,
        tell: Callable[[BaseException, str], str],
    ) -> None:
        self.session = session
        self.workers = workers
        self._tell = tell
        self._analysers: dict[Document, Analyser] = {}
        self._jobs: dict[Document, Job[Analysis]] = {}
        self._aligning: dict[Document, Job[Analysis]] = {}
        self._paused: dict[Document, Job[Audit]] = {}
        self._looked: dict[Document, int] = {}  # rows at a run's last pause
        self._again: set[Document] = set()  # to be begun anew when the job ends
        self._since: dict[Document, float] = {}
        self._observers: dict[Document, Callable[[], None]] = {}
        session.added.connect(self._added)
        session.removed.connect(self._removed)

    @property
    def busy(self) -> bool:
        """Whether any analysis or alignment has still to say how it ended."""
        return bool(self._jobs or self._aligning or self._paused)

    def running(self, document: Document) -> bool:
        """Whether the document is being analysed."""
        return document in self._jobs

    def waits(self, document: Document) -> bool:
        """Whether an answer for all of the document is still to come."""
        return self.running(document) or document.phase in (
            Phase.OPENING,
            Phase.INDEXING,
            Phase.LIVE,
        )

    # -- documents --------------------------------------------------------------------

    def _added(self, document: Document) -> None:
        self._since[document] = time.monotonic()
        document.phase_changed.connect(self._on_phase)
        document.grown.connect(self._on_grown)
        if document.phase is Phase.LIVE:
            self._observers[document] = lambda: self._on_live(document)
            document.live_changed.connect(self._observers[document])
        if document.phase in (Phase.READY, Phase.STOPPED):
            self.start(document)

    def _removed(self, document: Document) -> None:
        document.phase_changed.disconnect(self._on_phase, missing_ok=True)
        document.grown.disconnect(self._on_grown, missing_ok=True)
        observer = self._observers.pop(document, None)
        if observer is not None:
            document.live_changed.disconnect(observer, missing_ok=True)
        self._looked.pop(document, None)
        for jobs in (self._jobs, self._aligning, self._paused):
            job = jobs.pop(document, None)
            if job is not None:
                job.drop()
        self._analysers.pop(document, None)
        self._since.pop(document, None)
        self._again.discard(document)
        for other in self.session.documents:
            if other.twin is document:
                self.use_twin(other, None)

    def _on_phase(self, document: Document) -> None:
        if document in self._observers:
            self._on_live(document)
        if document.phase in (Phase.READY, Phase.STOPPED):
            self.start(document)

    def _on_grown(self, _rows: int) -> None:
        now = time.monotonic()
        for document in self.session.documents:
            if document.phase is not Phase.INDEXING or self.running(document):
                continue
            rows = len(document.source.recording)
            known = document.analysis.rows if document.analysis is not None else 0
            if document.analysis_error or rows < max(FIRST_ROWS, 2 * known):
                continue
            if now - self._since[document] > FIRST_AFTER_S:
                self._begin(document, complete=False)

    # -- jobs -------------------------------------------------------------------------

    def start(self, document: Document) -> None:
        """Attribute and audit all that there is; again, if that has been done."""
        if self.running(document):
            self._again.add(document)
        elif len(document.source.recording):
            self._begin(document, complete=True)

    def cancel(self, document: Document) -> None:
        """Stop; what was known before stays."""
        self._again.discard(document)
        job = self._jobs.get(document)
        if job is not None:
            job.cancel()

    def use_twin(self, document: Document, twin: Document | None) -> None:
        """Compare a document with an independent twin, or with none any more."""
        if twin is document or twin is document.twin:
            return
        document.twin = twin
        if document.analysis is not None and document.analysis.audit is not None:
            self.start(document)

    def take_in(self, document: Document, more: Audit) -> None:
        """Add what some checks found that could not look when the others did."""
        analysis = document.analysis
        if analysis is None or self.running(document):
            return  # what is known is worked out anew

        def done(found: Analysis) -> None:
            if document.analysis is analysis:
                document.set_analysis(found)
                if found.alignment is None:
                    self._align(document, found)
            elif document.analysis is not None and document.analysis.audit is not None:
                self.take_in(document, more)  # its clocks were aligned meanwhile

        def failed(error: BaseException) -> None:
            self._tell(error, f"taking in findings of {document.name}")

        self.workers.start(
            lambda _job: told_more(analysis, document.recording, more), done, failed
        )

    def _begin(self, document: Document, *, complete: bool) -> None:
        recording = document.source.recording
        analyser = self._analysers.setdefault(document, Analyser(recording))
        known, reference = document.analysis, _reference(document)

        def work(job: Job[Analysis]) -> Analysis:
            by_states = None if isinstance(known, FollowedAnalysis) else known
            if complete and by_states is not None and by_states.rows == len(recording):
                return audited(by_states, recording, reference)
            return analyser.run(
                job.progress, job.cancelled, complete=complete, reference=reference
            )

        def done(analysis: Analysis) -> None:
            self._end(document)
            document.set_analysis(analysis)
            if complete:
                self._analysers.pop(document, None)  # it holds states no longer needed
                self._compare_again(document)
                self._align(document, analysis)
            self.ended.emit(document)

        def failed(error: BaseException) -> None:
            again = self._end(document)
            if isinstance(error, CancelledError):
                text = STOPPED
            else:
                text = self._tell(error, f"analysing {document.name}")
            if not again:
                document.set_analysing(None, text)
            self.ended.emit(document)

        def progress(rows: int, total: int) -> None:
            if complete:
                document.set_analysing(rows / total if total else 0.0)

        self._jobs[document] = self.workers.start(work, done, failed, progress)
        if complete:
            document.set_analysing(0.0)

    # -- runs that are paused ----------------------------------------------------------

    def _on_live(self, document: Document) -> None:
        """Look at all that a run has brought, but only while it is paused."""
        live = document.live
        paused = live is not None and live.state == "paused"
        if not paused or document.phase is not Phase.LIVE:
            job = self._paused.pop(document, None)
            if job is not None:
                job.drop()
        elif document not in self._paused:
            self._look_at_all(document)

    def _look_at_all(self, document: Document) -> None:
        recording = document.source.recording
        if not len(recording) or self._looked.get(document) == len(recording):
            return
        if held_bytes(recording) > PAUSED_BYTES:
            return  # the audit after the run reads from the file
        began_at: list[int] = []

        def work(job: Job[Audit]) -> Audit:
            began_at.append(settled_rows(recording, job.cancelled))
            return audited_so_far(recording, job.cancelled)

        def done(found: Audit) -> None:
            del self._paused[document]
            self._looked[document] = began_at[0]
            document.set_live_audit(found, paused=True)
            document.set_checking(False, rows=began_at[0])
            self._on_live(document)  # the last rows may have come since

        def failed(error: BaseException) -> None:
            del self._paused[document]
            grew = not began_at or began_at[0] != len(recording)
            if isinstance(error, CancelledError):
                return
            if grew:  # while it was read, which explains anything
                self._on_live(document)
                return
            self._looked[document] = began_at[0]
            self._tell(error, f"auditing {document.name} while it is paused")

        self._paused[document] = self.workers.start(work, done, failed)

    def _align(self, document: Document, analysis: Analysis) -> None:
        """Lay the clocks over one another, after what matters more is told."""

        def done(found: Analysis) -> None:
            del self._aligning[document]
            if document.analysis is analysis:
                document.set_aligned(found)

        def failed(error: BaseException) -> None:
            del self._aligning[document]
            self._tell(error, f"aligning the clocks of {document.name}")

        old = self._aligning.pop(document, None)
        if old is not None:
            old.drop()
        self._aligning[document] = self.workers.start(
            lambda job: aligned(analysis, document.recording), done, failed
        )

    def _compare_again(self, twin: Document) -> None:
        for document in self.session.documents:
            if document.twin is twin:
                self.start(document)

    def _end(self, document: Document) -> bool:
        """Forget the job; whether another one was begun in its place."""
        del self._jobs[document]
        again = document in self._again
        self._again.discard(document)
        if again:
            self._begin(document, complete=True)
        else:
            document.set_analysing(None)
        return again


def _reference(document: Document) -> Examined | None:
    twin = document.twin
    if twin is None or twin.analysis is None:
        return None
    return Examined(twin.recording, twin.analysis.attribution)


def settled_rows(recording: Recording, cancelled: Cancel) -> int:
    """Wait until a run that was paused brings no more rows; returns how many it has.

    Raises
    ------
    CancelledError
        If `cancelled` said so.
    """
    rows = -1
    while rows != len(recording):
        rows = len(recording)
        until = time.monotonic() + SETTLED_S
        while time.monotonic() < until:
            if cancelled():
                raise CancelledError(f"auditing {recording.name} was stopped")
            time.sleep(0.02)
    return rows


def held_bytes(recording: Recording) -> int:
    """How much memory the values of all fields of the native steps take."""
    fields = [recording.scene, *(actor.fields for actor in recording.actors)]
    size = 0
    for table in fields:
        for track in table.tracks.values():
            if track.ragged:
                size += track.nbytes
                continue
            size += len(track) * track.dtype.itemsize * prod(track.shape)
    return size
