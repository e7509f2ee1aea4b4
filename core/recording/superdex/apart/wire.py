"""What the two processes say to each other: frames of MessagePack, length first.

No pickles: what the child sends was made from a file that nobody vouches for.
"""

from __future__ import annotations

import math
import struct
from typing import IO, TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from isoscope.core.recording.superdex.events import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.tracks import Array, Int64Array

_LENGTH = struct.Struct("<Q")
MAX_FRAME = 1 << 31
_KINDS = frozenset("biufcS")
# A message, the place in the file, and whether something could not be read.
Told: TypeAlias = tuple[str, str, bool]


class Open(msgspec.Struct, tag=True):
    """Open the file in this mode; answered by Opened or Failed.

    `cpu_s` is how much processor time one object may take. The events are listed only
    with `listing`.
    """

    path: str
    mode: str
    listing: bool
    cpu_s: float
    memory_bytes: int


class Read(msgspec.Struct, tag=True):
    """Read these events (int64, as bytes); each is answered by an EventRead.

    With `careful`, values that may crash the library are passed over.
    """

    numbers: bytes
    careful: bool


class Opened(msgspec.Struct, tag=True):
    """Event numbers found (int64, as bytes, ascending), and what is odd about them."""

    numbers: bytes
    told: list[tuple[str, str, int]]


class Failed(msgspec.Struct, tag=True):
    """The file can't be opened in this mode."""

    message: str


class Value(msgspec.Struct, array_like=True):
    """A named array."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    data: bytes


class EventRead(msgspec.Struct, tag=True):
    """One event, or None where it could not be opened; and what was told of it."""

    number: int
    found: bool
    fields: list[Value]
    actors: list[tuple[str, list[Value]]]
    told: list[Told]


Request = Open | Read
Answer = Opened | Failed | EventRead
_requests = msgspec.msgpack.Decoder(Request)
_answers = msgspec.msgpack.Decoder(Answer)


def send(stream: IO[bytes], message: Request | Answer) -> None:
    """Write one frame and flush it."""
    content = msgspec.msgpack.encode(message)
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Read one frame; None at the end of the stream or where it breaks off."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > MAX_FRAME:
        return None
    content = stream.read(length)
    return content if len(content) == length else None


def request(content: bytes) -> Request:
    """Decode a frame that the parent sent."""
    return _requests.decode(content)


def answer(content: bytes) -> Answer:
    """Decode a frame that the child sent.

    Raises
    ------
    msgspec.MsgspecError
        If it is none.
    """
    return _answers.decode(content)


def numbers_to_bytes(numbers: Sequence[int] | Int64Array) -> bytes:
    """Event numbers as the frames carry them."""
    return np.array(numbers, "<i8").tobytes()


def numbers_from_bytes(content: bytes) -> list[int]:
    """Event numbers from a frame."""
    numbers: list[int] = np.frombuffer(content, "<i8").tolist()
    return numbers


def pack(number: int, event: Event | None, told: list[Told]) -> EventRead:
    """Make an answer of an event."""
    if event is None:
        return EventRead(number, False, [], [], told)
    actors = [(name, _values(fields)) for name, fields in event.actors.items()]
    return EventRead(number, True, _values(event.fields), actors, told)


def unpack(read: EventRead) -> Event | None:
    """Make an event of an answer.

    Raises
    ------
    ValueError
        If its arrays are not what they say.
    """
    if not read.found:
        return None
    actors = {name: _arrays(values) for name, values in read.actors}
    return Event(read.number, _arrays(read.fields), actors)


def _values(fields: dict[str, Array]) -> list[Value]:
    return [Value(n, v.dtype.str, v.shape, v.tobytes()) for n, v in fields.items()]


def _arrays(values: list[Value]) -> dict[str, Array]:
    made = {}
    for value in values:
        dtype = np.dtype(value.dtype)
        if dtype.kind not in _KINDS or dtype.itemsize == 0:
            raise ValueError(f"dtype {value.dtype} does not travel")
        if math.prod(value.shape) * dtype.itemsize != len(value.data):
            raise ValueError(f"{value.name!r} is not as long as it says")
        made[value.name] = np.frombuffer(value.data, dtype).reshape(value.shape)
    return made
