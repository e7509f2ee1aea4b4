"""Messages between a hub and its keeper: frames of bytes over a pair of sockets.

Both ends are processes of one user that one of them started; nobody else can write
into it. A message is a word, numbers and frames.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Sequence

_LENGTH = struct.Struct("<I")  # of the head


class Said(NamedTuple):
    """A message that came: its word, whatever else its head has, and frames."""

    word: str
    about: Any
    frames: list[bytearray]


def say(
    end: socket.socket, word: str, about: Any = None, frames: Sequence[Any] = ()
) -> None:
    """Send a message; waits until there is room.

    Raises
    ------
    OSError
        If the other end is gone.
    """
    views = [memoryview(frame) for frame in frames]
    head = msgspec.msgpack.encode((word, about, [view.nbytes for view in views]))
    start = _LENGTH.pack(len(head)) + head
    end.sendall(start)
    for view in views:
        if view.nbytes:
            end.sendall(view)


def hear(end: socket.socket) -> Said | None:
    """Wait for a message; None at the end.

    Raises
    ------
    OSError
        If the other end went in the middle of one.
    """
    start = _read(end, _LENGTH.size)
    if start is None:
        return None
    (length,) = _LENGTH.unpack(start)
    word, about, sizes = msgspec.msgpack.decode(_all(end, length))
    return Said(word, about, [_all(end, size) for size in sizes])


def all_said(end: socket.socket) -> Iterator[Said]:
    """All messages, as they come, until the other end is gone."""
    while True:
        try:
            said = hear(end)
        except OSError:
            return
        if said is None:
            return
        yield said


def _read(end: socket.socket, size: int) -> bytearray | None:
    content = bytearray(size)
    view = memoryview(content)
    done = 0
    while done < size:
        count = end.recv_into(view[done:])
        if not count:
            if done:
                raise OSError("the other end went in the middle of a message")
            return None
        done += count
    return content


def _all(end: socket.socket, size: int) -> bytearray:
    content = _read(end, size)
    if content is None and size:
        raise OSError("the other end went in the middle of a message")
    return bytearray() if content is None else content
