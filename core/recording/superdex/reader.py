"""The reader of SuperDex's HDF5 event recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.errors import CancelledError, ReadError
from isoscope.core.recording.model import Recording
from isoscope.core.recording.superdex import events as ev
from isoscope.core.recording.superdex.columns import TooMuchError
from isoscope.core.recording.superdex.eventfile import EventFile
from isoscope.core.recording.superdex.superblock import has_signature

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.source import Cancel, Progress

FORMAT = "superdex-events"
BLOCK = 64  # events between reports of progress, in the row-wise way
# Creations at the file's beginning that a preview reads, at most.
MAX_LEADING = 1000


def sniff(path: Path, head: bytes) -> bool:
    """Whether it is HDF5; what is inside is judged on opening, to say it well."""
    return has_signature(head)


def open_source(path: Path) -> EventSource:
    """Open an event recording; raises ReadError."""
    return EventSource(path)


class EventSource:
    """An opened event recording; see :class:`isoscope.core.recording.source.Source`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = EventFile(path)
        self.numbers = self.file.numbers
        self.recording = Recording(path, FORMAT, size_bytes=path.stat().st_size)
        self.recording.problems += self.file.problems
        self.recording.expected_steps = len(self.numbers)

    @property
    def event_count(self) -> int:
        """Events in the file."""
        return len(self.numbers)

    def preview(self, event: int | None = None) -> Recording | None:
        """Read the first Step at or after this event number, by random access."""
        picture = Recording(self.path, FORMAT, size_bytes=self.recording.size_bytes)
        assembler = ev.Assembler(picture, 1)
        wanted = 0 if event is None else int(np.searchsorted(self.numbers, event))
        place = 0
        try:
            while place < len(self.numbers):
                number = int(self.numbers[place])
                found = self.file.event(number, assembler.tell)
                place += 1
                if found is None:
                    continue
                if found.kind != ev.STEP:
                    assembler.add(found)
                    if place < MAX_LEADING or place > wanted:
                        continue
                elif place > wanted:
                    assembler.add(found)
                    assembler.finish()
                    return picture
                # The creations at the beginning are done: on to what is wanted.
                place = max(place, wanted)
        except (TooMuchError, ReadError):
            pass  # reading all of it will say what is wrong
        return None

    def index(
        self, progress: Progress | None = None, cancelled: Cancel | None = None
    ) -> None:
        """Fill the recording to the end of the file."""
        recording, total = self.recording, len(self.numbers)
        assembler = ev.Assembler(recording, total)
        lost, done, stopped = 0, 0, ""
        try:
            for _, event in self.file.each(self.numbers, assembler.tell, cancelled):
                if event is None:
                    lost += 1
                else:
                    assembler.add(event)
                done += 1
                if progress is not None and done % BLOCK == 0:
                    progress(done, total)
        except TooMuchError:
            stopped = _TOO_MUCH
        except ReadError as error:
            stopped = error.problem
        assembler.finish()
        if cancelled is not None and done < total and not stopped:
            raise CancelledError(f"indexing {self.path} was stopped at {done} events")
        if stopped:
            left = total - done
            assembler.tell(f"{stopped}: {left} events were not read", "", "error")
        elif progress is not None:
            progress(total, total)
        broken = any(p.severity == "error" for p in recording.problems)
        recording.complete = not (lost or stopped or broken)

    def close(self) -> None:
        """Let go of the file."""
        self.file.close()


_TOO_MUCH = "the file claims to hold far more than a file of its size can"
