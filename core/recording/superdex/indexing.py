"""Fill a recording from a file: by the fast scan, or event by event.

Events that the scan does not take are read by libhdf5, in their place: the first few
in this process, where their values are plain, and more in another one.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from isoscope.core.errors import CancelledError
from isoscope.core.recording.superdex.h5walk import NotPlainError
from isoscope.core.recording.superdex.scan.append import Run
from isoscope.core.recording.superdex.scan.scan import Scan

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from isoscope.core.recording.source import Cancel
    from isoscope.core.recording.superdex.eventfile import EventFile
    from isoscope.core.recording.superdex.events import Assembler, Event
    from isoscope.core.recording.tracks import Int64Array

# Unrecognised events that are read in this process; more are worth starting another.
MAX_HERE = 64


class Indexing:
    """Appends all events of a file.

    Parameters
    ----------
    file
        The file.
    assembler
        Appends to the recording.
    cancelled
        Whether to stop.

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
        self, file: EventFile, assembler: Assembler, cancelled: Cancel
    ) -> None:
        self.file, self.assembler, self.cancelled = file, assembler, cancelled
        self.done = self.slow = self.lost = 0
        self._here = MAX_HERE

    def run(self, numbers: Int64Array) -> Generator[None, None, None]:
        """Append the events; gives control back after each few.

        Parameters
        ----------
        numbers
            int64 [E]: all of the file's, ascending.

        Raises
        ------
        CancelledError
            If `cancelled` said so.
        ReadError
            If they can't be read on.
        TooMuchError
            If the file expands to more than one of its size may.
        """
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
                    self._look()
                else:
                    rest = part
                del part  # and its block's memory, before the next takes some
                yield from self._slowly(rest)

    def _scan(self) -> Scan | None:
        events, listing = self.file.events, self.file.listing
        if events is None or listing is None:
            return None
        return Scan.open(self.file.path, events, listing.numbers, listing.addresses)

    def _look(self) -> None:
        if self.cancelled():
            raise CancelledError("reading the events was stopped")

    def _slowly(self, numbers: Int64Array) -> Iterator[None]:
        """Append events that libhdf5 reads: the first few here, more elsewhere."""
        tell = self.assembler.tell
        place = 0
        while place < len(numbers) and self._here > 0:
            self._look()
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
        self._look()
        for _, event in self.file.each(numbers[place:], tell, self.cancelled):
            self._add(event)
            place += 1
            yield
            self._look()
        if place < len(numbers):
            raise CancelledError("reading the events was stopped")

    def _add(self, event: Event | None) -> None:
        self.done += 1
        self.slow += 1
        if event is None:
            self.lost += 1
        else:
            self.assembler.add(event)
