"""The first bytes of an HDF5 file: how long it says it is, and whether it was closed.

Source: HDF5 File Format Specification 3.0, section II.A (superblock versions 0 to 3).
Only read here, with no library, so that a refused file can be told why.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

SIGNATURE = b"\x89HDF\r\n\x1a\n"
# Where a superblock may begin, within the first bytes that a reader looks at.
PLACES = (0, 512, 1024, 2048)
WRITING, SWMR = 1, 4  # consistency flags


@dataclass(frozen=True, slots=True)
class Superblock:
    """What the superblock says.

    Attributes
    ----------
    version
        0 to 3.
    flags
        Consistency flags (version 3 alone has them; else 0).
    end
        Bytes that the file has according to itself; 2**64 - 1 where it doesn't say.
    root
        Address of the root group's object header.
    """

    version: int
    flags: int
    end: int
    root: int

    @property
    def marked_as_written(self) -> bool:
        """Whether a writer opened it and has not closed it."""
        return bool(self.flags & WRITING)


def has_signature(head: bytes) -> bool:
    """Whether HDF5 begins in these first bytes of a file."""
    return any(head.startswith(SIGNATURE, place) for place in PLACES)


def parse(head: bytes) -> Superblock | None:
    """Read the superblock at the file's first byte; None for an unusual one."""
    if len(head) < 96 or not head.startswith(SIGNATURE):
        return None
    version = head[8]
    if version in (0, 1) and head[13:15] == b"\x08\x08":
        at = 24 if version == 0 else 28
        base, _, end, _, _, root = struct.unpack_from("<6Q", head, at)
        flags = 0
    elif version in (2, 3) and head[9:11] == b"\x08\x08":
        base, _, end, root = struct.unpack_from("<4Q", head, 12)
        flags = head[11] if version == 3 else 0
    else:
        return None
    return Superblock(version, flags, end, root) if base == 0 else None
