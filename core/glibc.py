"""Settings of the C library's heap, where it is glibc; elsewhere nothing is done.

Source: mallopt(3) and malloc_trim(3).
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Parameters of mallopt.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8


def set_heap(settings: Mapping[int, int]) -> bool:
    """Set these parameters for the rest of the process; whether all could be."""
    mallopt = _function("mallopt")
    # 1 is success.
    return mallopt is not None and all(
        [mallopt(name, value) == 1 for name, value in settings.items()]
    )


def trim(kept_bytes: int) -> bool:
    """Give back what is free, but for so much at the end; whether anything was."""
    malloc_trim = _function("malloc_trim")
    return malloc_trim is not None and malloc_trim(ctypes.c_size_t(kept_bytes)) == 1


def _function(name: str) -> Callable[..., int] | None:
    return _looked_up(name) if sys.platform == "linux" else None


@cache  # each look at the library leaves something behind
def _looked_up(name: str) -> Callable[..., int] | None:
    try:
        function: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):  # another C library
        return None
    return function
