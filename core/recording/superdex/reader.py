"""The reader of SuperDex's HDF5 event recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py

from isoscope.core.errors import CancelledError, ReadError, one_line
from isoscope.core.recording.model import Recording
from isoscope.core.recording.superdex import events as ev
from isoscope.core.recording.superdex.h5walk import H5_ERRORS, read_event

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.source import Cancel, Progress
    from isoscope.core.recording.superdex.events import Event

FORMAT = "superdex-events"
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
BLOCK = 64  # events between looks at `cancelled`, in the row-wise way


def sniff(path: Path, head: bytes) -> bool:
    """Whether it is HDF5; what is inside is judged on opening, to say it well."""
    return head.startswith(_SIGNATURE)


def open_source(path: Path) -> EventSource:
    """Open an event recording; raises ReadError."""
    return EventSource(path)


class EventSource:
    """An opened event recording; see :class:`isoscope.core.recording.source.Source`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recording = Recording(path, FORMAT, size_bytes=path.stat().st_size)
        try:
            self._file = h5py.File(path, "r", locking=False)
        except H5_ERRORS as error:
            raise ReadError(
                "opening",
                path,
                one_line(error),
                remedy="the file is cut or was never closed by its writer",
            ) from None
        try:
            self._events = self._file["events"]
            numbers = sorted(int(name) for name in self._events if name.isdecimal())
        except H5_ERRORS as error:
            self._file.close()
            raise ReadError(
                "reading the event list of", path, one_line(error), where="/events"
            ) from None
        self.numbers = numbers
        self.recording.expected_steps = len(numbers)

    @property
    def event_count(self) -> int:
        """Events in the file."""
        return len(self.numbers)

    def _read(self, number: int) -> Event | None:
        return read_event(self._events, number, lambda message, where: None)

    def preview(self, event: int | None = None) -> Recording | None:
        """Read the first Step at or after this event number, by random access."""
        picture = Recording(self.path, FORMAT, size_bytes=self.recording.size_bytes)
        assembler = ev.Assembler(picture, 1)
        leading = True
        for number in self.numbers:
            wanted = event is None or number >= event
            if not leading and not wanted:
                continue
            found = self._read(number)
            if found is None:
                continue
            if found.kind != ev.STEP:
                assembler.add(found)
                continue
            leading = False
            if wanted:
                assembler.add(found)
                assembler.finish()
                return picture
        return None

    def index(
        self, progress: Progress | None = None, cancelled: Cancel | None = None
    ) -> None:
        """Fill the recording to the end of the file."""
        assembler = ev.Assembler(self.recording, len(self.numbers))
        for done, number in enumerate(self.numbers):
            if done % BLOCK == 0:
                if progress is not None:
                    progress(done, len(self.numbers))
                if cancelled is not None and cancelled():
                    assembler.finish()
                    raise CancelledError(
                        f"indexing {self.path} was stopped at event {number}"
                    )
            event = read_event(self._events, number, assembler.tell)
            if event is not None:
                assembler.add(event)
        assembler.finish()
        self.recording.complete = True
        if progress is not None:
            progress(len(self.numbers), len(self.numbers))

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
