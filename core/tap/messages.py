"""The messages between hubs, links and windows, and their form on the wire.

A message is several ZeroMQ frames: the mark with the version, a header in MessagePack
(a map with a ``type``), and for `Data` its definitions, its blobs end to end, and the
packed rows of each block as they lie in memory. Nothing is ever unpickled. What isn't
exactly such a message is refused by :class:`WireError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from isoscope.core.tap.packet import Packet, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION = 1
MARK = b"isoscope\x00"
MAX_MESSAGE_BYTES = 256 << 20
MAX_HEADER_BYTES = 8 << 20
MAX_FRAMES = 1 << 16

Text = Annotated[str, msgspec.Meta(max_length=1 << 14)]
Number = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class WireError(Exception):
    """A message that is refused. `kind` is what it is counted as.

    Attributes
    ----------
    kind
        ``"malformed"``, ``"oversized"``, ``"version"`` or ``"unexpected"``.
    """

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class Message(msgspec.Struct, tag_field="type", tag=str.lower, kw_only=True):
    """Base of all messages."""


class Hello(Message):
    """Who comes: a worker's link, or a window.

    Attributes
    ----------
    role
        ``"worker"`` or ``"window"``.
    token
        Of the run.
    process, started
        Its id, and when it was started; see `isoscope.core.tap.process`.
    data
        Whether a window wants data, and not only the state.
    """

    role: Text
    token: Text
    process: int = -1
    started: int = 0
    host: Text = ""
    data: bool = True


class Welcome(Message):
    """The answer to `Hello`: what run it is.

    Attributes
    ----------
    record
        The file that gets all of it, on the run's machine; empty for none.
    state
        As told by `State`.
    """

    run: Text
    name: Text
    process: int
    started: int
    host: Text
    began_ns: int
    record: Text = ""
    state: dict[str, Any] = {}


class Refused(Message):
    """The answer to a `Hello` that isn't welcome."""

    why: Text


class Data(Message):
    """A packet.

    Attributes
    ----------
    sequence
        Counts up from 1 a connection; to be given back in `Credit`.
    blocks
        Table, first row, rows.
    blobs
        Number, bytes.
    missed
        Records that were left out since the last one, because the receiver was slow.
    """

    sequence: Number
    blocks: list[tuple[Number, Number, Number]]
    blobs: list[tuple[Number, Number]]
    missed: Number = 0


class Credit(Message):
    """All up to this sequence number was taken."""

    sequence: Number


class Lanes(Message):
    """Which environments a worker has."""

    environments: list[Number]


class Alive(Message):
    """A sign of life; a window's is answered."""


class Bye(Message):
    """The end: of the run, if a hub says it; `why` is empty for a clean one."""

    why: Text = ""


class Closing(Message):
    """The hub is about to close: a link should send what it has."""


class Control(Message):
    """A window's wish; see `isoscope.core.tap.session.Command`."""

    number: Number
    what: Text
    arguments: dict[str, Any] = {}


class Answer(Message):
    """What became of a wish."""

    number: Number
    ok: bool
    message: Text = ""


class State(Message):
    """The state of the run, as it tells it."""

    state: dict[str, Any]


Any_ = (
    Hello
    | Welcome
    | Refused
    | Data
    | Credit
    | Lanes
    | Alive
    | Bye
    | Closing
    | Control
    | Answer
    | State
)
_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(Any_)
_encoder = msgspec.msgpack.Encoder(enc_hook=str)
_MARK = MARK + bytes([VERSION])


def encode(message: Message) -> list[Any]:
    """The frames of a message without a packet."""
    return [_MARK, _encoder.encode(message)]


def encode_packet(packet: Packet, sequence: int, missed: int = 0) -> list[Any]:
    """The frames of a packet."""
    header = Data(
        sequence=sequence,
        blocks=[(b.table, b.first, b.count) for b in packet.blocks],
        blobs=[(number, len(content)) for number, content in packet.blobs],
        missed=missed,
    )
    blobs = b"".join(content for _, content in packet.blobs)
    rows = [b.content for b in packet.blocks]
    return [*encode(header), packet.definitions, blobs, *rows]


def decode(frames: Sequence[Any]) -> tuple[Any, Packet | None]:
    """A message, and the packet that comes with `Data`.

    Raises
    ------
    WireError
        If it is none.
    """
    parts = [memoryview(f) for f in frames]
    if len(parts) < 2 or bytes(parts[0][: len(MARK)]) != MARK:
        raise WireError("malformed", "not a message of Isoscope's")
    if bytes(parts[0]) != _MARK:
        raise WireError("version", "a message of another version of Isoscope")
    size = sum(p.nbytes for p in parts)
    if size > MAX_MESSAGE_BYTES or len(parts) > MAX_FRAMES:
        raise WireError("oversized", f"a message of {size} bytes")
    if parts[1].nbytes > MAX_HEADER_BYTES:
        raise WireError("oversized", f"a header of {parts[1].nbytes} bytes")
    try:
        message = _decoder.decode(parts[1])
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise WireError("malformed", f"a header that makes no sense: {error}") from None
    if isinstance(message, Data):
        return message, _packet(message, parts[2:])
    if len(parts) > 2:
        raise WireError("malformed", "more frames than its kind has")
    return message, None


def _packet(data: Data, parts: list[memoryview]) -> Packet:
    if len(parts) != 2 + len(data.blocks):
        raise WireError("malformed", "as many blocks as it doesn't say")
    if sum(length for _, length in data.blobs) != parts[1].nbytes:
        raise WireError("malformed", "blobs of another length")
    blobs: list[tuple[int, bytes]] = []
    at = 0
    for number, length in data.blobs:
        blobs.append((number, bytes(parts[1][at : at + length])))
        at += length
    blocks = [
        Rows(table, first, count, content)
        for (table, first, count), content in zip(data.blocks, parts[2:], strict=True)
    ]
    return Packet(bytes(parts[0]), blocks, blobs)
