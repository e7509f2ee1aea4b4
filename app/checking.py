"""Has all checks look at what a run has brought so far, while it goes on.

What the run has written is read anew, so that it stands still while it is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from isoscope.app.analysing import PAUSED_BYTES, held_bytes
from isoscope.app.document_jobs import DocumentJobs
from isoscope.core.analysis import audited_so_far
from isoscope.core.errors import CancelledError
from isoscope.core.isolation.incremental import before_the_end
from isoscope.core.recording.registry import load
from isoscope.widgets.diagnose.waiting import can_check

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.app.document_jobs import Tell
    from isoscope.app.workers import Workers
    from isoscope.core.isolation.findings import Audit
    from isoscope.core.recording.source import Cancel
    from isoscope.widgets.session import Document, Session

TOO_LONG = (
    "There is too much to be checked beside the run: pause it, or wait for its end"
)


class Checking:
    """One such look at a time for each document; all of it the GUI thread's.

    Parameters
    ----------
    tell
        Called with an error and what was being done: shows it, and gives its one line.
    """

    def __init__(self, session: Session, workers: Workers, tell: Tell) -> None:
        self._jobs = DocumentJobs(session, workers, tell)
        self.cancel = self._jobs.cancel  # nothing of it is kept
        session.removed.connect(self._jobs.drop)

    @property
    def busy(self) -> bool:
        """Whether any run is being looked at."""
        return self._jobs.busy

    def start(self, document: Document) -> None:
        """Look at what there is of a run; tells how it went by `checking_changed`."""
        recording = document.source.recording
        path = recording.path
        if self._jobs.has(document) or path is None or not can_check(document):
            return
        if held_bytes(recording) > PAUSED_BYTES:
            document.set_checking(False, error=TOO_LONG)
            return

        def done(found: tuple[Audit, int]) -> None:
            document.set_live_audit(found[0], paused=True)
            document.set_checking(False, rows=found[1])

        def failed(error: BaseException) -> None:
            text = ""
            if not isinstance(error, CancelledError):
                doing = f"checking what there is of {document.name}"
                text = self._jobs.tell(error, doing)
            document.set_checking(False, error=text)

        document.set_checking(True)
        self._jobs.start(
            document,
            lambda job: checked(path, recording.name, job.cancelled),
            done,
            failed,
        )


def checked(path: Path, name: str, cancelled: Cancel) -> tuple[Audit, int]:
    """What all checks find in what is written so far, and how many rows that are.

    What only an end can tell is left out.

    Raises
    ------
    ReadError
        If it can't be read.
    CancelledError
        If `cancelled` said so.
    """
    recording = load(path, cancelled=cancelled)
    found = before_the_end(audited_so_far(recording, cancelled))
    findings = [msgspec.structs.replace(f, file=name) for f in found.findings]
    found = msgspec.structs.replace(found, files=[name], findings=findings)
    return found, len(recording)
