"""Rows in memory until they are written: one buffer a table, sealed when it is full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.labelled.forms import Waiting

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.tables import Schema


class Buffer:
    """The open rows of one table. Its owner holds a lock around every call.

    Attributes
    ----------
    table, schema
        Number and columns of the table.
    rows
        Structured array [capacity].
    raw
        The same memory as bytes.
    count
        Rows filled in.
    first
        Number of the first one in the table.
    """

    __slots__ = (
        *("capacity", "count", "first", "raw", "rows", "schema", "table"),
        "_taken",
    )

    def __init__(self, table: int, schema: Schema, first: int = 0) -> None:
        self.table = table
        self.schema = schema
        self.capacity = schema.block_rows
        self.first = first
        self.count = 0
        self._taken = first  # rows before this one were copied out
        self._begin()

    def _begin(self) -> None:
        # Zeros: what nobody fills in is absent, and compresses to nothing.
        self.rows: np.ndarray[Any, Any] = np.zeros(self.capacity, self.schema.dtype)
        self.raw = self.rows.view(np.uint8).data

    def __len__(self) -> int:
        """Rows of the table so far."""
        return self.first + self.count

    def news(self) -> tuple[int, np.ndarray[Any, Any]]:
        """A copy of the rows that were not taken yet, and the first one's number."""
        first = max(self._taken, self.first)
        self._taken = len(self)
        return first, self.rows[first - self.first : self.count].copy()

    def seal(self) -> tuple[int, np.ndarray[Any, Any]]:
        """Take the rows out that `news` did not, and begin anew after them all.

        Where it took some, rows are copied and the memory stays: whoever takes news
        goes on for as long as the run does, and blocks that come and go with each
        few hundred rows would leave holes in a process's heap.
        """
        if self._taken > self.first:
            first, rows = self.news()
            self.rows[: self.count] = 0
        else:
            first, rows = self.first, self.rows[: self.count]
            self._begin()
        self.first += self.count
        self.count = 0
        return first, rows

    def waiting(self) -> Waiting | None:
        """A copy of the rows, for the journal."""
        if not self.count:
            return None
        return Waiting(self.table, self.first, self.rows[: self.count].tobytes())
