"""A damaged file as libhdf5 would like to see it, without changing a byte of it.

libhdf5 reads through this object: the file's own bytes, but for a superblock that says
the true length and that nobody is writing, and for bytes that are thought on at the
end. Used only in the child process, since a read may crash it.

The superblock that is shown is always of version 0, which carries no checksum and may
point to object headers of any version. Source: HDF5 File Format Specification 3.0,
section II.A.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

from isoscope.core.recording.shown import Shown
from isoscope.core.recording.superdex.superblock import SIGNATURE

if TYPE_CHECKING:
    from pathlib import Path

_UNDEFINED = (1 << 64) - 1


def superblock(root: int, end: int) -> bytes:
    """A superblock of version 0 [96 bytes] for a file of this root and length."""
    head = SIGNATURE + bytes((0, 0, 0, 0, 0, 8, 8, 0))
    head += struct.pack("<HHI", 4, 16, 0)
    head += struct.pack("<4Q", 0, _UNDEFINED, end, _UNDEFINED)
    return head + struct.pack("<QQII16x", 0, root, 0, 0)


class Overlay(Shown):
    """The bytes of a file, with other ones at its beginning and after its end.

    Parameters
    ----------
    path
        The file.
    root
        Address of the root group's object header.
    added
        Bytes that follow the file's last one.
    """

    def __init__(self, path: str | Path, root: int, added: bytes = b"") -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        self._size = os.fstat(self._descriptor).st_size
        self._added = added
        super().__init__(self._size + len(added))
        self._head = superblock(root, self._end)

    def _bytes(self, start: int, length: int) -> bytes:
        stop = start + length
        content = b""
        if start < self._size:
            content = os.pread(self._descriptor, min(stop, self._size) - start, start)
        if stop > self._size:
            skip = max(start - self._size, 0)
            content += self._added[skip : stop - self._size]
        if start < len(self._head):
            head = self._head[start : start + length]
            content = head + content[len(head) :]
        return content
