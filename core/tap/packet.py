"""A packet: what was told between two moments, whole, on its way to somebody."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.intake import Intake


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table, packed: the first one's number, how many, and their bytes."""

    table: int
    first: int
    count: int
    content: Any  # anything with the buffer protocol, contiguous


@dataclass(slots=True)
class Packet:
    """Definitions, rows and blobs that belong together: no row lacks what it names.

    Attributes
    ----------
    definitions
        As they lie in a file: framed JSON, end to end.
    blocks
        In the order of their tables' rows.
    blobs
        Number and bytes.
    """

    definitions: bytes = b""
    blocks: list[Rows] = field(default_factory=list)
    blobs: list[tuple[int, bytes]] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether anything is in it."""
        return bool(self.definitions or self.blocks or self.blobs)

    @property
    def size(self) -> int:
        """Bytes of what is in it."""
        rows = sum(memoryview(b.content).nbytes for b in self.blocks)
        return rows + len(self.definitions) + sum(len(c) for _, c in self.blobs)

    @property
    def records(self) -> int:
        """Rows of all tables in it."""
        return sum(b.count for b in self.blocks)


class Outflow:
    """Takes packets out of an intake: everything once, in order."""

    def __init__(self, intake: Intake) -> None:
        self.intake = intake
        self._blobs = 0

    def take(self) -> Packet:
        """Take what has come since; may be empty."""
        batch = self.intake.take_news()
        first, self._blobs = self._blobs, self._blobs + len(batch.blobs)
        packet = Packet(
            batch.definitions,
            [
                Rows(b.table, b.first, len(b.rows), b.rows.view(np.uint8).data)
                for b in batch.blocks
            ],
            list(enumerate(batch.blobs, first)),
        )
        self.intake.written(batch)
        return packet
