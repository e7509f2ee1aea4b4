"""A table of an Arrow IPC file, once it is known how large it unpacks.

Compressed buffers can claim any size in a few bytes, and Arrow reserves what they
claim. So each batch's description is read first.

Source: the Arrow columnar format (IPC), Message.fbs and Schema.fbs; the FlatBuffers
encoding of tables and vectors. A compressed buffer begins with its length unpacked,
int64; -1 where it isn't compressed after all.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = 8  # "ARROW1" and two bytes of padding; then the messages one after the other
HEADER, BUFFERS, COMPRESSION = 2, 2, 3  # places of fields in their tables
BUFFER = struct.Struct("<qq")  # where it is in the body, and its length


def read_table(path: Path, limit: int) -> pa.Table:
    """All of a file.

    Raises
    ------
    ValueError
        If it would take more than `limit` bytes, or has anything but plain batches.
    pyarrow.ArrowException, OSError, struct.error
        If it is cut or damaged.
    """
    # Not mapped into memory: a file that is cut while it is mapped ends the process.
    with pa.OSFile(str(path)) as source:
        # What is read is what was counted: one after the other, not as the footer says.
        batches = pa.ipc.open_file(source).num_record_batches
        source.seek(BEGIN)
        size = count = 0
        for message in pa.ipc.MessageReader.open_stream(source):
            if message.type == "schema":
                continue
            if message.type != "record batch":
                raise ValueError(f"a {message.type}, not numbers")
            count += 1
            size += unpacked_bytes(message.metadata.to_pybytes(), message.body)
            if size > limit:
                raise ValueError(f"it unpacks to more than {limit >> 20} MiB")
        if count != batches:
            raise ValueError(f"{count} batches where its footer has {batches}")
        source.seek(BEGIN)
        table = pa.ipc.open_stream(source).read_all()
        if table.nbytes > limit:
            raise ValueError(f"it takes more than {limit >> 20} MiB")
        table.validate(full=True)
        return table


def unpacked_bytes(message: bytes, body: pa.Buffer) -> int:
    """How many bytes a record batch's buffers have once unpacked."""
    (root,) = struct.unpack_from("<I", message)
    batch = _follow(message, root, HEADER)
    if batch is None:
        raise ValueError("a batch without a description")
    vector = _follow(message, batch, BUFFERS)
    if vector is None:
        return 0
    packed = _field(message, batch, COMPRESSION) is not None
    (count,) = struct.unpack_from("<I", message, vector)
    held = memoryview(body)
    total = 0
    for at in range(count):
        offset, length = BUFFER.unpack_from(message, vector + 4 + at * BUFFER.size)
        if offset < 0 or length < 0 or offset + length > len(held):
            raise ValueError("a buffer that is not in its batch")
        size = length
        if packed and length:
            (told,) = struct.unpack_from("<q", held, offset)
            size = length if told == -1 else told
        if size < 0:
            raise ValueError("a buffer of less than nothing")
        total += size
    return total


def _field(data: bytes, table: int, number: int) -> int | None:
    """Where a field of a table is; None where it has its default."""
    (back,) = struct.unpack_from("<i", data, table)
    names = table - back
    (size,) = struct.unpack_from("<H", data, names)
    entry = 4 + 2 * number
    if entry + 2 > size:
        return None
    (offset,) = struct.unpack_from("<H", data, names + entry)
    return table + offset if offset else None


def _follow(data: bytes, table: int, number: int) -> int | None:
    """Where the table or vector is that a field refers to."""
    at = _field(data, table, number)
    return None if at is None else at + int(struct.unpack_from("<I", data, at)[0])
