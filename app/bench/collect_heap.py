"""Has the C library keep what is freed, so that every side meets the same memory.

Outputs of a collector are large. glibc gives the end of the heap back to the system if
enough of it is free, which depends on where some small block happens to lie; then one
side gives back what another has to fetch anew, page by page, and that takes longer than
all the rest. Kept memory is also the harder measure: it costs the plain side nothing.
"""

from __future__ import annotations

from isoscope.core.glibc import M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, set_heap

MAPPED_FROM_BYTES = 1 << 25  # the most that glibc takes; smaller blocks are in the heap
KEPT_BYTES = 1 << 30  # free at the heap's end


def keep_freed() -> bool:
    """Set the C library to it, for the rest of the process; whether it can be."""
    return set_heap({M_MMAP_THRESHOLD: MAPPED_FROM_BYTES, M_TRIM_THRESHOLD: KEPT_BYTES})
