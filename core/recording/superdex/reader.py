"""The reader of SuperDex's HDF5 event recordings."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

from isoscope.core.errors import CancelledError, ReadError
from isoscope.core.recording.cache import KeptIndex
from isoscope.core.recording.model import Recording
from isoscope.core.recording.superdex import events as ev
from isoscope.core.recording.superdex.columns import TooMuchError
from isoscope.core.recording.superdex.eventfile import EventFile
from isoscope.core.recording.superdex.h5walk import NotPlainError
from isoscope.core.recording.superdex.scan.append import Run
from isoscope.core.recording.superdex.scan.scan import Scan
from isoscope.core.recording.superdex.superblock import has_signature

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.core.recording.source import Cancel, Progress
    from isoscope.core.recording.tracks import Int64Array

FORMAT = "superdex-events"
BLOCK = 64  # events between reports of progress, at least
# Unrecognised events that are read in this process; more are worth starting another.
MAX_HERE = 64
# What took longer to index, with h5py, is kept in the user's cache.
WORTH_KEEPING_S = 0.5
# Creations at the file's beginning that a preview reads, at most.
MAX_LEADING = 1000


def sniff(path: Path, head: bytes) -> bool:
    """Whether it is HDF5; what is inside is judged on opening, to say it well."""
    return has_signature(head)


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
        numbers, began = self.file.numbers, time.monotonic()
        total = len(numbers)
        self._take_problems()
        recording.expected_steps = total
        assembler = ev.Assembler(recording, total)
        job = _Indexing(self.file, assembler, cancelled)
        shown, stopped = 0, ""
        try:
            for _ in job.run(numbers):
                self.slow_events = job.slow
                if self._stops(cancelled):
                    break
                if progress is not None and job.done - shown >= BLOCK:
                    shown = job.done
                    progress(job.done, total)
        except TooMuchError:
            stopped = _TOO_MUCH
        except ReadError as error:
            stopped = error.problem
        except CancelledError:
            pass
        assembler.finish()
        if job.done < total and not stopped:
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


class _Indexing:
    """Fills a recording, the fast way where the file is of the form for it.

    Attributes
    ----------
    done
        Events done.
    slow
        Those that went through h5py, one by one.
    lost
        Those of them that could not be read.
    """

    def __init__(
        self, file: EventFile, assembler: ev.Assembler, cancelled: Cancel | None
    ) -> None:
        self.file, self.assembler, self.cancelled = file, assembler, cancelled
        self.done = self.slow = self.lost = 0
        self._here = MAX_HERE

    def run(self, numbers: Int64Array) -> Iterator[None]:
        """Append all events; gives control back after each few."""
        scan = self._scan()
        if scan is None:
            self._here = 0  # all of them: as well in the other process
            yield from self._slowly(numbers)
            return
        with closing(scan):
            for part in scan.parts():
                if isinstance(part, Run):
                    rest = part.append(self.assembler)
                    self.done += len(part) - len(rest)
                    yield
                else:
                    rest = part
                yield from self._slowly(rest)

    def _scan(self) -> Scan | None:
        events, listing = self.file.events, self.file.listing
        if events is None or listing is None:
            return None
        return Scan.open(self.file.path, events, listing.numbers, listing.addresses)

    def _slowly(self, numbers: Int64Array) -> Iterator[None]:
        """Append events that h5py reads: the first few here, more elsewhere."""
        tell = self.assembler.tell
        place = 0
        while place < len(numbers) and self._here > 0:
            self._here -= 1
            try:
                event = self.file.plain_event(int(numbers[place]), tell)
            except NotPlainError:
                self._here = 0
                break
            self._add(event)
            place += 1
            yield
        if place == len(numbers):
            return
        for _, event in self.file.each(numbers[place:], tell, self.cancelled):
            self._add(event)
            place += 1
            yield
        if place < len(numbers):
            raise CancelledError("reading the events was stopped")

    def _add(self, event: ev.Event | None) -> None:
        self.done += 1
        self.slow += 1
        if event is None:
            self.lost += 1
        else:
            self.assembler.add(event)


_TOO_MUCH = "the file claims to hold far more than a file of its size can"


def _finished(assembler: ev.Assembler, step: ev.Event) -> Recording:
    assembler.add(step)
    assembler.finish()
    return assembler.recording
