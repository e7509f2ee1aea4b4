"""The recorder: takes records from a running program, and writes a labelled recording.

Every call packs a row into memory that is there already and returns; a thread of the
recorder's own writes. Nothing here waits for a disk, and a recording that must stop
(a full disk) stops by itself, says so once, and lets the run go on.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.core.errors import WriteError
from isoscope.core.newfile import refuse_bad_target
from isoscope.core.recording.labelled.container import Container
from isoscope.core.recording.labelled.forms import FORMAT_NAME, VERSION
from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
from isoscope.core.recording.labelled.writing import FLUSH_S, Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.labelled import records as r

BACKLOG_BYTES = 64 << 20


class Recorder(IntakeRecorder):
    """Records one run to one file. All methods may be called from any thread.

    Parameters
    ----------
    path
        The file, ``*.isoscope.h5``.
    identity
        What runs; `identify` may tell more later.
    overwrite
        Whether an existing file may be replaced.
    flush_s
        Seconds between flushes, at most 1.
    backlog_bytes
        What may wait in memory, besides one open block a table; beyond it records are
        refused and counted.
    tell
        Called once, with one line, if the recording stops early.
    compact
        Whether a small file is written anew in the end, without holes.
    process
        Whose run it is, if not this process's.

    Raises
    ------
    UsageError, WriteError
        If the file may not or can't be made.
    """

    def __init__(
        self,
        path: str | Path,
        identity: r.Identity,
        *,
        overwrite: bool = False,
        flush_s: float = FLUSH_S,
        backlog_bytes: int = BACKLOG_BYTES,
        tell: Callable[[str], None] | None = None,
        compact: bool = True,
        process: int | None = None,
    ) -> None:
        self.path = Path(path)
        refuse_bad_target(self.path, overwrite=overwrite)
        try:
            if overwrite:
                self.path.unlink(missing_ok=True)
            container = Container(self.path, _attributes(process), live=True)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise WriteError(f"recording to {self.path}: {why}") from None
        self._writer = Writer(
            container, backlog_bytes, min(flush_s, 1.0), tell, compact=compact
        )
        super().__init__(self._writer.intake)
        self._pid = os.getpid()
        self._closed = False
        self.identify(identity)
        try:
            self._writer.begin()
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise WriteError(f"recording to {self.path}: {why}") from None
        # Also at the program's exit, and where somebody just forgets it.
        self._finalizer = weakref.finalize(self, _close, self._writer, self._pid)

    @property
    def stopped(self) -> str:
        """Why the recording stopped early, in one line; empty while it goes on."""
        return self._writer.stopped

    # -- the end --

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all that was recorded so far is in the file; whether it is."""
        if self._closed or self._pid != os.getpid():
            return False
        return self._writer.flush(timeout_s)

    def close(self) -> None:
        """Write the rest and mark the end. Also done at the program's exit."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        self._finalizer()

    def abandon(self) -> None:
        """Write the rest without marking an end: the run was cut."""
        self._writer.cut = True
        self.close()

    def __enter__(self) -> Recorder:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def _close(writer: Writer, pid: int) -> None:
    if pid == os.getpid():
        writer.close()
        writer.intake.stop()


def _attributes(process: int | None) -> dict[str, str]:
    host = ""
    with suppress(OSError):
        host = socket.gethostname()
    return {
        "format": FORMAT_NAME,
        "version": str(VERSION),
        "run": secrets.token_hex(16),
        "written": secrets.token_hex(16),
        "created_ns": str(time.time_ns()),
        "host": host,
        "process": str(os.getpid() if process is None else process),
    }
