"""Messages over a byte stream: a length, then so many bytes."""

from __future__ import annotations

import struct
from typing import IO

from isoscope.core.errors import IsoscopeError

LENGTH = struct.Struct("<Q")
MOST = 1 << 34  # bytes; more is noise that somebody wrote into the stream


class StreamError(IsoscopeError):
    """A stream that ended within a message, or that holds something else."""


def send(stream: IO[bytes], data: bytes) -> None:
    """Write one message.

    Raises
    ------
    OSError
        If nobody reads any more.
    """
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """The next message; None where the stream has ended.

    Raises
    ------
    StreamError
        If it ended within a message, or is no such stream.
    """
    head = _exactly(stream, LENGTH.size)
    if not head:
        return None
    if len(head) < LENGTH.size:
        raise StreamError("the stream ended within a message")
    (length,) = LENGTH.unpack(head)
    if length > MOST:
        raise StreamError("something else was written into the stream")
    data = _exactly(stream, length)
    if len(data) < length:
        raise StreamError("the stream ended within a message")
    return data


def _exactly(stream: IO[bytes], count: int) -> bytes:
    """So many bytes, or what there is until the end."""
    parts: list[bytes] = []
    missing = count
    while missing:
        part = stream.read(missing)
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
