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

    __slots__ = ("capacity", "count", "first", "raw", "rows", "schema", "table")

    def __init__(self, table: int, schema: Schema, first: int = 0) -> None:
        self.table = table
        self.schema = schema
        self.capacity = schema.block_rows
        self.first = first
        self.count = 0
        self._begin()

    def _begin(self) -> None:
        # Zeros: what nobody fills in is absent, and compresses to nothing.
        self.rows: np.ndarray[Any, Any] = np.zeros(self.capacity, self.schema.dtype)
        self.raw = self.rows.view(np.uint8).data

    def __len__(self) -> int:
        """Rows of the table so far."""
        return self.first + self.count

    def seal(self) -> np.ndarray[Any, Any]:
        """Take the rows out, and begin anew after them."""
        rows = self.rows[: self.count]
        self.first += self.count
        self.count = 0
        self._begin()
        return rows

    def waiting(self) -> Waiting | None:
        """A copy of the rows, for the journal."""
        if not self.count:
            return None
        return Waiting(self.table, self.first, self.rows[: self.count].tobytes())
