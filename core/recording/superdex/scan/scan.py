"""The fast index: scan a file block by block, and let h5py read what is left over."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.superdex.scan.append import Run
from isoscope.core.recording.superdex.scan.bounds import SUPERBLOCK_BYTES, recorded_end
from isoscope.core.recording.superdex.scan.claims import Claims
from isoscope.core.recording.superdex.scan.classify import Classifier
from isoscope.core.recording.superdex.scan.confirm import Confirmer
from isoscope.core.recording.superdex.scan.filebytes import (
    FileBytes,
    OutOfBoundsError,
    same_file,
)
from isoscope.core.recording.superdex.scan.scanner import judge_steps, scan_block

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import h5py

    from isoscope.core.recording.superdex.scan.block import Block
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array

BLOCK_EVENTS = 4096  # at most
# Of the file, read at once: about a block's events. Large files are worth more memory.
WINDOW_BYTES = 1 << 23
MAX_WINDOW_BYTES = 1 << 25
_MARGIN_BYTES = 1 << 16


class Scan:
    """The fast way through one file, if the file is of the form that it knows.

    Parameters
    ----------
    source
        The file's bytes.
    events
        Its group of events, opened by h5py.
    numbers, addresses
        int64 and uint64 [E]: the events, ascending by number, and their headers.
    """

    def __init__(
        self,
        source: FileBytes,
        events: h5py.Group,
        numbers: Int64Array,
        addresses: Array,
    ) -> None:
        self._source = source
        self._numbers, self._addresses = numbers, addresses
        self._classifier = Classifier(source)
        self._claims = Claims()
        self._confirmer = Confirmer(events, seed=len(numbers))
        each = max(1, source.end // max(1, len(numbers)))
        self._window = int(np.clip(source.end // 16, WINDOW_BYTES, MAX_WINDOW_BYTES))
        self._block_events = int(np.clip(self._window // each, 1, BLOCK_EVENTS))
        self._margin = _MARGIN_BYTES + 4 * each
        self.differs = False  # from h5py, or from what the file was: then no more

    @classmethod
    def open(
        cls, path: Path, events: h5py.Group, numbers: Int64Array, addresses: Array
    ) -> Scan | None:
        """Open the file for scanning; None if it has to be read by h5py alone."""
        descriptor = _descriptor(events)
        if descriptor is None or np.little_endian is False:
            return None
        try:
            with path.open("rb") as file:
                head = file.read(SUPERBLOCK_BYTES)
                size = file.seek(0, 2)
            end = recorded_end(head, size)
            if end is None:
                return None
            source = FileBytes(path, end)
        except OSError:
            return None
        if not same_file(source.fileno(), descriptor):
            source.close()
            return None
        return cls(source, events, numbers, addresses)

    def close(self) -> None:
        """Let go of the file."""
        self._source.close()

    def parts(self) -> Iterator[Run | Int64Array]:
        """All events in their order, in parts that have to be used one by one.

        Gives
        -----
        Run
            Events that were scanned, to be appended before the next part is asked for.
        int64 array
            Numbers of events that h5py has to read.
        """
        low = 0
        while low < len(self._numbers):
            high = min(low + self._block_events, len(self._numbers))
            numbers = self._numbers[low:high]
            judged = None if self.differs else self._block(low, high)
            if judged is None:
                yield numbers
            else:
                yield from self._runs(*judged, numbers)
                del judged  # before the next block takes its memory
            low = high

    def _runs(
        self, block: Block, steps: BoolArray, numbers: Int64Array
    ) -> Iterator[Run | Int64Array]:
        """The block, cut where events that were scanned and others take turns."""
        slow = block.slow
        cuts = [0, *(1 + np.flatnonzero(slow[1:] != slow[:-1])).tolist(), len(slow)]
        for low, high in pairwise(cuts):
            if slow[low]:
                yield numbers[low:high]
            else:
                yield Run(block, steps, numbers, low, high)

    def _block(self, low: int, high: int) -> tuple[Block, BoolArray] | None:
        """Scan one block; None if h5py has to read it."""
        addresses = self._addresses[low:high]
        first, last = int(addresses.min()), int(addresses.max())
        stop = min(last + self._margin, first + 2 * self._window)
        try:
            self._source.load(first, stop)
            block = scan_block(self._classifier, self._claims, addresses)
            steps = judge_steps(block)
            also = [0] if low == 0 else []
            if high == len(self._numbers):
                also.append(high - low - 1)
            if self._confirmer.agrees(block, self._numbers[low:high], also):
                return block, steps
            self.differs = True
        except (OutOfBoundsError, OSError):
            # Somebody cut the file meanwhile.
            self.differs = True
        return None


def _descriptor(events: h5py.Group) -> int | None:
    """The descriptor that h5py reads by; None unless it is a plain file, read-only."""
    file = events.file
    if file.driver != "sec2" or file.id.get_intent() != 0:
        return None
    try:
        return int(file.id.get_vfd_handle())
    except (RuntimeError, NotImplementedError, ValueError):
        return None
