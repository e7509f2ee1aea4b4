"""The writer's thread: takes what waits in memory to the file, twice a second.

Whatever goes wrong with the file stops the recording, never the run: it is told once,
the file is closed as it is, and from then on everything is refused.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

from isoscope.core.errors import one_line
from isoscope.core.recording.labelled.intake import Intake

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.core.recording.labelled.container import Container

FLUSH_S = 0.4  # so that a kill in the middle of a flush loses less than a second, too
PACK_BLOBS_FROM = 256  # bytes; smaller ones are kept as they are
COMPACT_BELOW = 32 << 20  # bytes; such a file is written anew when it is whole
SYSTEM_SAID = re.compile(r"error message = '([^']+)'")  # as libhdf5 quotes it


class Writer:
    """Writes an intake to a container until it is closed.

    Parameters
    ----------
    container
        The open file, which from now on belongs to the writer's thread.
    limit_bytes
        What may wait in memory.
    flush_s
        Seconds between two flushes.
    tell
        Called once, with one line, if the recording stops early; from the writer's
        thread. By default the line goes to standard error.
    compact
        Whether a small file is written anew in the end.
    """

    def __init__(
        self,
        container: Container,
        limit_bytes: int,
        flush_s: float = FLUSH_S,
        tell: Callable[[str], None] | None = None,
        *,
        compact: bool = True,
    ) -> None:
        self._compacts = compact
        self._container = container
        self._tell = tell or _say
        self._flush_s = flush_s
        self._wake = threading.Event()
        self._closing = False
        self._done = threading.Condition()
        self._asked, self._answered = 0, 0
        self._journaled: list[int] = []
        self.stopped = ""
        self.cut = False  # then no end is marked
        self.intake = Intake(limit_bytes, self._wake.set)
        self._thread = threading.Thread(
            target=self._run, name="isoscope-recorder", daemon=True
        )

    def begin(self) -> None:
        """Write what every file begins with, and start the thread.

        Raises
        ------
        OSError
            If it can't be written; then there is no file.
        """
        try:
            self._flush()
        except OSError:
            with suppress(Exception):
                self._container.close()
            with suppress(OSError):
                self._container.path.unlink()
            raise
        self._thread.start()

    def flush(self, timeout_s: float | None = None) -> bool:
        """Wait until all that was given so far is in the file.

        Returns
        -------
        bool
            Whether it is; False after `timeout_s`, or if the recording stopped.
        """
        with self._done:
            self._asked += 1
            mine = self._asked
            self._wake.set()
            self._done.wait_for(
                lambda: self._answered >= mine or not self._thread.is_alive(), timeout_s
            )
            return self._answered >= mine and not self.stopped

    def close(self, timeout_s: float | None = None) -> None:
        """Write the rest, mark the end, and wait for the thread."""
        self._closing = True
        self._wake.set()
        # A collected recorder may be finalised in any thread, also in this one's own.
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout_s)

    # -- the thread --

    def _run(self) -> None:
        try:
            while not self._closing:
                self._wake.wait(self._flush_s)
                self._wake.clear()
                asked = self._asked
                self._flush()
                self._answer(asked)
            self._flush(last=True)
            self._container.close()
            small = os.path.getsize(self._container.path) < COMPACT_BELOW
            if small and self._compacts and not self.cut:
                self._compact(self._container.path)
        except Exception as error:  # noqa: BLE001 a recording never ends a run
            self._stop(error)
        finally:
            self._answer(self._asked)

    def _answer(self, asked: int) -> None:
        with self._done:
            self._answered = asked
            self._done.notify_all()

    def _flush(self, *, last: bool = False) -> None:
        intake, container = self.intake, self._container
        if last:
            intake.reopen()
            rows = len(intake.buffers[intake.tables["native"]])
            if not self.cut:
                intake.add(intake.tables["end"], (time.time_ns(), rows, -1))
        batch = intake.take(all_rows=last)
        if batch.definitions:
            container.add_definitions(batch.definitions)
        if batch.blobs:
            intake.stored(self._store(batch.blobs))
        blocks = intake.take_blob_rows(batch, all_rows=last)
        if blocks:
            container.add_blocks((b.table, b.schema, b.first, b.rows) for b in blocks)
        if blocks or batch.lengths != self._journaled:
            # Last, and of one moment: whoever reads sees no table ahead of another.
            container.write_journal(batch.lengths, batch.waiting)
            self._journaled = batch.lengths
        intake.written(batch)

    def _store(self, blobs: list[bytes]) -> list[tuple[int, ...]]:
        """Write blobs end to end, packed where that helps; returns their places."""
        parts: list[bytes] = []
        packed: list[int] = []
        for blob in blobs:
            small = zlib.compress(blob, 1) if len(blob) >= PACK_BLOBS_FROM else blob
            helps = len(small) < len(blob)
            parts.append(small if helps else blob)
            packed.append(int(helps))
        at = self._container.add_blobs(b"".join(parts))
        places: list[tuple[int, ...]] = []
        for part, blob, how in zip(parts, blobs, packed, strict=True):
            places.append((at, len(part), len(blob), how, zlib.crc32(part)))
            at += len(part)
        return places

    @staticmethod
    def _compact(path: Path) -> None:
        """Write a small file anew, without journals and holes, if that can be."""
        from isoscope.core.errors import IsoscopeError
        from isoscope.core.recording.labelled.rewriting import compact

        with suppress(OSError, IsoscopeError, MemoryError):
            compact(path)

    def _stop(self, error: Exception) -> None:
        self.intake.stop()
        told = getattr(error, "strerror", None) or str(error) or type(error).__name__
        said = SYSTEM_SAID.search(told)  # libhdf5's words are many
        why = one_line(said[1] if said else told)
        path = self._container.path
        self.stopped = (
            f"recording to {path} stopped: {why}; what was written until then can be "
            "opened, and the run goes on"
        )
        with suppress(Exception):
            self._container.close()
        with suppress(Exception):
            self._tell(self.stopped)


def _say(line: str) -> None:
    sys.stderr.write(f"isoscope: {line}\n")
