"""A cut recording as libhdf5 would like to see it, without changing a byte of it.

libhdf5 reads through this object: the HDF5 part of the file, with a superblock that
says the true length and that nobody is writing; what lies beyond the end is zeros, to
which no checksum fits. Opened in the mode for files that are being written, it would
instead try a damaged part again for ever.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

from isoscope.core.recording.labelled.forms import USER_BLOCK
from isoscope.core.recording.shown import Shown
from isoscope.core.recording.superdex.scan.checksum import lookup3

if TYPE_CHECKING:
    from pathlib import Path

_LENGTH = 48  # of a superblock of version 2 or 3


def _superblock(old: bytes, end: int) -> bytes:
    """The superblock [48 bytes] with no flags, no base, and this end.

    Source: HDF5 File Format Specification 3.0, section II.A, versions 2 and 3.
    """
    (root,) = struct.unpack_from("<Q", old, 36)
    undefined = (1 << 64) - 1
    head = old[:11] + b"\0" + struct.pack("<4Q", 0, undefined, end, root)
    return head + struct.pack("<I", lookup3(head))


class Sound(Shown):
    """The bytes of a recording from where HDF5 begins.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    OSError
        If it can't be opened.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        super().__init__(os.fstat(self._file.fileno()).st_size - USER_BLOCK)
        self._file.seek(USER_BLOCK)
        self._head = _superblock(self._file.read(_LENGTH), self._end)

    def _bytes(self, start: int, length: int) -> bytes:
        self._file.seek(USER_BLOCK + start)
        content = self._file.read(length)
        if start < _LENGTH:
            head = self._head[start : start + length]
            content = head + content[len(head) :]
        return content

    def close(self) -> None:
        """Let go of the file. May be called twice."""
        self._file.close()
        super().close()
