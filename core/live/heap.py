"""Has the C library give back what a process that watches a run has freed.

glibc keeps what was freed for the next request, in an arena for each thread, and the
more is freed the larger the blocks are that it keeps. A window that reads the same
amount over and over would grow for hours.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Parameters of glibc's mallopt(3).
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
LARGE_BYTES = 1 << 17  # blocks from this size on are mapped, and unmapped when freed
KEPT_BYTES = 1 << 18  # free at the heap's end
ARENAS = 2


def give_back_freed() -> bool:
    """Set the C library to it, for the rest of the process; whether it can be."""
    mallopt = _of_glibc("mallopt")
    if mallopt is None:
        return False
    settings = {
        M_ARENA_MAX: ARENAS,
        M_MMAP_THRESHOLD: LARGE_BYTES,
        M_TRIM_THRESHOLD: KEPT_BYTES,
    }
    # 1 is success.
    return all([mallopt(name, value) == 1 for name, value in settings.items()])


def give_back_holes() -> bool:
    """Give back, now, what is free between blocks in use; whether anything was.

    The settings only have the end of the heap given back, so a few lasting blocks
    that were made at the height of a burst would keep all of it.
    """
    malloc_trim = _of_glibc("malloc_trim")
    return malloc_trim is not None and malloc_trim(ctypes.c_size_t(KEPT_BYTES)) == 1


@cache  # each look at the library leaves something behind
def _of_glibc(name: str) -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    try:
        function: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):  # another C library
        return None
    return function
