"""Small arrays whose memory numpy gives back.

Of freed blocks of up to 1 KiB numpy keeps seven of each size. Where news of a run come
in another number each time, that fills with all sizes for as long as the run goes on,
up to 3.5 MiB. Source: ``npy_alloc_cache`` in numpy's ``_core/src/multiarray/alloc.c``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

KEPT_BYTES = 1024


def roomy(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray[Any, Any]:
    """An array [*shape], not filled in, in a block that numpy does not keep."""
    kind, count = np.dtype(dtype), math.prod(shape)
    least = KEPT_BYTES // max(kind.itemsize, 1) + 1
    return np.empty(max(count, least), kind)[:count].reshape(shape)
