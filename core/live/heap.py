"""Has the C library give back what a process that watches a run has freed.

glibc keeps what was freed for the next request, in an arena for each thread, and the
more is freed the larger the blocks are that it keeps. A window that reads the same
amount over and over would grow for hours.
"""

from __future__ import annotations

import ctypes
import sys

# Parameters of glibc's mallopt(3).
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
LARGE_BYTES = 1 << 17  # blocks from this size on are mapped, and unmapped when freed
KEPT_BYTES = 1 << 18  # free at the heap's end
ARENAS = 2


def give_back_freed() -> bool:
    """Set the C library to it, for the rest of the process; whether it can be."""
    if sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return False
    settings = {
        M_ARENA_MAX: ARENAS,
        M_MMAP_THRESHOLD: LARGE_BYTES,
        M_TRIM_THRESHOLD: KEPT_BYTES,
    }
    # 1 is success.
    return all([mallopt(name, value) == 1 for name, value in settings.items()])
