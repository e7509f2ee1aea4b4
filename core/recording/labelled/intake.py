"""What waits in memory to be written: rows, blobs, definitions; bounded, any thread.

The caller's thread only packs a row into a buffer that is there already. When more than
`limit_bytes` wait, rows are refused and counted until the writer has caught up: a run
is neither held up nor driven out of memory by its recording.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.labelled.buffers import Buffer
from isoscope.core.recording.labelled.forms import Waiting, frame_definition, to_json
from isoscope.core.recording.labelled.tables import BLOBS, DROPPED, FIXED, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.recording.tracks import Array

    Pack = Callable[[list[Any]], None]
    RawPack = Callable[[list[tuple[int, Any]]], None]

MAX_STRINGS = 1 << 16
# Rows that wait to be packed, and what they hold on to, before that is done at once.
MOST_LATE, LATE_BYTES = 1024, 4 << 20
ROOM = (
    0.5  # of the limit: what the backlog has to shrink to before rows are taken again
)
REFUSED = -1
BEHIND = "the writer could not keep up"


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of a table that go to the file together."""

    table: int
    schema: Schema
    first: int
    rows: Array


@dataclass(slots=True)
class Batch:
    """What was taken out to be written."""

    blocks: list[Block]
    waiting: list[Waiting]
    lengths: list[int]
    blobs: list[bytes]
    definitions: bytes
    bytes: int


class Intake:
    """Tables, blobs and definitions until they are written.

    Parameters
    ----------
    limit_bytes
        What may wait besides the open buffers.
    wake
        Called where much waits.
    """

    def __init__(self, limit_bytes: int, wake: Callable[[], None]) -> None:
        self.lock = threading.RLock()
        self.buffers: list[Buffer] = []
        self.backlog = 0
        self.limit_bytes = limit_bytes
        self.accepts = True
        self.stopped = False
        self._wake = wake
        self._wake_at = min(limit_bytes // 4, 4 << 20)
        self._sealed: list[Block] = []
        self._blobs: list[bytes] = []
        self._blob_count = 0
        self._definitions = bytearray()
        self._strings: dict[str, int] = {}
        self._refused: dict[str, int] = {}
        self._late: dict[int, list[tuple[Pack, Any]]] = {}
        self._late_natives: dict[RawPack, list[tuple[int, Any]]] = {}
        self._late_bytes = 0
        self.tables: dict[str, int] = {}
        for schema in FIXED:
            self.tables[schema.name] = self.add_table(schema)
        self._native = self.buffers[self.tables["native"]]

    # -- definitions --

    def define(self, definition: dict[str, Any]) -> None:
        """Add a definition; these are never refused."""
        with self.lock:
            if not self.stopped:
                self._definitions += frame_definition(definition)

    def add_table(self, schema: Schema, about: dict[str, Any] | None = None) -> int:
        """Add a table; returns its number."""
        with self.lock:
            table = len(self.buffers)
            self.buffers.append(Buffer(table, schema))
            columns = [
                {
                    "name": c.name,
                    "dtype": c.dtype,
                    "shape": list(c.shape),
                    "unit": c.unit,
                    "meaning": c.meaning,
                }
                for c in schema.columns
            ]
            entry = {"define": "table", "id": table, "name": schema.name}
            self.define({**entry, "columns": columns, **(about or {})})
            return table

    def text(self, text: str) -> int:
        """The number of a string; -1 for the empty one."""
        found = self._strings.get(text)
        if found is not None:
            return found
        if not text:
            return -1
        with self.lock:
            if len(self._strings) >= MAX_STRINGS:
                return self._strings.setdefault("…", 0)
            found = self._strings[text] = len(self._strings)
            self.define({"define": "text", "id": found, "text": text})
            return found

    # -- rows --

    def blob(self, content: bytes) -> int:
        """Take bytes; returns the blob's number."""
        with self.lock:
            number = self._blob_count
            self._blob_count += 1
            self._blobs.append(content)
            self._waits(len(content))
            return number

    def add(self, table: int, values: Sequence[Any]) -> int:
        """Append a row of a table whose columns are plain; returns its number.

        Returns
        -------
        int
            The row's number in its table, or -1 where it was refused.
        """
        buffer = self.buffers[table]
        schema = buffer.schema
        with self.lock:
            if not self.accepts:
                return self.refuse(schema.name)
            if table in self._late:
                self.catch_up(table)
            packer = schema.packer
            packer.pack_into(buffer.raw, buffer.count * packer.size, *values)
            return self.filled(buffer)

    def natives_later(self, pack: RawPack, raw: Any, count: int, size: int) -> int:
        """Number native steps that are packed later into raw tables; the first's.

        For intakes that are emptied by `take_news`, into a stream that is merged: there
        these rows are taken apart. The native table only leaves their numbers out.

        Parameters
        ----------
        pack
            Given the first step's number and `raw` of all calls since, adds them by
            `add_raw`; the lock is held.
        raw
            Nothing in it may change any more.
        count
            How many steps are in it; may be 0.
        size
            About how many bytes it holds on to, at least 1.

        Returns
        -------
        int
            -1 where they were refused.
        """
        with self.lock:
            native = self._native
            if not self.accepts:
                for _ in range(count):
                    self.refuse("native")
                return REFUSED
            if native.table in self._late:
                self.catch_up(native.table)
            if native.count:
                self._seal(native)
            row = native.first
            native.first = row + count
            waiting = self._late_natives.get(pack)
            if waiting is None:
                waiting = self._late_natives[pack] = []
            waiting.append((row, raw))
            self._late_bytes += size
            if self._late_bytes >= LATE_BYTES:
                self.catch_up()
            return row

    def add_raw(self, buffer: Buffer, values: Sequence[Any]) -> None:
        """Append a row of a raw table: for what `natives_later` calls.

        Parameters
        ----------
        buffer
            Of the table; see `isoscope.core.tap.raw_natives`.
        values
            What the row holds.
        """
        packer = buffer.schema.packer
        packer.pack_into(buffer.raw, buffer.count * packer.size, *values)
        self.filled(buffer)

    def add_record(self, name: str, values: list[Any]) -> int:
        """Append a row of a fixed table, its texts, JSON and bytes among the values."""
        table = self.tables[name]
        schema = self.buffers[table].schema
        ready: list[tuple[int, Any]] = []
        for place, meaning in schema.special:
            value = values[place]
            if meaning == "text":
                values[place] = self.text(value)
            elif value is None:
                values[place] = -1
            else:
                content = bytes(value) if meaning == "bytes" else to_json(value)
                ready.append((place, content))
        with self.lock:
            if not self.accepts:
                return self.refuse(name)
            for place, content in ready:
                values[place] = self.blob(content)
            return self.add(table, values)

    def later(self, table: int, pack: Pack, raw: Any, size: int) -> int:
        """Append a row whose packing waits until it is wanted; returns its number.

        Packing many rows at once takes a fraction of the time of as many single ones,
        and mostly happens in the thread that takes them.

        Parameters
        ----------
        pack
            Given the raw rows of one table that came one after the other, appends them.
        raw
            Nothing in it may change any more.
        size
            About how many bytes it holds on to, at least 1.

        Returns
        -------
        int
            The row's number in its table, or -1 where it was refused.
        """
        return self.later_many(table, pack, (raw,), size)

    def later_many(self, table: int, pack: Pack, raws: Sequence[Any], size: int) -> int:
        """Append rows as `later` does; returns the first one's number, or -1.

        Parameters
        ----------
        size
            Of each.
        """
        buffer = self.buffers[table]
        with self.lock:
            if not self.accepts:
                for _ in raws:
                    self.refuse(buffer.schema.name)
                return REFUSED
            waiting = self._late.setdefault(table, [])
            row = buffer.first + buffer.count + len(waiting)
            waiting += [(pack, raw) for raw in raws]
            self._late_bytes += size * len(raws)
            if self._late_bytes >= LATE_BYTES:
                self.catch_up()
            elif len(waiting) >= MOST_LATE:
                self.catch_up(table)
            return row

    def catch_up(self, table: int | None = None) -> None:
        """Pack the rows that wait to be, of one table or of all."""
        if not self._late and not self._late_natives:
            return
        with self.lock:
            if table is None:
                late, self._late, self._late_bytes = self._late, {}, 0
                natives, self._late_natives = self._late_natives, {}
                for take, told in natives.items():
                    take(told)
            else:
                late = {table: self._late.pop(table, [])}
            for waiting in late.values():
                for pack, run in groupby(waiting, itemgetter(0)):
                    pack([raw for _, raw in run])

    def length(self, table: int) -> int:
        """Rows of a table so far, those that wait to be packed among them."""
        buffer = self.buffers[table]
        with self.lock:
            return buffer.first + buffer.count + len(self._late.get(table, ()))

    def extend(self, table: int, rows: Array) -> None:
        """Append packed rows, structured [n], of a table; the lock is held."""
        buffer = self.buffers[table]
        done = 0
        while done < len(rows):
            take = min(buffer.capacity - buffer.count, len(rows) - done)
            buffer.rows[buffer.count : buffer.count + take] = rows[done : done + take]
            buffer.count += take
            done += take
            if buffer.count == buffer.capacity:
                self._seal(buffer)

    def filled(self, buffer: Buffer) -> int:
        """Count the row that was filled in; returns its number. The lock is held."""
        row = buffer.first + buffer.count
        buffer.count += 1
        if buffer.count == buffer.capacity:
            self._seal(buffer)
        return row

    def refuse(self, what: str) -> int:
        """Count a row that was not taken. The lock is held."""
        self._refused[what] = self._refused.get(what, 0) + 1
        return REFUSED

    def _seal(self, buffer: Buffer) -> None:
        first, rows = buffer.seal()
        if len(rows):
            self._sealed.append(Block(buffer.table, buffer.schema, first, rows))
            self._waits(rows.nbytes)

    def _waits(self, more: int) -> None:
        self.backlog += more
        if self.backlog > self.limit_bytes:
            self.accepts = False
        if self.backlog > self._wake_at:
            self._wake()

    # -- the writer's side --

    def take(self, *, all_rows: bool = False) -> Batch:
        """Take out what has to be written, and copies of the rows that stay.

        Parameters
        ----------
        all_rows
            Seal all buffers first, but the blobs' table: no row stays.
        """
        blobs_table = self.tables[BLOBS.name]
        with self.lock:
            self.catch_up()
            if all_rows:
                for buffer in self.buffers:
                    if buffer.count and buffer.table != blobs_table:
                        self._seal(buffer)
            copies = (b.waiting() for b in self.buffers if b.table != blobs_table)
            batch = Batch(
                self._sealed,
                [copy for copy in copies if copy is not None],
                [len(buffer) for buffer in self.buffers],
                self._blobs,
                bytes(self._definitions),
                self.backlog,
            )
            self._sealed, self._blobs = [], []
            self._definitions = bytearray()
            return batch

    def take_news(self) -> Batch:
        """Take out all that came since, for whoever wants rows but no journal.

        Rows that stay in their buffers are copied, each once: frames are filled in
        where they lie. An intake that is emptied so is not emptied by `take`.
        """
        with self.lock:
            self.catch_up()
            blocks = self._sealed
            for buffer in self.buffers:
                first, rows = buffer.news()
                if len(rows):
                    blocks.append(Block(buffer.table, buffer.schema, first, rows))
            lengths = [len(buffer) for buffer in self.buffers]
            batch = Batch(
                *(blocks, [], lengths, self._blobs, bytes(self._definitions)),
                bytes=self.backlog,
            )
            self._sealed, self._blobs = [], []
            self._definitions = bytearray()
            return batch

    def stored(self, places: list[tuple[int, ...]]) -> None:
        """Note where blobs lie in the file: a row of their table each."""
        rows = np.array(places, BLOBS.dtype)
        with self.lock:
            self.extend(self.tables[BLOBS.name], rows)

    def take_blob_rows(self, batch: Batch, *, all_rows: bool) -> list[Block]:
        """The blocks to write, those of the blobs' table among them.

        What of that table stays is added to the batch.
        """
        buffer = self.buffers[self.tables[BLOBS.name]]
        with self.lock:
            if all_rows and buffer.count:
                self._seal(buffer)
            mine = [b for b in self._sealed if b.table == buffer.table]
            self._sealed = [b for b in self._sealed if b.table != buffer.table]
            self.backlog -= sum(b.rows.nbytes for b in mine)
            batch.lengths[buffer.table] = len(buffer)
            copy = buffer.waiting()
            if copy is not None:
                batch.waiting.append(copy)
            return mine + batch.blocks

    def written(self, batch: Batch) -> None:
        """Count a batch as written; takes rows again where there is room."""
        with self.lock:
            self.backlog = max(self.backlog - batch.bytes, 0)
            if not self.stopped and self.backlog <= self.limit_bytes * ROOM:
                self.reopen()

    def reopen(self) -> None:
        """Take rows again, and record how many were refused."""
        with self.lock:
            self.catch_up()
            self.accepts = True
            refused, self._refused = self._refused, {}
            row = len(self.buffers[self.tables["native"]])
            for what, count in refused.items():
                values = (self.text(what), count, row, -1, self.text(BEHIND))
                self.add(self.tables[DROPPED.name], values)

    def stop(self) -> None:
        """Take nothing any more, and let go of what waits."""
        with self.lock:
            self.stopped, self.accepts = True, False
            self._sealed, self._blobs = [], []
            self._late, self._late_natives, self._late_bytes = {}, {}, 0
            self._definitions = bytearray()
            self.backlog = 0
