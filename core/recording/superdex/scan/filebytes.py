"""The file's bytes: a window that is read at once, and rows fetched from it by address.

Reads, not a memory map: another process may cut the file at any time (a new recording
under the same name does), and a map would end this process then.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.tracks import Array

_SLACK = 16  # bytes kept behind the window, so that a row may be padded to 8


class OutOfBoundsError(Exception):
    """Bytes beyond the file's end were asked for."""


class FileBytes:
    """Random access to a file, with one window of it in memory.

    Parameters
    ----------
    path
        The file.
    end
        Its recorded end; nothing beyond is read.
    """

    def __init__(self, path: Path, end: int) -> None:
        self.end = end
        self._file = path.open("rb", buffering=0)
        self._low = self._high = 0
        self._memory = np.zeros(_SLACK, np.uint8)

    def fileno(self) -> int:
        """The descriptor, to compare files by."""
        return self._file.fileno()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def load(self, low: int, high: int) -> None:
        """Make ``low .. high`` (cut to the file) the window."""
        low -= low % 8  # keeps values aligned that are aligned in the file
        high = min(high, self.end)
        self._low = self._high = low
        if len(self._memory) < high - low + _SLACK:
            self._memory = np.zeros(0, np.uint8)  # not both at a time
            self._memory = np.zeros(high - low + _SLACK, np.uint8)
        self._read_into(low, self._memory[: high - low])
        self._high = high

    def _read_into(self, address: int, out: Array) -> None:
        self._file.seek(address)
        view = out.data
        done = 0
        while done < len(view):
            got = self._file.readinto(view[done:])
            if not got:
                raise OutOfBoundsError("the file is shorter than it says")
            done += got

    def read(self, address: int, length: int) -> bytes:
        """These bytes; raises OutOfBoundsError."""
        if length < 0 or address < 0 or address + length > self.end:
            raise OutOfBoundsError
        if self._low <= address and address + length <= self._high:
            at = address - self._low
            return self._memory[at : at + length].tobytes()
        out = np.empty(length, np.uint8)
        self._read_into(address, out)
        return out.tobytes()

    def rows(self, addresses: Array, length: int) -> Array:
        """Fetch ``length`` bytes at every address.

        Parameters
        ----------
        addresses
            int64 [n], each checked by the caller to lie wholly inside the file.

        Returns
        -------
        uint8 [n, length rounded up to 8]; what is beyond `length` means nothing.
        """
        padded = length + -length % 8
        count = len(addresses)
        if count == 0 or length == 0:
            return np.zeros((count, padded), np.uint8)
        # One item a byte of the window, each `padded` bytes long and overlapping the
        # next: indexing them copies one run of memory a row.
        span = self._high - self._low - length
        items = np.ndarray(
            (max(span + 1, 0),),
            np.dtype((np.void, padded)),
            self._memory.data,
            strides=(1,),
        )
        offsets = addresses - self._low
        inside = (offsets >= 0) & (offsets <= span)
        if inside.all():
            together: Array = items[offsets].view(np.uint8).reshape(count, padded)
            return together
        out: Array = np.zeros((count, padded), np.uint8)
        out.view(items.dtype)[inside, 0] = items[offsets[inside]]
        for row in np.flatnonzero(~inside):
            self._read_into(int(addresses[row]), out[row, :length])
        return out

    def runs(self, starts: Array, counts: Array, dtype: np.dtype[Any]) -> Array:
        """Fetch runs of values, ``counts[i]`` of them at ``starts[i]``, end to end.

        Parameters
        ----------
        starts, counts
            int64 [n], each run checked by the caller to lie inside the file.

        Returns
        -------
        Array [sum of counts] of this dtype.
        """
        size = dtype.itemsize
        total = int(counts.sum())
        if total == 0:
            return np.empty(0, dtype)
        inside = self._low <= starts.min() and (starts + counts * size).max() <= (
            self._high
        )
        if inside and not (starts % size).any() and self._low % size == 0:
            usable = (len(self._memory) // size) * size
            values = self._memory[:usable].view(dtype)
            before = np.cumsum(counts) - counts
            index = np.repeat((starts - self._low) // size - before, counts)
            index += np.arange(total)
            found: Array = values[index]
            return found
        out = np.empty(total * size, np.uint8)
        at = 0
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
            self._one(start, out[at : at + count * size])
            at += count * size
        return out.view(dtype)

    def _one(self, address: int, out: Array) -> None:
        if self._low <= address and address + len(out) <= self._high:
            at = address - self._low
            out[:] = self._memory[at : at + len(out)]
        else:
            self._read_into(address, out)


def same_file(a: int, b: int) -> bool:
    """Whether two descriptors are of one file."""
    one, two = os.fstat(a), os.fstat(b)
    return (one.st_dev, one.st_ino, one.st_size) == (
        two.st_dev,
        two.st_ino,
        two.st_size,
    )
