"""Templates: one structure's bytes, what of them may differ, and what they hold.

A template is a list of *pieces*. Each begins at an address that an earlier piece gives
(or at the object's own), has a fixed length, and is compared under a mask. An object
header is one piece a block; where an attribute's length varies from event to event, the
piece ends with that attribute's dataspace, and the next begins where its value ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a piece begins.

    Attributes
    ----------
    piece
        An earlier piece, or -1 for the object's own address.
    pointer
        Offset in that piece of the 8-byte address; None where the piece begins at the
        object's address, or behind that piece's varying value.
    """

    piece: int = -1
    pointer: int | None = None


@dataclass(frozen=True, slots=True)
class Checksum:
    """A lookup3 checksum of the bytes before `span`, the field itself taken as zero."""

    span: int
    field: int


@dataclass(frozen=True, slots=True)
class Varying:
    """The value of varying length that follows a piece.

    Attributes
    ----------
    itemsize
        Bytes of an element.
    prefix
        Bytes of the message before the value.
    size, dimension, maximum
        Offsets in the piece: the message's size (u16), the one dimension, its maximum
        (None where there is none).
    """

    itemsize: int
    prefix: int
    size: int
    dimension: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """The last piece of a header block of varying length: it has to end where it says.

    Attributes
    ----------
    first
        The block's first piece.
    skip
        Bytes of that piece before the block's messages.
    piece, offset, width
        Where the block's length is stored.
    tail
        Offset in the last piece of the size (u16) of a filling message, whose body
        follows the piece; None where there is none.
    """

    first: int
    skip: int
    piece: int
    offset: int
    width: int
    tail: int | None


@dataclass(frozen=True, slots=True)
class Piece:
    """One run of bytes.

    Attributes
    ----------
    origin
        Where it begins.
    length
        Bytes to fetch.
    extent
        Bytes that have to lie inside the file.
    reference, mask
        uint64 [words]: the bytes, and the bits of them that must be the same.
    echoes
        (offset, piece): 8 bytes that must be that piece's address.
    checksum, varying, end
        What else has to hold; see there.
    """

    origin: Origin
    length: int
    extent: int
    reference: Array
    mask: Array
    echoes: tuple[tuple[int, int], ...] = ()
    checksum: Checksum | None = None
    varying: Varying | None = None
    end: BlockEnd | None = None


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute's value: `shape` is None where its one dimension varies."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...] | None
    piece: int
    offset: int
    ends_at_nul: bool


@dataclass(frozen=True, slots=True)
class Link:
    """A child: the 8 bytes that say where it is."""

    name: str
    piece: int
    offset: int


@dataclass(frozen=True, slots=True)
class Values:
    """A dataset's values: at the address that `offset` holds, or there themselves."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    nbytes: int
    piece: int
    offset: int
    inline: bool


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """One structure of an object.

    Attributes
    ----------
    pieces
        In an order in which each one's address is known when its turn comes.
    attributes
        By name.
    links
        In the order in which h5py lists them.
    values
        A dataset's values; None for a group.
    """

    pieces: tuple[Piece, ...]
    attributes: tuple[Attribute, ...] = ()
    links: tuple[Link, ...] = ()
    values: Values | None = None

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of this name."""
        return next((a for a in self.attributes if a.name == name), None)


@dataclass(slots=True)
class Draft:
    """A piece in the making: `free` collects the (offset, length) that may differ."""

    origin: Origin
    data: bytes
    free: list[tuple[int, int]] = field(default_factory=list)
    extent: int = 0
    echoes: list[tuple[int, int]] = field(default_factory=list)
    checksum: Checksum | None = None
    varying: Varying | None = None
    end: BlockEnd | None = None

    def piece(self) -> Piece:
        """The finished piece."""
        length = len(self.data)
        padded = length + -length % 8
        reference = np.frombuffer(self.data.ljust(padded, b"\0"), np.uint64)
        mask = np.zeros(padded, np.uint8)
        mask[:length] = 0xFF
        for offset, size in self.free:
            mask[offset : offset + size] = 0
        return Piece(
            self.origin,
            length,
            max(self.extent, length),
            reference & mask.view(np.uint64),
            mask.view(np.uint64),
            tuple(self.echoes),
            self.checksum,
            self.varying,
            self.end,
        )
