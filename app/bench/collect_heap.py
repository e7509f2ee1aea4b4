"""Has the C library keep what is freed, so that every side meets the same memory.

Outputs of a collector are large. glibc gives the end of the heap back to the system if
enough of it is free, which depends on where some small block happens to lie; then one
side gives back what another has to fetch anew, page by page, and that takes longer than
all the rest. Kept memory is also the harder measure: it costs the plain side nothing.
"""

from __future__ import annotations

import ctypes
import sys

# Parameters of glibc's mallopt(3).
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
MAPPED_FROM_BYTES = 1 << 25  # the most that glibc takes; smaller blocks are in the heap
KEPT_BYTES = 1 << 30  # free at the heap's end


def keep_freed() -> bool:
    """Set the C library to it, for the rest of the process; whether it can be."""
    if sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return False
    settings = {M_MMAP_THRESHOLD: MAPPED_FROM_BYTES, M_TRIM_THRESHOLD: KEPT_BYTES}
    # 1 is success.
    return all([mallopt(name, value) == 1 for name, value in settings.items()])
