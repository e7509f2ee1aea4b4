"""Columns that grow in files instead of in memory, so that a live window stays small.

What is mapped counts as the process's memory only while it is in use: beyond the cap
its pages are given back, and come back from the file by themselves when they are read.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.tracks import Array

SMALLEST = 1 << 15  # bytes; smaller columns stay in memory
CAN_GIVE_BACK = sys.platform == "linux"  # elsewhere the advice means something else


class Spill:
    """A place for columns; for any threads.

    Parameters
    ----------
    folder
        Where the files lie. They have no names, and go when nobody uses them.
    memory_bytes
        What may stay in memory of them; 0 gives everything back at each `trim`.
    """

    def __init__(self, folder: str | Path, memory_bytes: int) -> None:
        self.folder = folder
        self.memory_bytes = memory_bytes
        self._maps: dict[int, tuple[weakref.ref[Array], mmap.mmap]] = {}

    @property
    def mapped_bytes(self) -> int:
        """Bytes of all columns that are in use here."""
        # A copy: columns come and go in other threads meanwhile.
        maps = list(self._maps.values())
        return sum(len(mapped) for ref, mapped in maps if ref() is not None)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An array of zeros: in a file if it is large, and if there is room for it."""
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if size < SMALLEST:
            return np.zeros(shape, dtype)
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                if hasattr(os, "posix_fallocate"):
                    # A full disk is met here, and not when a page is written back.
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
                mapped = mmap.mmap(file.fileno(), size)
        except (OSError, ValueError):
            return np.zeros(shape, dtype)
        array: Array = np.frombuffer(mapped, dtype).reshape(shape)
        base = array.base
        key = id(mapped)
        kept = base if isinstance(base, np.ndarray) else array
        self._maps[key] = (
            weakref.ref(kept, lambda _: self._maps.pop(key, None)),
            mapped,
        )
        return array

    def trim(self) -> None:
        """Give pages back, if more than the cap is mapped."""
        if not CAN_GIVE_BACK or self.mapped_bytes <= self.memory_bytes:
            return
        for _, mapped in list(self._maps.values()):
            mapped.madvise(mmap.MADV_DONTNEED)
