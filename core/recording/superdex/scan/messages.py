"""The header messages that are accepted, each parsed from its bytes.

Everything here is a whitelist: what is not recognised to the last byte raises
:class:`UnrecognisedError`, and the event it belongs to is read by h5py. Offsets count
from the message's body.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from isoscope.core.recording.superdex.scan.bounds import UNDEFINED

# Message types.
NIL, DATASPACE, LINK_INFO, DATATYPE, FILL = 0, 1, 2, 3, 5
LINK, LAYOUT, GROUP_INFO, ATTRIBUTE, CONTINUATION, MODIFIED = 6, 8, 10, 12, 16, 18

_FLOATS: dict[bytes, np.dtype[Any]] = {
    bytes.fromhex("11201f00 04000000 0000 2000 17 08 00 17 7f000000"): np.dtype("<f4"),
    bytes.fromhex("11203f00 08000000 0000 4000 34 0b 00 34 ff030000"): np.dtype("<f8"),
}
_LARGEST_DIMENSION = 1 << 32
_NAME_BYTES = frozenset(range(0x20, 0x7F))


class UnrecognisedError(Exception):
    """Bytes that are not of the form that the recorder writes."""


def require(condition: bool, what: str) -> None:
    """Raise UnrecognisedError unless it holds."""
    if not condition:
        raise UnrecognisedError(what)


@dataclass(frozen=True, slots=True)
class Datatype:
    """A datatype that NumPy holds as it is.

    Attributes
    ----------
    dtype
        Little-endian integer or real, or a fixed-length string.
    ends_at_nul
        Whether it is a string that its first NUL ends: h5py clears what is behind it.
    length
        Bytes of the encoded message.
    """

    dtype: np.dtype[Any]
    ends_at_nul: bool
    length: int


def datatype(body: bytes) -> Datatype:
    """Parse a datatype (message 0x0003) at the beginning of `body`."""
    require(len(body) >= 8, "datatype is cut")
    size = struct.unpack_from("<I", body, 4)[0]
    if body[0] == 0x10:
        require(body[1] in (0x00, 0x08) and body[2:4] == b"\0\0", "integer's bits")
        require(size in (1, 2, 4, 8), "integer's size")
        require(body[8:12] == struct.pack("<HH", 0, 8 * size), "integer's precision")
        return Datatype(np.dtype(f"<{'i' if body[1] else 'u'}{size}"), False, 12)
    if body[0] == 0x11:
        real = _FLOATS.get(body[:20])
        if real is None:
            raise UnrecognisedError("real of another form")
        return Datatype(real, False, 20)
    require(body[0] == 0x13, "datatype's class")
    # Padding: ended by NUL or filled with it; ASCII.
    require(body[1] in (0x00, 0x01) and body[2:4] == b"\0\0", "string's bits")
    require(0 < size <= 0xFFFF, "string's size")
    return Datatype(np.dtype((np.bytes_, size)), body[1] == 0, 8)


@dataclass(frozen=True, slots=True)
class Dataspace:
    """A scalar or simple dataspace.

    Attributes
    ----------
    shape
        Its dimensions.
    dims
        Offset of the first dimension.
    maximum
        Offset of the first maximum dimension, or None where there are none.
    length
        Bytes of the encoded message.
    """

    shape: tuple[int, ...]
    dims: int
    maximum: int | None
    length: int

    @property
    def count(self) -> int:
        """Elements."""
        return math.prod(self.shape)


def dataspace(body: bytes) -> Dataspace:
    """Parse a dataspace (message 0x0001) at the beginning of `body`."""
    require(len(body) >= 4, "dataspace is cut")
    version, rank, flags, kind = body[:4]
    require(rank <= 32 and flags in (0, 1), "dataspace's rank or flags")
    if version == 1:
        require(len(body) >= 8 and body[3:8] == bytes(5), "dataspace's reserved bytes")
        start = 8
    else:
        require(version == 2 and kind == (1 if rank else 0), "dataspace's version")
        start = 4
    length = start + 8 * rank * (1 + flags)
    require(len(body) >= length, "dataspace is cut")
    shape = struct.unpack_from(f"<{rank}Q", body, start)
    require(all(0 < n < _LARGEST_DIMENSION for n in shape), "dimension")
    maximum = None
    if flags:
        maximum = start + 8 * rank
        for n, most in zip(
            shape, struct.unpack_from(f"<{rank}Q", body, maximum), strict=True
        ):
            require(most >= n, "maximum dimension")
    return Dataspace(shape, start, maximum, length)


@dataclass(frozen=True, slots=True)
class AttributeMessage:
    """An attribute: its name, and where its value begins.

    `value` and `space_at` are offsets; `exact` says that the message holds the value,
    padded to 8, and nothing more.
    """

    name: str
    datatype: Datatype
    space: Dataspace
    space_at: int
    value: int
    exact: bool

    @property
    def nbytes(self) -> int:
        """Bytes of the value."""
        return self.datatype.dtype.itemsize * self.space.count


def attribute(body: bytes) -> AttributeMessage:
    """Parse an attribute (message 0x000C), versions 1 to 3."""
    require(len(body) >= 9, "attribute is cut")
    version, flags, name_size, type_size, space_size = struct.unpack_from(
        "<BBHHH", body
    )
    require(version in (1, 2, 3) and flags == 0, "attribute's version or flags")
    name_at = 8
    if version == 3:
        require(body[8] == 0, "attribute's character set")
        name_at = 9

    def padded(size: int) -> int:
        return size + -size % 8 if version == 1 else size

    type_at = name_at + padded(name_size)
    space_at = type_at + padded(type_size)
    value = space_at + padded(space_size)
    require(value <= len(body), "attribute is cut")
    encoded = body[name_at : name_at + name_size]
    require(encoded.endswith(b"\0"), "attribute's name has no end")
    kind = datatype(body[type_at : type_at + type_size])
    space = dataspace(body[space_at : space_at + space_size])
    require(kind.length == type_size, "attribute's datatype size")
    require(space.length == space_size, "attribute's dataspace size")
    message = AttributeMessage(
        plain_name(encoded[:-1]), kind, space, space_at, value, False
    )
    end = value + message.nbytes
    require(end <= len(body), "attribute's value is cut")
    exact = version == 1 and end + -end % 8 == len(body)
    return AttributeMessage(message.name, kind, space, space_at, value, exact)


def plain_name(encoded: bytes) -> str:
    """A name of printable ASCII; others are left to h5py."""
    require(bool(encoded) and _NAME_BYTES.issuperset(encoded), "name")
    return encoded.decode("ascii")


@dataclass(frozen=True, slots=True)
class LinkMessage:
    """A hard link.

    Attributes
    ----------
    name
        Printable ASCII without a slash.
    order
        Its creation order, or None where that is not tracked.
    address
        Offset of the 8 bytes that say where the object is.
    length
        Bytes of the encoded message.
    """

    name: str
    order: int | None
    address: int
    length: int


def link(body: bytes) -> LinkMessage:
    """Parse a link (message 0x0006) at the beginning of `body`."""
    require(len(body) >= 4 and body[0] == 1, "link's version")
    flags = body[1]
    require(flags & 0xE0 == 0, "link's flags")
    at = 2
    if flags & 0x08:
        require(body[at] == 0, "link is not a hard one")
        at += 1
    order = None
    if flags & 0x04:
        require(len(body) >= at + 8, "link is cut")
        order = struct.unpack_from("<q", body, at)[0]
        at += 8
    if flags & 0x10:
        require(len(body) > at and body[at] == 0, "link's character set")
        at += 1
    width = 1 << (flags & 3)
    require(len(body) >= at + width, "link is cut")
    size = int.from_bytes(body[at : at + width], "little")
    at += width
    require(len(body) >= at + size + 8, "link is cut")
    name = plain_name(body[at : at + size])
    require("/" not in name and name != ".", "link's name")
    return LinkMessage(name, order, at + size, at + size + 8)


@dataclass(frozen=True, slots=True)
class LinkInfo:
    """How a group keeps its links; offsets of the addresses.

    `heap` and `names` are None where the links are in the header itself.
    """

    tracked: bool
    heap: int | None
    names: int | None
    orders: int | None


def link_info(body: bytes) -> LinkInfo:
    """Parse a group's link info (message 0x0002)."""
    require(len(body) >= 18 and body[0] == 0, "link info's version")
    flags = body[1]
    require(flags in (0, 1, 3), "link info's flags")
    at = 10 if flags & 1 else 2
    count = 3 if flags & 2 else 2
    require(len(body) >= at + 8 * count, "link info is cut")
    if flags & 1:
        most = struct.unpack_from("<q", body, 2)[0]
        require(0 <= most < 1 << 32, "links' creation order")
    addresses = struct.unpack_from(f"<{count}Q", body, at)
    if all(address == UNDEFINED for address in addresses):
        return LinkInfo(bool(flags & 1), None, None, None)
    require(UNDEFINED not in addresses, "link info's addresses")
    orders = at + 16 if flags & 2 else None
    return LinkInfo(bool(flags & 1), at, at + 8, orders)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a dataset's values are: offset of their address, or of themselves."""

    size: int
    address: int | None
    inline: int | None


def layout(body: bytes) -> Layout:
    """Parse a data layout (message 0x0008): version 3, contiguous or compact."""
    require(len(body) >= 4 and body[0] == 3, "layout's version")
    if body[1] == 1:
        require(len(body) >= 18, "layout is cut")
        return Layout(struct.unpack_from("<Q", body, 10)[0], 2, None)
    require(body[1] == 0, "layout's class")
    size = struct.unpack_from("<H", body, 2)[0]
    require(len(body) >= 4 + size, "layout is cut")
    return Layout(size, None, 4)


def check_plain(kind: int, body: bytes) -> None:
    """Check a message that is only compared from event to event, never used."""
    if kind == GROUP_INFO:
        require(len(body) >= 2 and body[0] == 0 and body[1] <= 3, "group info")
        require(len(body) >= 2 + 4 * (body[1] & 1) + 2 * (body[1] & 2), "group info")
    elif kind == MODIFIED:
        require(len(body) == 8 and body[:4] == b"\1\0\0\0", "modification time")
    elif kind == FILL:
        require(len(body) >= 4 and body[0] == 2, "fill value's version")
        require(body[1] in (1, 2, 3) and body[2] in (0, 1, 2), "fill value's times")
        require(body[3] in (0, 1), "fill value")
        if body[3]:
            require(len(body) >= 8, "fill value is cut")
            size = struct.unpack_from("<I", body, 4)[0]
            require(len(body) >= 8 + size, "fill value is cut")
    else:
        raise UnrecognisedError(f"message of type {kind}")
