"""Read the tables of a labelled recording: by column and rows, as far as it is written.

A table's rows are blocks, listed in the directory, and after them those that only the
journal has. `refresh` takes in what was written since. All methods may be called from
any thread; HDF5 itself works one call at a time.
"""

from __future__ import annotations

import threading
import time
import zlib
from bisect import bisect_right
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.errors import ReadError, one_line
from isoscope.core.recording.labelled.catalog import Catalog, written
from isoscope.core.recording.labelled.forms import (
    DIRECTORY,
    JOURNALS,
    salvage_definitions,
    unpack_journal,
)
from isoscope.core.recording.labelled.hdf5 import (
    H5_ERRORS,
    OPENING,
    Opened,
    attributes,
    damage,
    open_file,
    read_head,
)
from isoscope.core.recording.labelled.tables import POOL_NAMES, POOLS
from isoscope.core.roomy import roomy

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.labelled.catalog import Table
    from isoscope.core.recording.labelled.forms import Journal
    from isoscope.core.recording.labelled.tables import Part
    from isoscope.core.recording.tracks import Array

READING = "reading"
CACHE_BYTES = 32 << 20  # by default
JOURNAL_TRIES = 8
# A file that was changed so long ago is stamped anew by whatever is written to it next:
# file systems' clocks are not as fine as writers are fast.
SETTLED_NS = 100_000_000
MAX_BLOB = 1 << 32
# A pool can't hold more than deflate gets into so few bytes.
MAX_RATIO = 1100


class Store:
    """The tables of one file.

    Parameters
    ----------
    path
        The file; opened without a lock.

    Attributes
    ----------
    attributes
        Of the root group, as text.
    catalog
        What it lists: tables, texts, definitions, and problems met on the way.
    writer, cut, missing
        As in `Opened`.
    cache_bytes
        How much of what was read is kept.
    forgot
        By table: up to which row something that was read is kept no more, since there
        was too much.

    Raises
    ------
    ReadError
        If it can't be opened; from other methods where its rows can't be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self.catalog = Catalog()
        self.cache_bytes = CACHE_BYTES
        self.forgot: dict[str, int] = {}
        self._cache: OrderedDict[tuple[int, int, str, int, int], Array] = OrderedDict()
        # Looking one up takes longer than reading a block; each knows its length as
        # it was when it was looked up, so the directory's news make them anew.
        self._pools: dict[str, Any] = {}
        self._stamp: tuple[int, int, int] | None = None  # of the file that is all read
        self._opened: Opened | None = open_file(path)
        self.writer, self.cut = self._opened.writer, self._opened.cut
        self.missing = self._opened.missing
        try:
            self.attributes = attributes(self._opened.file)
            self._begin()
            self._take_in()
        except H5_ERRORS as error:
            self.close()
            if self.missing:
                head = read_head(path)
                raise ReadError(OPENING, path, damage("", head)) from None
            raise self._error(error, "") from None

    def _error(self, error: Exception, where: str) -> ReadError:
        return ReadError(
            READING,
            self.path,
            f"damaged: {one_line(error)}",
            where=where,
            remedy="isoscope repair saves what is left",
        )

    def _begin(self) -> None:
        self.catalog.clear()
        self._cache.clear()
        self._cached = 0
        self._defined = self._listed = 0

    @property
    def cached_bytes(self) -> int:
        """How much of what was read is kept now."""
        return self._cached

    @property
    def tables(self) -> dict[str, Table]:
        """The tables by name."""
        return self.catalog.tables

    def _file(self) -> Any:
        """The open file; opened anew if it was closed meanwhile."""
        if self._opened is None:
            opened = open_file(self.path)
            now = attributes(opened.file)
            if now.get("run") != self.attributes.get("run"):
                opened.close()
                raise ReadError(READING, self.path, "another recording lies there now")
            self._opened = opened
            if now.get("written") != self.attributes.get("written"):
                # The same rows in another file: its writer compacted it at its end.
                self.attributes = now
                self.writer, self.cut = opened.writer, opened.cut
                self._begin()
                self._take_in()
        return self._opened.file

    def close(self) -> None:
        """Let go of the file; whatever is read later opens it again."""
        with self.lock:
            opened, self._opened = self._opened, None
            self._pools.clear()
            if opened is not None:
                opened.close()

    # -- taking in --

    def refresh(self) -> bool:
        """Take in what was written since; whether there was anything.

        Raises
        ------
        ReadError
            If it can't be read on.
        """
        with self.lock:
            before = (self._defined, self._listed, self.catalog.sequence)
            try:
                if self._stamp is not None and self._stamp == self._looked()[0]:
                    return False
                self._take_in()
            except H5_ERRORS as error:
                raise self._error(error, "") from None
            return before != (self._defined, self._listed, self.catalog.sequence)

    def _fresh(self, name: str) -> Any:
        file = self._file()
        dataset = file[name]
        if file.swmr_mode:
            dataset.id.refresh()
        return dataset

    def _looked(self) -> tuple[tuple[int, int, int], bool]:
        """What tells this state of the file from the next; whether it surely does."""
        found = self.path.stat()
        settled = time.time_ns() - found.st_mtime_ns > SETTLED_NS
        return (found.st_ino, found.st_size, found.st_mtime_ns), settled

    def _take_in(self) -> None:
        self._stamp = None
        stamp, settled = self._looked()
        self._size = stamp[1]
        # The journal first: whatever it leaves out was in blocks before it was written.
        journal = self._journal()
        self._take_definitions()
        self._take_directory()
        if journal is not None:
            self.catalog.take_journal(journal)
        self._stamp = stamp if settled else None

    def _take_definitions(self) -> None:
        dataset = self._fresh("definitions")
        if dataset.shape[0] > self._size * 2 + (1 << 26):
            raise OSError("it claims more definitions than a file of its size can hold")
        content = dataset[self._defined :].tobytes()
        read = salvage_definitions(content)
        lost = len(content) - read.length
        if lost and self.writer is None:
            self.catalog.tell(f"{lost} bytes of definitions are lost", "/definitions")
        if read.damaged:
            self.catalog.tell(f"{read.damaged} are damaged", "/definitions")
        self._defined += read.length
        for definition in read.found:
            self.catalog.define(definition)

    def _take_directory(self) -> None:
        dataset = self._fresh("directory")
        if dataset.dtype != DIRECTORY:
            raise OSError("its directory is of another form")
        if dataset.shape[0] * DIRECTORY.itemsize > self._size * 2 + (1 << 26):
            raise OSError("it claims more blocks than a file of its size can hold")
        self._pools.clear()
        entries = dataset[self._listed :].tolist()
        if self.writer is not None:
            entries = entries[: written(entries)]
        self._listed += len(entries)
        lengths = {p: self._fresh(f"pools/{p}").shape[0] for p in POOL_NAMES}
        for pool, length in lengths.items():
            if length * np.dtype(POOLS[pool]).itemsize > self._size * MAX_RATIO + 65536:
                raise OSError("it claims more values than a file of its size can hold")
        for found in entries:
            self.catalog.add_entry(found, lengths)

    def _journal(self) -> Journal | None:
        """The younger of the two journals that are whole.

        One that was taken in already comes without its rows.
        """
        file = self._file()
        if JOURNALS[0] not in file:
            return None
        best: Journal | None = None
        for _ in range(JOURNAL_TRIES):
            torn = False
            for name in JOURNALS:
                dataset = self._fresh(name)
                if dataset.shape[0] > self._size * 2 + (1 << 26):
                    continue
                content = dataset[()].tobytes()
                found = unpack_journal(content, self.catalog.sequence)
                torn |= found is None and len(content) > 0
                if found is not None and (
                    best is None or found.sequence > best.sequence
                ):
                    best = found
            if best is not None or not torn or self.writer is None:
                break
        return best

    # -- reading --

    def raw(self, name: str, start: int, stop: int) -> bytes:
        """Bytes start .. stop of ``blobs`` or ``definitions`` as they lie there.

        Raises
        ------
        ReadError
            If they can't be read.
        """
        with self.lock:
            try:
                content: bytes = self._fresh(name)[start:stop].tobytes()
            except H5_ERRORS as error:
                raise self._error(error, f"/{name}") from None
            return content

    def definition_bytes(self) -> int:
        """How many bytes of the definitions were read and are whole."""
        return self._defined

    def blob_bytes(self) -> int:
        """How many bytes the blobs have; raises ReadError."""
        with self.lock:
            try:
                return int(self._fresh("blobs").shape[0])
            except H5_ERRORS as error:
                raise self._error(error, "/blobs") from None

    def read(
        self,
        name: str,
        column: str,
        start: int = 0,
        stop: int | None = None,
        components: tuple[int, int] | None = None,
    ) -> Array:
        """Rows start .. stop (all by default) of a column, [stop - start, *shape].

        Parameters
        ----------
        components
            Only these of a vector: first and stop; the result is [stop - start, n].

        Raises
        ------
        ReadError
            If they can't be read.
        """
        with self.lock:
            self._file()  # which may make the tables anew
            table = self.tables[name]
            part = table.schema.parts[column]
            low, high = components or (0, part.column.size)
            shape = part.column.shape if components is None else (high - low,)
            dtype = np.dtype(part.column.dtype).newbyteorder("=")
            stop = len(table) if stop is None else min(stop, len(table))
            start = min(max(start, 0), stop)
            out = roomy((stop - start, *shape), dtype)
            flat = out.reshape(stop - start, high - low)
            blocks = table.blocks
            k = bisect_right(blocks.firsts, start) - 1
            at = start
            while 0 <= k < len(blocks) and at < min(stop, table.stored):
                first = blocks.firsts[k]
                upto = min(stop, first + blocks.counts[k])
                values = self._column(table, k, part, low, high)
                flat[at - start : upto - start] = values[at - first : upto - first]
                at, k = upto, k + 1
            if at < stop:
                tail = table.tail[at - table.tail_first : stop - table.tail_first]
                width = part.column.size
                rest = tail[column].reshape(len(tail), width)
                flat[at - start :] = rest[:, low:high]
        return out

    def _column(self, table: Table, k: int, part: Part, low: int, high: int) -> Array:
        """Components [count, high - low] of a block, from the cache or the file."""
        key = (table.id, k, part.column.name, low, high)
        if (kept := self._cache.get(key)) is not None:
            self._cache.move_to_end(key)
            return kept
        count = table.blocks.counts[k]
        if high == low:
            return np.zeros((count, 0), part.column.dtype)
        where = f"/pools/{part.pool}"
        begins = table.blocks.at(k, part.pool)
        if begins is None:
            raise self._error(OSError("a block without its values"), where)
        at = begins + (part.offset + low) * count
        try:
            file = self._file()
            pool = self._pools.get(part.pool)
            if pool is None:
                pool = self._pools[part.pool] = file[f"pools/{part.pool}"]
            flat = pool[at : at + (high - low) * count]
        except H5_ERRORS as error:
            raise self._error(error, where) from None
        values: Array = flat.reshape(high - low, count).T
        values = values.astype(part.column.dtype)
        self._cache[key] = values
        self._cached += values.nbytes
        while self._cached > self.cache_bytes and len(self._cache) > 1:
            (number, block, *_), dropped = self._cache.popitem(last=False)
            self._cached -= dropped.nbytes
            self._forget(number, block)
        return values

    def _forget(self, number: int, block: int) -> None:
        """Note that a block's values are not kept any more."""
        name = self.catalog.table_name(number)
        blocks = self.tables[name].blocks
        stop = blocks.firsts[block] + blocks.counts[block]
        self.forgot[name] = max(self.forgot.get(name, 0), stop)

    def blob(self, number: int) -> bytes | None:
        """The bytes of a blob; None where it is absent or was lost.

        Raises
        ------
        ReadError
            If it is there and can't be read.
        """
        with self.lock:
            if not 0 <= number < len(self.tables["blobs"]):
                return None
            at, stored, length, packed, crc = (
                int(self.read("blobs", name, number, number + 1)[0])
                for name in ("at", "stored", "length", "packed", "crc")
            )
            if at < 0:
                return None
            try:
                dataset = self._fresh("blobs")
                if not 0 <= at <= at + stored <= dataset.shape[0] or length > MAX_BLOB:
                    raise OSError("a blob that lies outside of the file")
                content: bytes = dataset[at : at + stored].tobytes()
                if zlib.crc32(content) != crc:
                    raise OSError("a blob whose checksum is wrong")
                if packed:
                    content = zlib.decompressobj().decompress(content, length + 1)
            except (*H5_ERRORS, zlib.error) as error:
                raise self._error(error, "/blobs") from None
            if len(content) != length:
                raise self._error(OSError("a blob of another length"), "/blobs")
            return content

    def json(self, number: int) -> Any:
        """The value of a JSON blob; None where it is absent.

        Raises
        ------
        ReadError
            If it is damaged.
        """
        content = self.blob(number)
        try:
            return None if content is None else msgspec.json.decode(content)
        except msgspec.DecodeError as error:
            raise self._error(error, "/blobs") from None
