"""Compare one template with the same object of many events at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.superdex.scan.checksum import lookup3_rows

if TYPE_CHECKING:
    from isoscope.core.recording.superdex.scan.filebytes import FileBytes
    from isoscope.core.recording.superdex.scan.template import (
        Attribute,
        BlockEnd,
        Checksum,
        Piece,
        Template,
        Varying,
    )
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array

_COMPARED_WORDS = 1 << 15  # compared at a time, so that it stays in the cache
_LONGEST_RUN = 1 << 16  # elements of a varying value; a message is shorter than this


@dataclass(slots=True)
class Found:
    """The objects of one template: n rows.

    Attributes
    ----------
    template
        What they are.
    rows
        int64 [n], ascending: which events of the block.
    starts
        For each piece int64 [n]: its addresses.
    buffers
        For each piece uint8 [n, length padded to 8]: its bytes.
    counts
        For a piece that a varying value follows, int64 [n]: its elements.
    """

    template: Template
    rows: Int64Array
    starts: list[Int64Array]
    buffers: list[Array]
    counts: dict[int, Int64Array]

    def __len__(self) -> int:
        """Rows."""
        return len(self.rows)

    def keep(self, which: BoolArray) -> None:
        """Drop the rows for which `which` [n] is false."""
        self.rows = self.rows[which]
        self.starts = [s[which] for s in self.starts]
        self.buffers = [b[which] for b in self.buffers]
        self.counts = {piece: c[which] for piece, c in self.counts.items()}

    def field(
        self,
        piece: int,
        offset: int,
        dtype: np.dtype[Any],
        shape: tuple[int, ...] = (),
    ) -> Array:
        """View [n, *shape] of a value at this offset of a piece."""
        buffer = self.buffers[piece]
        if not len(buffer):
            return np.empty((0, *shape), dtype)
        strides = [dtype.itemsize]
        for size in shape[:0:-1]:
            strides.insert(0, strides[0] * size)
        return np.ndarray(
            (len(buffer), *shape),
            dtype,
            buffer.data,
            offset,
            (buffer.shape[1], *(strides if shape else ())),
        )

    def pointers(self, piece: int, offset: int) -> Array:
        """uint64 [n]: the addresses stored at this offset of a piece."""
        return self.field(piece, offset, _U8)


_U2, _U4, _U8 = np.dtype("<u2"), np.dtype("<u4"), np.dtype("<u8")
_UNSIGNED: dict[int, np.dtype[Any]] = {4: _U4, 8: _U8}


def match(
    template: Template, source: FileBytes, rows: Int64Array, addresses: Array
) -> Found:
    """The rows whose object at `addresses` [n] (uint64) is of this template."""
    found = Found(template, rows, [], [], {})
    for piece in template.pieces:
        if not _fetch(found, piece, source, addresses):
            return found
    for attribute in template.attributes:
        if attribute.ends_at_nul:
            _check_string(found, _attribute_bytes(found, attribute))
    values = template.values
    if values is not None and not values.inline:
        start = found.pointers(values.piece, values.offset)
        _keep(found, _inside(start, values.nbytes, source.end))
    return found


def _inside(start: Array, size: int, end: int) -> BoolArray:
    """Bool [n]: whether `size` bytes from each start (uint64) end before the file."""
    if size > end:
        return np.zeros(len(start), np.bool_)
    inside: BoolArray = start <= np.uint64(end - size)
    return inside


def _keep(found: Found, which: BoolArray) -> None:
    if not which.all():
        found.keep(which)


def _fetch(found: Found, piece: Piece, source: FileBytes, addresses: Array) -> bool:
    """Add one piece, keeping the rows that fit; returns whether any is left."""
    number = len(found.buffers)
    start = _start(found, piece, addresses)
    inside = _inside(start, piece.extent, source.end)
    if not inside.all():
        found.keep(inside)
        start = start[inside]
    found.starts.append(start.astype(np.int64))
    found.buffers.append(source.rows(found.starts[-1], piece.length))
    _keep(found, same(found.buffers[-1], piece))
    for offset, echoed in piece.echoes:
        seen = found.pointers(number, offset)
        _keep(found, seen == found.starts[echoed].astype(np.uint64))
    if piece.checksum is not None:
        _keep(found, _checksum_holds(found.buffers[number], piece.checksum))
    if piece.varying is not None:
        _take_varying(found, number, piece, piece.varying, source.end)
    if piece.end is not None:
        _check_end(found, number, piece, piece.end)
    return len(found) > 0


def _start(found: Found, piece: Piece, addresses: Array) -> Array:
    """uint64 [n]: where the piece begins in each row."""
    origin = piece.origin
    if origin.piece < 0:
        return addresses
    if origin.pointer is not None:
        return found.pointers(origin.piece, origin.pointer)
    return _behind(found, origin.piece).astype(np.uint64)


def _behind(found: Found, number: int) -> Int64Array:
    """int64 [n]: where a piece ends, its varying value included, padded to 8."""
    piece = found.template.pieces[number]
    end: Int64Array = found.starts[number] + piece.length
    if piece.varying is not None:
        size = found.counts[number] * piece.varying.itemsize
        end = end + size + -size % 8
    return end


def same(buffer: Array, piece: Piece) -> BoolArray:
    """Bool [n]: whether rows [n, padded] have the piece's bytes where they must."""
    words = buffer.view(np.uint64)
    count, width = words.shape
    result: BoolArray = np.empty(count, np.bool_)
    step = max(1, _COMPARED_WORDS // max(width, 1))
    scratch = np.empty((min(step, count), width), np.uint64)
    for low in range(0, count, step):
        part = words[low : low + step]
        differing = scratch[: len(part)]
        np.bitwise_and(part, piece.mask, out=differing)
        np.bitwise_xor(differing, piece.reference, out=differing)
        result[low : low + step] = np.bitwise_or.reduce(differing, axis=1) == 0
    return result


def _checksum_holds(buffer: Array, checksum: Checksum) -> BoolArray:
    stored = buffer[:, checksum.field : checksum.field + 4].copy().view("<u4")[:, 0]
    if checksum.field < checksum.span:
        buffer = buffer.copy()
        buffer[:, checksum.field : checksum.field + 4] = 0
    holds: BoolArray = lookup3_rows(buffer, checksum.span) == stored
    return holds


def _take_varying(
    found: Found, number: int, piece: Piece, varying: Varying, end: int
) -> None:
    count = found.field(number, varying.dimension, _U8)
    size = found.field(number, varying.size, _U2).astype(np.int64)
    good = (count > 0) & (count < _LONGEST_RUN)
    if varying.maximum is not None:
        good &= found.field(number, varying.maximum, _U8) == count
    elements = np.where(good, count, 0).astype(np.int64)
    nbytes = elements * varying.itemsize
    good &= size == varying.prefix + nbytes + -nbytes % 8
    found.counts[number] = elements
    _keep(found, good)
    _keep(found, _behind(found, number) <= end)


def _check_end(found: Found, number: int, piece: Piece, end: BlockEnd) -> None:
    """Keep the rows whose block ends where its stored length says."""
    length = found.field(end.piece, end.offset, _UNSIGNED[end.width])
    limit = found.starts[end.first] + end.skip
    stop = _behind(found, number)
    if end.tail is not None:
        stop = stop + found.field(number, end.tail, _U2)
    # Compared as u64: a stored length may be anything.
    _keep(found, (stop - limit).astype(np.uint64) == length)


def _attribute_bytes(found: Found, attribute: Attribute) -> Array:
    count = int(np.prod(attribute.shape or (), dtype=np.int64))
    size = attribute.dtype.itemsize
    return found.field(attribute.piece, attribute.offset, _BYTE, (count, size))


_BYTE = np.dtype(np.uint8)


def _check_string(found: Found, text: Array) -> None:
    """Keep the rows whose strings [n, count, size] hold nothing behind a NUL."""
    empty = text == 0
    broken = empty[..., :-1] & ~empty[..., 1:]
    _keep(found, ~broken.any(axis=(1, 2)))
