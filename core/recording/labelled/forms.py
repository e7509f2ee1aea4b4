"""The forms of the file's smaller parts: definitions, the journal, the directory.

All numbers are little-endian. ``docs/labelled-recording.md`` describes the same in
words.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.recording.labelled.records import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

VERSION = 1
MARK = b"isoscope labelled recording "  # the file's first bytes, and the version
USER_BLOCK = 512
FORMAT_NAME = "isoscope-labelled"

# A pool's chunk, in elements by the size of one: 16 KiB.
CHUNK_BYTES = 1 << 14
JOURNALS = ("journal/a", "journal/b")

DIRECTORY = np.dtype(
    [
        ("table", "<u4"),
        ("pool", "<u4"),
        ("first", "<u8"),
        ("count", "<u8"),
        ("at", "<u8"),
        ("crc", "<u4"),
        ("unused", "<u4"),
    ]
)
_ENTRY = struct.Struct("<IIQQQ")
_SUPERBLOCK = struct.Struct("<8sBBBBQQQQ")
HEAD_BYTES = USER_BLOCK + _SUPERBLOCK.size
_FRAME = struct.Struct("<II")
_JOURNAL = struct.Struct("<8sQQII")
_JOURNAL_MARK = b"ISOJRNL1"
MAX_JOURNAL = 1 << 31
_JournalContent = tuple[list[int], list[tuple[int, int, bytes]]]

_encoder = msgspec.json.Encoder(enc_hook=plain)


def first_bytes() -> bytes:
    """The user block: what the file is, for whoever looks at it without a library."""
    text = MARK + f"{VERSION}\nHDF5 begins at byte {USER_BLOCK}\n".encode()
    return text.ljust(USER_BLOCK, b"\0")


def version_of(head: bytes) -> int | None:
    """The version that a file's first bytes tell, or None if it is another file."""
    if not head.startswith(MARK):
        return None
    digits = head[len(MARK) :].split(b"\n", 1)[0]
    return int(digits) if digits.isdigit() and len(digits) < 9 else 0


@dataclass(frozen=True, slots=True)
class Superblock:
    """What the HDF5 superblock in the first `HEAD_BYTES` says.

    Source: HDF5 File Format Specification 3.0, section II.A, versions 2 and 3.

    Attributes
    ----------
    marked
        Whether a writer opened the file and has not closed it.
    end
        Bytes that the file must have.
    """

    marked: bool
    end: int


def superblock(head: bytes) -> Superblock | None:
    """Parse a file's first bytes; None where they hold no such superblock."""
    if len(head) < HEAD_BYTES:
        return None
    mark, version, _, _, flags, _, _, end, _ = _SUPERBLOCK.unpack_from(head, USER_BLOCK)
    if mark != b"\x89HDF\r\n\x1a\n" or version not in (2, 3):
        return None
    return Superblock(bool(version == 3 and flags & 1), end)


def to_json(value: Any) -> bytes:
    """Any value as JSON; what JSON can't hold becomes something that it can.

    Never raises: keys that are no text, numbers beyond 64 bits and whatever else the
    encoder refuses are turned into text.
    """
    try:
        return _encoder.encode(value)
    except Exception:  # noqa: BLE001 whatever a user's values do
        return _encoder.encode(_tamed(value))


def _tamed(value: Any, depth: int = 0) -> Any:
    if depth < 16 and isinstance(value, dict):
        return {_encodable(str(k)): _tamed(v, depth + 1) for k, v in value.items()}
    if depth < 16 and isinstance(value, list | tuple | set | frozenset):
        return [_tamed(v, depth + 1) for v in value]
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else str(value)
    if isinstance(value, str):
        return _encodable(value)
    told = plain(value)
    return told if isinstance(told, str) else _tamed(told, depth + 1)


def _encodable(text: str) -> str:
    """Text that is UTF-8: half of a surrogate pair is none."""
    return text.encode("utf-8", "backslashreplace").decode()


# -- definitions --


def frame_definition(definition: dict[str, Any]) -> bytes:
    """A definition as it lies in the file: length, CRC-32, JSON."""
    content = to_json(definition)
    return _FRAME.pack(len(content), zlib.crc32(content)) + content


@dataclass(slots=True)
class Definitions:
    """Definitions that were read.

    Attributes
    ----------
    found
        The whole ones.
    length
        Bytes up to the end of the last of them.
    damaged
        How many before that are damaged.
    """

    found: list[dict[str, Any]]
    length: int
    damaged: int


def read_definitions(content: bytes) -> tuple[list[dict[str, Any]], int]:
    """The whole definitions in these bytes, and where the last of them ends."""
    read = salvage_definitions(content)
    return read.found, read.length


def salvage_definitions(content: bytes) -> Definitions:
    """The definitions in these bytes, up to the last whole one.

    A damaged one is passed over where a whole one follows it.
    """
    out = Definitions([], 0, 0)
    at = passed = 0
    while at + _FRAME.size <= len(content):
        length, crc = _FRAME.unpack_from(content, at)
        body = content[at + _FRAME.size : at + _FRAME.size + length]
        if not length or len(body) < length:
            break
        at += _FRAME.size + length
        definition = _decoded(body) if zlib.crc32(body) == crc else None
        if definition is None:
            passed += 1
            continue
        out.found.append(definition)
        out.length = at
        out.damaged, passed = out.damaged + passed, 0
    return out


def _decoded(body: bytes) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict) else None


# -- the directory --


def entry(
    table: int, pool: int, first: int, count: int, at: int
) -> tuple[int, int, int, int, int, int, int]:
    """An entry of the directory, with the CRC-32 of its other numbers."""
    crc = zlib.crc32(_ENTRY.pack(table, pool, first, count, at))
    return table, pool, first, count, at, crc, 0


# -- the journal --


@dataclass(frozen=True, slots=True)
class Waiting:
    """Rows of a table that are in no block yet: the first one's number, packed rows."""

    table: int
    first: int
    rows: bytes


@dataclass(frozen=True, slots=True)
class Journal:
    """The state of all tables at one moment.

    Attributes
    ----------
    sequence
        Counts up from 1.
    lengths
        Rows by table. Blocks may hold more by now, which the other tables lack.
    waiting
        The rows that are in no block.
    """

    sequence: int
    lengths: list[int]
    waiting: list[Waiting]


def pack_journal(
    sequence: int, lengths: Sequence[int], waiting: Iterable[Waiting]
) -> bytes:
    """A journal: header and packed rows."""
    rows = [(w.table, w.first, w.rows) for w in waiting]
    content = zlib.compress(msgspec.msgpack.encode((list(lengths), rows)), 1)
    crc = _journal_crc(sequence, content)
    return _JOURNAL.pack(_JOURNAL_MARK, sequence, len(content), crc, 0) + content


def _journal_crc(sequence: int, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(struct.pack("<Q", sequence)))


def unpack_journal(content: bytes, known: int = -1) -> Journal | None:
    """A journal, or None if it isn't whole; up to `known` without its rows."""
    if len(content) < _JOURNAL.size:
        return None
    mark, sequence, length, crc, _ = _JOURNAL.unpack_from(content)
    body = content[_JOURNAL.size : _JOURNAL.size + length]
    if mark != _JOURNAL_MARK or len(body) < length:
        return None
    if _journal_crc(sequence, body) != crc:
        return None
    if sequence <= known:
        return Journal(sequence, [], [])
    try:
        plain_bytes = zlib.decompressobj().decompress(body, MAX_JOURNAL)
        lengths, rows = msgspec.msgpack.decode(plain_bytes, type=_JournalContent)
    except (zlib.error, msgspec.MsgspecError, MemoryError):
        return None
    return Journal(sequence, lengths, [Waiting(*row) for row in rows])


# -- pools --


def pack_chunks(values: np.ndarray[Any, Any]) -> Iterator[bytes]:
    """A flat array as chunks the way HDF5's shuffle and deflate filters store them.

    Source: HDF5 File Format Specification 3.0, filters 2 (shuffle: bytes of equal
    significance together) and 1 (deflate: a zlib stream). The last chunk is padded
    with zeros.
    """
    size = values.dtype.itemsize
    length = CHUNK_BYTES // size
    for start in range(0, len(values), length):
        chunk = values[start : start + length]
        if len(chunk) < length:
            chunk = np.concatenate([chunk, np.zeros(length - len(chunk), chunk.dtype)])
        raw = np.ascontiguousarray(chunk).view(np.uint8).reshape(length, size)
        yield zlib.compress(raw.T.tobytes(), 1)
