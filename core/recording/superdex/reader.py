"""The reader of SuperDex's HDF5 event recordings."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

from isoscope.core.errors import CancelledError, ReadError
from isoscope.core.recording.cache import KeptIndex
from isoscope.core.recording.labelled.forms import version_of
from isoscope.core.recording.model import Recording
from isoscope.core.recording.superdex import events as ev
from isoscope.core.recording.superdex.columns import TooMuchError
from isoscope.core.recording.superdex.eventfile import EventFile
from isoscope.core.recording.superdex.indexing import Indexing
from isoscope.core.recording.superdex.superblock import has_signature

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.source import Cancel, Progress

FORMAT = "superdex-events"
BLOCK = 64  # events between reports of progress, at least
# What took longer to index, with h5py, is kept in the user's cache.
WORTH_KEEPING_S = 0.5
# Creations at the file's beginning that a preview reads, at most.
MAX_LEADING = 1000


def sniff(path: Path, head: bytes) -> bool:
    """Whether it is HDF5; what is inside is judged on opening, to say it well."""
    return has_signature(head) and version_of(head) is None


def open_source(path: Path) -> EventSource:
    """Open an event recording; raises ReadError."""
    return EventSource(path)


class EventSource:
    """An opened event recording; see :class:`isoscope.core.recording.source.Source`.

    Attributes
    ----------
    slow_events
        Events that were not recognised by the fast scan and went through h5py, one by
        one, in what was indexed so far.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = EventFile(path)
        self.recording = Recording(path, FORMAT, size_bytes=path.stat().st_size)
        self.recording.expected_steps = self.file.count
        self.slow_events = 0
        self._closed = False
        self._take_problems()

    @property
    def event_count(self) -> int:
        """Events in the file."""
        return self.file.count

    def _take_problems(self) -> None:
        self.recording.problems += self.file.problems
        self.file.problems.clear()

    def preview(self, event: int | None = None) -> Recording | None:
        """Read the first Step at or after this event number, by random access."""
        picture = Recording(self.path, FORMAT, size_bytes=self.recording.size_bytes)
        assembler = ev.Assembler(picture, 1)
        wanted = event or 0
        begin = 0
        try:
            # The creations at the file's beginning, with the meshes.
            for number in self.file.numbers_from(0):
                if number >= MAX_LEADING and number < wanted:
                    break
                begin = number + 1
                found = self.file.event(number, assembler.tell)
                if found is None:
                    continue
                if found.kind != ev.STEP:
                    assembler.add(found)
                elif number >= wanted:
                    return _finished(assembler, found)
                else:
                    break
            for number in self.file.numbers_from(max(begin, wanted)):
                found = self.file.event(number, assembler.tell)
                if found is not None and found.kind == ev.STEP:
                    return _finished(assembler, found)
                if found is not None:
                    assembler.add(found)
        except (TooMuchError, ReadError):
            pass  # reading all of it will say what is wrong
        return None

    def index(
        self, progress: Progress | None = None, cancelled: Cancel | None = None
    ) -> None:
        """Fill the recording to the end of the file."""
        recording = self.recording
        kept = KeptIndex(self.path, ev.INDEX_VERSION)
        if kept.fill(recording):
            if progress is not None:
                progress(self.file.count, self.file.count)
            return
        began = time.monotonic()
        numbers = self.file.listed(lambda: self._stops(cancelled))
        total = len(numbers)
        self._take_problems()
        recording.expected_steps = total
        assembler = ev.Assembler(recording, total)
        job = Indexing(self.file, assembler, lambda: self._stops(cancelled))
        shown, stopped, halted = 0, "", False
        try:
            with closing(job.run(numbers)) as parts:
                for _ in parts:
                    if progress is not None and job.done - shown >= BLOCK:
                        shown = job.done
                        progress(job.done, total)
        except TooMuchError:
            stopped = _TOO_MUCH
        except ReadError as error:
            stopped = error.problem
        except CancelledError:
            halted = True
        self.slow_events = job.slow
        assembler.finish()
        if halted or self._closed:
            raise CancelledError(
                f"indexing {self.path} was stopped at {job.done} events"
            )
        if stopped:
            left = total - job.done
            assembler.tell(f"{stopped}: {left} events were not read", "", "error")
        elif progress is not None:
            progress(total, total)
        broken = any(p.severity == "error" for p in recording.problems)
        live = self.file.writer is not None
        recording.complete = not (job.lost or stopped or broken or live)
        took = time.monotonic() - began if job.slow else 0.0
        if took > WORTH_KEEPING_S and not (stopped or live):
            kept.keep(recording)

    def _stops(self, cancelled: Cancel | None) -> bool:
        return self._closed or (cancelled is not None and cancelled())

    def close(self) -> None:
        """Let go of the file. Stops an `index` that runs. May be called twice."""
        self._closed = True
        self.file.close()


_TOO_MUCH = "the file claims to hold far more than a file of its size can"


def _finished(assembler: ev.Assembler, step: ev.Event) -> Recording:
    assembler.add(step)
    assembler.finish()
    return assembler.recording
