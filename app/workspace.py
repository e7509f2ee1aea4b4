"""What is open: documents come and go here, indexed in worker threads.

The session is the model that panels look at; the workspace is what fills it. All of its
methods belong to the GUI thread.
"""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from psygnal import Signal

from isoscope.app import bookmarks
from isoscope.app.alone.view import SteppingAlone
from isoscope.app.analysing import Analysing
from isoscope.app.attaching import Attaching
from isoscope.app.checking import Checking
from isoscope.app.curating import Curating
from isoscope.app.events import control_rows, event_rows
from isoscope.app.exporting import Exporting
from isoscope.app.following import tell_all
from isoscope.app.going import Going
from isoscope.app.live_memory import LiveMemory
from isoscope.app.opening import NoSource, Opened, first_look
from isoscope.app.pausing import Pausing
from isoscope.app.replay_view import Replaying
from isoscope.core.errors import CancelledError, IsoscopeError
from isoscope.core.summary import counted
from isoscope.widgets.session import Bookmark, Document, Phase, Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from isoscope.app.settings import Settings
    from isoscope.app.workers import Job, Workers

    # What to do with a document once it is there.
    Then: TypeAlias = Callable[[Document], None]

log = logging.getLogger(__name__)


class Workspace:
    """Opens, indexes, cancels and closes documents; keeps their bookmarks.

    Attributes
    ----------
    opening_changed
        Tells that files began or ended being opened.
    """

    opening_changed = Signal()

    def __init__(self, session: Session, workers: Workers, settings: Settings) -> None:
        self.session = session
        self.workers = workers
        self.settings = settings
        self.opening: dict[Path, Job[Opened]] = {}
        self._after: dict[Path, list[tuple[str, Then | None]]] = {}
        self._indexing: dict[Document, Job[None]] = {}
        self._keys: dict[Document, str] = {}  # under which bookmarks are kept
        self.analysing = Analysing(session, workers, self._tell)
        self.analysing.ended.connect(self._on_analysed)
        self.attaching = Attaching(session, workers, self._tell, self._indexed)
        self.pausing = Pausing(session, settings)
        self.memory = LiveMemory(session, settings)
        self.attaching.changed.connect(self.opening_changed.emit)
        self.curating = Curating(session, workers, self._tell)
        self.exporting = Exporting(session, workers, self._tell)
        self.replaying = Replaying(session, workers, self._tell)
        self.alone = SteppingAlone(session, workers, self.analysing, self._tell)
        self.checking = Checking(session, workers, self._tell)
        self.analysing.ended.connect(self.replaying.look)
        # Before the panels, which ask for the marks when they hear of the analysis.
        session.added.connect(self._on_added)
        self.going = Going(session, self.indexing, self.analysing.waits)
        session.active_changed.connect(self._mark_rows)
        session.focus_changed.connect(self._mark_active)

    # -- opening -------------------------------------------------------------------

    def open(
        self,
        path: str | Path,
        at: str = "",
        then: Then | None = None,
    ) -> None:
        """Open a recording, or look at it if it is open.

        Parameters
        ----------
        path
            The file.
        at
            A position to go to as soon as it is there.
        then
            Called with the document once it is there, failed or not.
        """
        path = Path(path).expanduser().absolute()
        known = self.find(path)
        if known is not None and known.phase is not Phase.FAILED:
            self.session.activate(known)
            self._arrived(known, at, then)
        else:
            self._open(path, at, then, known)

    def _open(
        self, path: Path, at: str, then: Then | None, replaced: Document | None
    ) -> None:
        """Open a file, in the place of a document that it was before."""
        self._after.setdefault(path, []).append((at, then))
        if path in self.opening:
            return

        def done(opened: Opened) -> None:
            ended(self._take_in(opened))
            self.settings.add_recent(path)

        def failed(error: BaseException) -> None:
            if replaced is not None and replaced.rows:
                # What was read of it before is as good as it was, and stays.
                self._tell(error, f"opening {path}")
                ended(replaced)
            else:
                ended(self._take_in_failed(path, error, replaced))

        def ended(document: Document) -> None:
            del self.opening[path]
            if replaced is not None and replaced is not document:
                self.close(replaced)
            for position, call in self._after.pop(path):
                self._arrived(document, position, call)
            self.opening_changed.emit()

        self.opening[path] = self.workers.start(
            lambda job: first_look(path), done, failed, quick=True
        )
        self.opening_changed.emit()

    def _arrived(self, document: Document, at: str, then: Then | None) -> None:
        if document.phase is not Phase.FAILED:  # why it did is what is to be told
            self.go_to(document, at)
        if then is not None:
            then(document)

    def _take_in(self, opened: Opened) -> Document:
        document = Document(opened.source, opened.preview)
        self._keys[document] = opened.key
        document.set_bookmarks(opened.bookmarks)
        document.bookmarks_changed.connect(lambda: self._save_bookmarks(document))
        self.session.add(document)
        self._index(document)
        return document

    def _take_in_failed(
        self, path: Path, error: BaseException, replaced: Document | None
    ) -> Document:
        text = self._tell(error, f"opening {path}")
        document = Document(NoSource(path, text))
        document.phase, document.error = Phase.FAILED, text
        # What is looked at stays in view.
        active = self.session.active
        self.session.add(document, activate=active is None or active is replaced)
        self.settings.drop_recent(path)
        return document

    def _tell(self, error: BaseException, doing: str) -> str:
        """Show an error in the message bar; gives back its one line."""
        if isinstance(error, IsoscopeError):
            text, details = str(error), ""
        else:
            text = f"{doing}: something unexpected went wrong ({error!r})"
            details = "".join(traceback.format_exception(error))
            log.error("%s\n%s", text, details)
        self.session.say("error", text, details)
        return text

    # -- indexing ------------------------------------------------------------------

    def _index(self, document: Document) -> None:
        source = document.source

        def work(job: Job[None]) -> None:
            try:
                source.index(job.progress, job.cancelled)
                tell_all(source.recording, document, job)
            finally:
                source.close()

        def done(_: None) -> None:
            self._indexed(document, Phase.READY)

        def failed(error: BaseException) -> None:
            if isinstance(error, CancelledError):
                self._indexed(document, Phase.STOPPED, str(error))
            else:
                phase = Phase.STOPPED if document.rows else Phase.FAILED
                self._indexed(document, phase, self._tell(error, "indexing"))

        def progress(events: int, total: int) -> None:
            document.set_progress(events, total)
            self.going.look(document)

        job = self.workers.start(work, done, failed, progress)
        job.if_never_begun(source.close)
        self._indexing[document] = job

    def _indexed(self, document: Document, phase: Phase, error: str = "") -> None:
        self._indexing.pop(document, None)
        done, total = document.progress
        document.phase = phase  # before `grown` is told, which looks at it
        document.set_progress(total if phase is Phase.READY else done, total)
        document.set_phase(phase, error)
        if document is self.session.active:
            self._mark_rows(document)
        self.going.look(document)

    def _on_added(self, document: Document) -> None:
        document.analysed.connect(self._mark_active)

    def _on_analysed(self, document: Document) -> None:
        self.going.look(document)

    def cancel(self, document: Document) -> None:
        """Stop indexing or analysing a document; what is there by then stays."""
        job = self._indexing.get(document)
        if job is not None:
            job.cancel()
        self.attaching.cancel(document)
        self.analysing.cancel(document)

    def indexing(self, document: Document) -> bool:
        """Whether the document is being indexed, or a run that is watched."""
        return document in self._indexing or self.attaching.watches(document)

    @property
    def busy(self) -> bool:
        """Whether anything is being opened, indexed, analysed, or to be gone to."""
        return bool(
            self.opening
            or self.attaching.joining
            or self._indexing
            or len(self.going)
            or self.analysing.busy
            or self.curating.busy
            or self.exporting.busy
            or self.replaying.busy
            or self.alone.busy
            or self.checking.busy
        )

    # -- going and closing ---------------------------------------------------------

    def find(self, path: Path) -> Document | None:
        """The open document of this file."""
        documents = self.session.documents
        return next((d for d in documents if d.source.recording.path == path), None)

    def go_to(self, document: Document, position: str) -> None:
        """Go to a position like ``native:120``, now or as soon as it is indexed."""
        self.going.to(document, position)

    def reload(self, document: Document) -> None:
        """Read a document anew; what the user did with it stays."""
        path = document.source.recording.path
        if path is None:
            return

        def carry_over(new: Document) -> None:
            new.set_plots(document.plots)
            for actor in document.hidden:
                new.set_hidden(actor, True)
            if new is self.session.active:
                self.session.select(document.selection.actor, document.selection.field)

        at = f"native:{document.cursor}" if document.cursor else ""
        self._open(path, at, carry_over if document.rows else None, document)

    def close(self, document: Document) -> None:
        """Let a document go."""
        job = self._indexing.pop(document, None)
        if job is not None:
            job.drop()
        self.going.forget(document)
        self._keys.pop(document, None)
        self.session.remove(document)
        self.attaching.close(document)

    def shut_down(self) -> bool:
        """Stop all work and wait for the threads; whether all ended in time."""
        ended = self.workers.close()
        self.attaching.shut_down()
        return ended

    # -- marks and bookmarks -------------------------------------------------------

    def _mark_rows(self, document: Document | None) -> None:
        if document is not None and document.phase is Phase.LIVE:
            self.attaching.mark_anew(document)
        elif document is not None:
            clock = self.session.clock
            clock.set_marks("event", event_rows(document))
            clock.set_marks("control", control_rows(document))

    def _mark_active(self) -> None:
        self._mark_rows(self.session.active)

    def add_bookmark(self, name: str = "", note: str = "") -> Bookmark | None:
        """Bookmark the cursor's row in the active document."""
        document = self.session.active
        if document is None or document.rows == 0:
            return None
        row = self.session.clock.row
        taken = {b.name for b in document.bookmarks}
        name = name or _free_name(f"step {row}", taken)
        mark = Bookmark(row, name, note)
        document.set_bookmarks([*document.bookmarks, mark])
        return mark

    def remove_bookmark(self, document: Document, mark: Bookmark) -> None:
        """Take a bookmark away."""
        document.set_bookmarks([b for b in document.bookmarks if b is not mark])

    def _save_bookmarks(self, document: Document) -> None:
        path, key = document.source.recording.path, self._keys.get(document)
        if document is self.session.active:
            self._mark_rows(document)
        if path is None or key is None:
            return
        try:
            bookmarks.save(key, path, document.bookmarks)
        except OSError as error:
            kept = counted(len(document.bookmarks), "bookmark")
            self.session.say(
                "error",
                f"{kept} of {path.name} could not be saved: {error.strerror or error}",
            )


def _free_name(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted} ({number})", number + 1
    return name
