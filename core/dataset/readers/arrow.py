"""Columns of Arrow and Parquet as arrays, in bounds.

A Parquet file can claim any number of rows in a few bytes. What a row group would take
in memory is counted from its footer and its schema before anything is read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from isoscope.core.errors import ReadError, one_line

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.tracks import Array

READING = "reading"
ERRORS = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, MemoryError)
MAX_GROUP = 1 << 30  # bytes of one column of a row group
MAX_ROWS = 1 << 40
CACHE = 2 << 20
BLOCK_ROWS = 1 << 14
REMEDY = "copy or export it again"
_WORDS = {"float": "float32", "double": "float64", "halffloat": "float16"}


def value_type(kind: pa.DataType) -> tuple[np.dtype[Any], tuple[int, ...]] | None:
    """NumPy's dtype and the shape of one row's value; -1 where the type doesn't say.

    None for a type that holds no numbers.
    """
    shape: list[int] = []
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pa.types.is_fixed_size_list(kind):
            shape.append(kind.list_size)
            kind = kind.value_type
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            shape.append(-1)
            kind = kind.value_type
        else:
            break
    if not (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or kind == pa.bool_()
    ):
        return None
    word = str(kind)
    return np.dtype(_WORDS.get(word, word)), tuple(shape)


def to_numpy(column: pa.Array | pa.ChunkedArray) -> Array:
    """A column of numbers or of lists of equal length: [rows, ...].

    Raises
    ------
    ValueError
        If values are absent, or lists differ in length.
    """
    if isinstance(column, pa.ChunkedArray):
        parts = [c for c in column.chunks if len(c)] or column.chunks[:1]
        if len(parts) != 1:
            made = [to_numpy(part) for part in parts]
            if not made:
                return np.zeros(0)
            return np.concatenate(made)
        column = parts[0]
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if column.null_count:
        raise ValueError(f"{column.null_count} values are absent")
    kind = column.type
    if pa.types.is_fixed_size_list(kind):
        inner = to_numpy(column.flatten())
        return inner.reshape(len(column), kind.list_size, *inner.shape[1:])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        sizes = np.diff(column.offsets.to_numpy())
        if len(sizes) and (sizes != sizes[0]).any():
            raise ValueError("rows differ in length")
        inner = to_numpy(column.flatten())
        size = int(sizes[0]) if len(sizes) else 0
        return inner.reshape(len(column), size, *inner.shape[1:])
    if value_type(kind) is None:
        raise ValueError(f"its values are {kind}, not numbers")
    return np.asarray(column.to_numpy(zero_copy_only=False))


class Parquet:
    """A Parquet file, read by column and rows; the last pieces read are kept.

    Raises
    ------
    ReadError
        If it can't be opened, or claims more than may be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple[int, str], Array] = OrderedDict()
        self._cached = 0
        try:
            self._file = pq.ParquetFile(path, memory_map=False, pre_buffer=False)
            metadata = self._file.metadata
            self.schema = self._file.schema_arrow
            groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
            counts = [group.num_rows for group in groups]
            self._claimed = [group.total_byte_size for group in groups]
        except ERRORS as error:
            raise ReadError(
                "opening",
                path,
                f"Parquet that can't be opened: cut or damaged ({one_line(error)})",
                remedy=REMEDY,
            ) from None
        if min(counts, default=0) < 0 or sum(counts) > MAX_ROWS:
            raise self.error("its footer claims an impossible number of rows", "")
        # Small row groups are read several at a time: a block is one or more.
        self._first: list[int] = []
        ends, held = [0], BLOCK_ROWS + 1
        for group, count in enumerate(counts):
            if held + count > BLOCK_ROWS:
                self._first.append(group)
                ends.append(ends[-1])
                held = 0
            held += count
            ends[-1] += count
        self._first.append(len(counts))
        self.ends = np.array(ends, np.int64)

    def error(self, problem: object, where: str) -> ReadError:
        """One message about a column."""
        return ReadError(READING, self.path, one_line(problem), where=where)

    def __len__(self) -> int:
        """Rows, as the footer has it."""
        return int(self.ends[-1])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def check(self, block: int, column: str, shape: tuple[int, ...] = ()) -> None:
        """Refuse a block that would take more memory than one may."""
        rows = int(self.ends[block + 1] - self.ends[block])
        known = value_type(self.schema.field(column).type)
        size = 8 if known is None else known[0].itemsize
        for extent in shape or (() if known is None else known[1]):
            size *= abs(extent)
        claimed = self._claimed[self._first[block] : self._first[block + 1]]
        if rows * size > MAX_GROUP or not all(0 <= c <= MAX_GROUP for c in claimed):
            raise self.error(
                f"its {rows:,} rows in one piece would take more than "
                f"{MAX_GROUP >> 20} MiB",
                column,
            )

    def table(self, block: int, column: str) -> pa.ChunkedArray:
        """A column of a block, as Arrow has it."""
        groups = list(range(self._first[block], self._first[block + 1]))
        try:
            found = self._file.read_row_groups(groups, [column], use_threads=False)
            values = found.column(column)
        except ERRORS as error:
            raise self.error(f"damaged ({one_line(error)})", column) from None
        expected = int(self.ends[block + 1] - self.ends[block])
        if len(values) != expected:
            raise self.error(f"{len(values)} rows instead of {expected}", column)
        return values

    def _block(self, block: int, column: str, shape: tuple[int, ...]) -> Array:
        key = (block, column)
        found = self._cache.get(key)
        if found is not None:
            self._cache.move_to_end(key)
            return found
        self.check(block, column, shape)
        try:
            values = to_numpy(self.table(block, column))
        except ERRORS as error:
            raise self.error(error, column) from None
        if len(values) > BLOCK_ROWS:  # else Arrow keeps what it has freed
            pa.default_memory_pool().release_unused()
        self._cache[key] = values
        self._cached += values.nbytes
        while self._cached > CACHE and len(self._cache) > 1:
            _, old = self._cache.popitem(last=False)
            self._cached -= old.nbytes
        return values

    def blocks(self, start: int, stop: int) -> list[tuple[int, int, int]]:
        """Blocks that hold rows start .. stop: number, first row there, and end."""
        if not 0 <= start <= stop <= len(self):
            raise self.error(f"it has no rows {start} to {stop}, only {len(self)}", "")
        out = []
        block = int(np.searchsorted(self.ends, start, "right")) - 1
        while start < stop:
            end = int(self.ends[block + 1])
            if end > start:
                base = int(self.ends[block])
                out.append((block, start - base, min(stop, end) - base))
                start = min(stop, end)
            block += 1
        return out

    def rows(
        self, column: str, start: int, stop: int, shape: tuple[int, ...] = ()
    ) -> Array:
        """Rows start .. stop of a column of numbers."""
        with self._lock:
            found = [
                self._block(block, column, shape)[low:high]
                for block, low, high in self.blocks(start, stop)
            ]
        if not found:
            return np.zeros(0)
        try:
            return found[0] if len(found) == 1 else np.concatenate(found)
        except ValueError as error:
            raise self.error(error, column) from None
