"""Where a recording's bytes end, by its superblock; only the plain form is known."""

from __future__ import annotations

import struct

SUPERBLOCK_BYTES = 96
SIGNATURE = b"\x89HDF\r\n\x1a\n"
UNDEFINED = 0xFFFFFFFFFFFFFFFF
# Version 0 of everything, 8-byte addresses and lengths.
_VERSIONS = b"\x00\x00\x00\x00\x00\x08\x08\x00"


def recorded_end(head: bytes, size: int) -> int | None:
    """The end of the file as its superblock says, or None for another form.

    Parameters
    ----------
    head
        The file's first `SUPERBLOCK_BYTES`.
    size
        Of the file now. One that is shorter than it says is not read here.

    Notes
    -----
    Superblock version 0 at byte 0, no user block, no driver block, and no flag that a
    writer has it open.
    """
    if len(head) < SUPERBLOCK_BYTES or not head.startswith(SIGNATURE + _VERSIONS):
        return None
    flags, base, _, end, driver = struct.unpack_from("<IQQQQ", head, 20)
    if flags or base or driver != UNDEFINED or not SUPERBLOCK_BYTES <= end <= size:
        return None
    return int(end)
