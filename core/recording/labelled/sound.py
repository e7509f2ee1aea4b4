"""A cut recording as libhdf5 would like to see it, without changing a byte of it.

libhdf5 reads through this object: the HDF5 part of the file, with a superblock that
says the true length and that nobody is writing; what lies beyond the end is zeros, to
which no checksum fits. Opened in the mode for files that are being written, it would
instead try a damaged part again for ever.
"""

from __future__ import annotations

import io
import os
import struct
from typing import TYPE_CHECKING

from isoscope.core.recording.labelled.forms import USER_BLOCK
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


class Sound(io.RawIOBase):
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
        super().__init__()
        self._file = path.open("rb", buffering=0)
        self._end = os.fstat(self._file.fileno()).st_size - USER_BLOCK
        self._file.seek(USER_BLOCK)
        self._head = _superblock(self._file.read(_LENGTH), self._end)
        self._place = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move the reading place."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._end}
        self._place = base[whence] + offset
        return self._place

    def tell(self) -> int:
        """Say the reading place."""
        return self._place

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # h5py gives a memoryview
        """Fill the buffer from the reading place; what is missing is zeros."""
        start, length = self._place, len(buffer)
        self._file.seek(USER_BLOCK + start)
        content = self._file.read(length)
        if start < _LENGTH:
            head = self._head[start : start + length]
            content = head + content[len(head) :]
        buffer[: len(content)] = content
        # A short read is an error of this program's to libhdf5.
        if len(content) < length:
            buffer[len(content) :] = bytes(length - len(content))
        self._place = start + length
        return length

    def close(self) -> None:
        """Let go of the file. May be called twice."""
        self._file.close()
        super().close()
