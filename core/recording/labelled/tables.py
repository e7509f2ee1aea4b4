"""Tables: which columns each kind of record has, and how a row is laid out.

A row is packed without gaps, little-endian, in the order of the columns. A text column
is the number of a string among the file's strings, a json or bytes column the number
of a blob; -1 is absent in both. A digest of nothing but zeros is absent.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoscope.core.recording.labelled.records import DIGEST_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

Meaning = Literal["number", "digest", "text", "json", "bytes"]

# Pool by dtype. What has no pool of its own is widened, which loses nothing.
POOLS: dict[str, str] = {
    "float32": "<f4",
    "float64": "<f8",
    "int32": "<i4",
    "int64": "<i8",
    "uint64": "<u8",
    "uint8": "|u1",
}
POOL_NAMES = tuple(POOLS)
_WIDER = {
    "float16": "float32",
    "int8": "int32",
    "int16": "int32",
    "uint16": "int32",
    "uint32": "int64",
    "bool": "uint8",
}
_CODES = {"i4": "i", "i8": "q", "f8": "d", "f4": "f", "u8": "Q", "u1": "B"}
MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 4, 1024
BLOCK_BYTES = 1 << 20  # of rows, about


def pool_of(dtype: np.dtype[Any]) -> str:
    """The pool that holds values of this dtype.

    Raises
    ------
    TypeError
        If there is none: text, complex numbers, objects.
    """
    name = _WIDER.get(dtype.name, dtype.name)
    if name not in POOLS:
        raise TypeError(f"values of dtype {dtype} can't be recorded in columns")
    return name


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name
        Its key.
    dtype
        NumPy's word for it.
    shape
        Of one row's value.
    unit
        SI, ``""`` for a pure number, None where it has none or it isn't known.
    meaning
        ``"number"``, or what the number stands for.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] = ()
    unit: str | None = None
    meaning: Meaning = "number"

    @property
    def size(self) -> int:
        """Components of one row's value."""
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Part:
    """Where a column lies in its pool's part of a block: its first component."""

    column: Column
    pool: str
    offset: int


@dataclass(frozen=True)
class Schema:
    """The columns of a table, and what follows from them."""

    name: str
    columns: tuple[Column, ...]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Structured dtype of a row, packed."""
        return np.dtype(
            [
                (c.name, np.dtype(c.dtype).newbyteorder("<"), c.shape)
                for c in self.columns
            ]
        )

    @cached_property
    def packer(self) -> struct.Struct:
        """Packs a row: a number a component, a digest as its bytes."""
        codes = []
        for column in self.columns:
            if column.meaning == "digest":
                codes.append(f"{column.size}s")
            else:
                code = _CODES[np.dtype(column.dtype).newbyteorder("=").str[1:]]
                codes.append(code * column.size)
        return struct.Struct("<" + "".join(codes))

    @cached_property
    def special(self) -> tuple[tuple[int, str], ...]:
        """Columns whose value is text, JSON or bytes: place and meaning."""
        return tuple(
            (k, c.meaning)
            for k, c in enumerate(self.columns)
            if c.meaning in ("text", "json", "bytes")
        )

    @cached_property
    def parts(self) -> dict[str, Part]:
        """Where each column lies, by its name."""
        widths: dict[str, int] = {}
        out: dict[str, Part] = {}
        for column in self.columns:
            pool = pool_of(np.dtype(column.dtype))
            offset = widths.get(pool, 0)
            out[column.name] = Part(column, pool, offset)
            widths[pool] = offset + column.size
        return out

    @cached_property
    def widths(self) -> dict[str, int]:
        """Components of a row by pool, in the order of first appearance."""
        widths: dict[str, int] = {}
        for part in self.parts.values():
            widths[part.pool] = widths.get(part.pool, 0) + part.column.size
        return {pool: width for pool, width in widths.items() if width}

    @cached_property
    def block_rows(self) -> int:
        """Rows of a whole block."""
        rows = BLOCK_BYTES // max(self.dtype.itemsize, 1)
        return min(max(rows, MIN_BLOCK_ROWS), MAX_BLOCK_ROWS)

    def streams(self, rows: np.ndarray[Any, Any]) -> Iterator[tuple[str, Any]]:
        """The rows as their pools hold them: component after component, flat."""
        n = len(rows)
        for pool, width in self.widths.items():
            flat = np.empty((width, n), POOLS[pool])
            for part in self.parts.values():
                if part.pool == pool and part.column.size:
                    stop = part.offset + part.column.size
                    column = rows[part.column.name].reshape(n, part.column.size)
                    flat[part.offset : stop] = column.T
            yield pool, flat.reshape(-1)


_I4, _I8, _F8 = "<i4", "<i8", "<f8"


def _number(name: str, dtype: str, unit: str | None = "") -> Column:
    return Column(name, dtype, (), unit)


def _digest(name: str) -> Column:
    return Column(name, "|u1", (DIGEST_BYTES,), None, "digest")


def _text(name: str) -> Column:
    return Column(name, _I4, (), None, "text")


def _json(name: str) -> Column:
    return Column(name, _I4, (), None, "json")


def _ids(*names: str) -> tuple[Column, ...]:
    return tuple(_number(name, _I4) for name in names)


_WALL = _number("wall_ns", _I8, "ns")
_ROW = _number("row", _I8)
_THREAD = _number("thread", _I8)

NATIVE = Schema(
    "native",
    (
        *_ids("env", "episode", "control_step", "substep", "kind", "scene"),
        _number("h_s", _F8, "s"),
        _number("scene_time_s", _F8, "s"),
        _WALL,
        _number("process", _I4),
        _THREAD,
        Column("gravity", _F8, (3,), "m/s²"),
        _number("solver_status", _I4),
        _number("solver_iterations", _I4),
        _number("solver_residual", _F8, None),
        _digest("digest_before"),
        _digest("digest_after"),
        _digest("configuration_digest"),
        _number("restored_from", _I8),
        _number("time_s", _F8, "s"),
    ),
)
TRANSITIONS = Schema(
    "transitions",
    (
        *_ids("env", "episode", "control_step"),
        _number("reward", _F8, None),
        *_ids("terminated", "truncated", "valid"),
        _number("seed", _I8),
        _number("first_row", _I8),
        _number("last_row", _I8),
        _WALL,
        _digest("rng_digest"),
        _digest("action_rng_digest"),
        _json("reasons"),
        _json("options"),
    ),
)
RESETS = Schema(
    "resets",
    (
        *_ids("env", "episode"),
        _ROW,
        _number("transition", _I8),
        _WALL,
        *_ids("automatic"),
        _json("seed"),
        _json("options"),
        _json("rng"),
    ),
)
PROFILE = Schema(
    "profile",
    (
        _text("name"),
        _number("value", _F8, None),
        _text("unit"),
        _text("parent"),
        *_ids("env"),
        _number("transition", _I8),
        _ROW,
    ),
)
SNAPSHOTS = Schema(
    "snapshots",
    (
        Column("data", _I4, (), None, "bytes"),
        *_ids("env", "scene"),
        _ROW,
        *_ids("episode", "control_step"),
        _number("id", _I8),
        _WALL,
        _text("why"),
        _digest("digest"),
        _json("engine"),
        _json("covers"),
        _json("header"),
    ),
)
CHANGES = Schema(
    "changes",
    (
        _text("key"),
        _json("old"),
        _json("new"),
        _ROW,
        *_ids("env", "scene"),
        _WALL,
        _THREAD,
        _digest("digest"),
    ),
)
FAILURES = Schema(
    "failures",
    (
        _text("what"),
        _json("message"),
        _ROW,
        *_ids("env", "scene"),
        _WALL,
        _THREAD,
        _json("detail"),
    ),
)
EVENTS = Schema(
    "events",
    (
        _text("kind"),
        _ROW,
        *_ids("env", "scene"),
        _number("snapshot", _I8),
        *_ids("ok"),
        _WALL,
        _number("process", _I4),
        _THREAD,
        _json("detail"),
    ),
)
STREAMS = Schema(
    "streams",
    (
        _text("name"),
        _number("capture_id", _I8),
        _number("capture_time_s", _F8, "s"),
        _number("read_time_s", _F8, "s"),
        *_ids("env"),
        _ROW,
        _WALL,
        _digest("digest"),
        _text("form"),
        Column("data", _I4, (), None, "bytes"),
    ),
)
CHUNKS = Schema(
    "chunks",
    (
        _text("state"),
        *(_number(n, _I8) for n in ("step", "epoch", "rank", "stage", "chunk")),
        _number("time_s", _F8, "s"),
        _number("first_slot", _I8),
        _number("stop_slot", _I8),
        _WALL,
        _json("record"),
    ),
)
DROPPED = Schema(
    "dropped",
    (_text("what"), _number("count", _I8), _ROW, _WALL, _text("why")),
)
END = Schema("end", (_WALL, _number("rows", _I8), _text("why")))
BLOBS = Schema(
    "blobs",
    (
        _number("at", _I8),
        _number("stored", _I8),
        _number("length", _I8),
        _number("packed", _I4),
        _number("crc", _I8),
    ),
)
FIXED = (
    NATIVE,
    TRANSITIONS,
    RESETS,
    PROFILE,
    SNAPSHOTS,
    CHANGES,
    FAILURES,
    EVENTS,
    STREAMS,
    CHUNKS,
    DROPPED,
    END,
    BLOBS,
)
