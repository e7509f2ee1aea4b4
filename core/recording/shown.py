"""A file as libhdf5 is shown it: its own bytes, but for some, and zeros beyond its end.

libhdf5 reads through such an object. It takes a short read for an error of this
program's, and of zeros no structure of its own is made.
"""

from __future__ import annotations

import io
import os


class Shown(io.RawIOBase):
    """Something of a given length to read from; children say its bytes.

    Parameters
    ----------
    end
        Its length, from which `seek` counts backwards.
    """

    def __init__(self, end: int) -> None:
        super().__init__()
        self._end = end
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
        content = self._bytes(start, length)
        buffer[: len(content)] = content
        if len(content) < length:
            buffer[len(content) :] = bytes(length - len(content))
        self._place = start + length
        return length

    def _bytes(self, start: int, length: int) -> bytes:
        """At most `length` bytes from `start` on; fewer where there are no more."""
        raise NotImplementedError
