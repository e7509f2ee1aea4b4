"""Has the C library give back what a process that watches a run has freed.

glibc keeps what was freed for the next request, in an arena for each thread, and the
more is freed the larger the blocks are that it keeps. A window that reads the same
amount over and over would grow for hours: what one thread takes in, another lets go,
and each arena is left with holes. Of all threads in one arena they are filled again.
"""

from __future__ import annotations

from isoscope.core.glibc import (
    M_ARENA_MAX,
    M_MMAP_THRESHOLD,
    M_TRIM_THRESHOLD,
    set_heap,
    trim,
)

LARGE_BYTES = 1 << 17  # blocks from this size on are mapped, and unmapped when freed
KEPT_BYTES = 1 << 18  # free at the heap's end
ARENAS = 1


def give_back_freed() -> bool:
    """Set the C library to it, for the rest of the process; whether it can be."""
    return set_heap(
        {
            M_ARENA_MAX: ARENAS,
            M_MMAP_THRESHOLD: LARGE_BYTES,
            M_TRIM_THRESHOLD: KEPT_BYTES,
        }
    )


def give_back_holes() -> bool:
    """Give back, now, what is free between blocks in use; whether anything was.

    The settings only have the end of the heap given back, so a few lasting blocks
    that were made at the height of a burst would keep all of it.
    """
    return trim(KEPT_BYTES)
