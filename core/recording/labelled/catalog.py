"""What a labelled recording's file lists: its tables, their blocks, and its texts.

Fed with what lies in the file, piece by piece; opens nothing itself.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.labelled.forms import entry
from isoscope.core.recording.labelled.tables import POOL_NAMES, Column, Schema

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.forms import Journal
    from isoscope.core.recording.tracks import Array


NOWHERE = -1


class Blocks:
    """A table's rows in the pools: where each block's part of each pool begins.

    Of numbers alone: a run that is followed for hours lists a hundred thousand blocks.

    Attributes
    ----------
    firsts, counts
        int64 [blocks]: the first row of each, ascending, and how many it has.
    """

    def __init__(self) -> None:
        self.firsts = array("q")
        self.counts = array("q")
        self._at: dict[str, array[int]] = {}

    def __len__(self) -> int:
        return len(self.firsts)

    @property
    def rows(self) -> int:
        """Rows in all of them."""
        return self.firsts[-1] + self.counts[-1] if self.firsts else 0

    def at(self, k: int, pool: str) -> int | None:
        """Where the values of block k begin in a pool; None where they are missing."""
        places = self._at.get(pool)
        return None if places is None or places[k] == NOWHERE else places[k]

    def append(self, first: int, count: int) -> None:
        """Add a block whose values are nowhere yet."""
        self.firsts.append(first)
        self.counts.append(count)
        for places in self._at.values():
            places.append(NOWHERE)

    def is_last(self, first: int, count: int) -> bool:
        """Whether the last block has just these rows."""
        return bool(self.firsts) and (first, count) == (
            self.firsts[-1],
            self.counts[-1],
        )

    def place(self, pool: str, at: int) -> None:
        """Tell where the last block's values of a pool begin."""
        if pool not in self._at:
            self._at[pool] = array("q", [NOWHERE]) * len(self)
        self._at[pool][-1] = at

    def pop(self) -> None:
        """Forget the last block."""
        for numbers in (self.firsts, self.counts, *self._at.values()):
            numbers.pop()


@dataclass(slots=True)
class Table:
    """A table, as far as it was read.

    Attributes
    ----------
    definition
        As in the file.
    blocks
        Its blocks in order.
    tail, tail_first
        The rows that only the journal has, and the first one's number.
    limit
        What the journal says of its length: blocks that were written after it hold
        rows that other tables lack.
    """

    id: int
    schema: Schema
    definition: dict[str, Any]
    blocks: Blocks = field(default_factory=Blocks)
    tail: Array = field(default_factory=lambda: np.zeros(0))
    tail_first: int = 0
    broken: bool = False
    limit: int | None = None

    @property
    def stored(self) -> int:
        """Rows in blocks."""
        return self.blocks.rows

    def __len__(self) -> int:
        """Rows that every other table goes with."""
        rows = max(self.stored, self.tail_first + len(self.tail))
        return rows if self.limit is None else min(rows, self.limit)


class Catalog:
    """The tables, texts and other definitions that were listed so far.

    Attributes
    ----------
    tables
        By name.
    texts
        The strings by number.
    definitions
        All others than tables and texts, in order.
    problems
        What makes no sense, with its place.
    sequence
        Of the journal that was taken in last; -1 where none was.
    """

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}
        self.texts: dict[int, str] = {}
        self.definitions: list[dict[str, Any]] = []
        self.problems: list[tuple[str, str]] = []
        self.sequence = -1
        self._by_id: dict[int, Table] = {}

    def clear(self) -> None:
        """Forget all but the problems."""
        self.tables.clear()
        self.texts.clear()
        self.definitions.clear()
        self._by_id.clear()
        self.sequence = -1

    def table_name(self, number: int) -> str:
        """The name of the table of this number; raises KeyError."""
        return self._by_id[number].schema.name

    def tell(self, message: str, where: str) -> None:
        """List a problem."""
        self.problems.append((message, where))

    def define(self, definition: dict[str, Any]) -> None:
        """Take in a definition."""
        try:
            self._define(definition)
        except (KeyError, TypeError, ValueError, AttributeError):
            self.tell("a definition that makes no sense", "/definitions")

    def _define(self, definition: dict[str, Any]) -> None:
        kind = definition.get("define")
        if kind == "text":
            self.texts[int(definition["id"])] = str(definition["text"])
        elif kind == "table":
            columns = [
                Column(
                    str(c["name"]),
                    str(c["dtype"]),
                    tuple(int(n) for n in c["shape"]),
                    c.get("unit"),
                    c.get("meaning", "number"),
                )
                for c in definition["columns"]
            ]
            if any(n < 0 for c in columns for n in c.shape):
                raise ValueError("a shape below 0")
            schema = Schema(str(definition["name"]), tuple(columns))
            table = Table(int(definition["id"]), schema, definition)
            table.tail = np.zeros(0, schema.dtype)
            _ = schema.widths  # a dtype that no pool holds is met here
            self.tables[schema.name] = self._by_id[table.id] = table
        else:
            self.definitions.append(definition)

    def add_entry(self, found: tuple[int, ...], lengths: dict[str, int]) -> None:
        """Take in an entry of the directory; `lengths` are the pools'."""
        number, place, first, count, at = found[:5]
        table = self._by_id.get(number)
        if not _is_sound(found):
            self.tell("an entry whose checksum is wrong", "/directory")
            return
        if table is None or place >= len(POOL_NAMES):
            self.tell("a block of an unknown table", "/directory")
            return
        pool = POOL_NAMES[place]
        width = table.schema.widths.get(pool, -1)
        if table.blocks.is_last(first, count):
            table.blocks.place(pool, at)
        elif table.broken:
            return  # told before
        elif first != table.stored or not count or width < 0:
            table.broken = True
            self.tell("blocks that don't follow each other", f"/directory {number}")
            return
        else:
            table.blocks.append(first, count)
            table.blocks.place(pool, at)
        if width < 0 or at + count * width > lengths[pool]:
            table.broken = True
            table.blocks.pop()
            self.tell("a block whose values are missing", f"/directory {number}")

    def take_journal(self, journal: Journal) -> None:
        """Take in a journal, if it is younger than the last one."""
        if journal.sequence <= self.sequence:
            return
        self.sequence = journal.sequence
        # What a table was told to have, it keeps: readers have counted on it.
        torn = {
            rows.table
            for rows in journal.waiting
            if rows.table in self._by_id and rows.first > self._by_id[rows.table].stored
        }
        for table in self.tables.values():
            if table.id not in torn:
                table.tail, table.tail_first = table.tail[:0], table.stored
            known = table.id < len(journal.lengths)
            table.limit = journal.lengths[table.id] if known else 0
        for rows in journal.waiting:
            waits = self._by_id.get(rows.table)
            size = 0 if waits is None else waits.schema.dtype.itemsize
            if waits is None or not size or len(rows.rows) % size:
                self.tell("rows of an unknown table", "/journal")
                continue
            if rows.table in torn:
                told = ("rows are missing before the journal", f"/journal {waits.id}")
                if told not in self.problems:
                    self.tell(*told)
                continue
            done = waits.stored
            skip = min(done - rows.first, len(rows.rows) // size)
            waits.tail = np.frombuffer(rows.rows, waits.schema.dtype)[skip:]
            waits.tail_first = done


def written(entries: list[tuple[int, ...]]) -> int:
    """How many of these last entries of the directory are not just being written.

    HDF5 makes room for entries before it writes them. A look in between, likely where
    the writer is of the same process, finds zeros there, which become entries later.
    What a sound one follows is damaged instead.
    """
    stop = len(entries)
    while stop and not _is_sound(entries[stop - 1]):
        stop -= 1
    return stop


def _is_sound(found: tuple[int, ...]) -> bool:
    """Whether an entry has the checksum of its numbers."""
    number, place, first, count, at = found[:5]
    return entry(number, place, first, count, at) == found
