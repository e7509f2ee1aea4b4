"""How exactly the numbers of a recording are written: precision and grid.

A recording holds what its engine computed, in float32 or float64. A tool in between may
have rounded it, to half precision or to a number of decimals; what is compared has to
allow for that, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

MAX_DECIMALS = 6
# Fewer different values than this say nothing about a grid: 0 and 1 lie on every one.
MIN_VALUES = 8


@dataclass(frozen=True, slots=True)
class Precision:
    """How exactly one field is written.

    Attributes
    ----------
    eps
        Relative spacing of its numbers: of its dtype, or of half precision where all
        of its values fit into that.
    grid
        Absolute spacing, where all of its values lie on a decimal grid, else 0.
    """

    eps: float
    grid: float = 0.0

    @property
    def rounded(self) -> bool:
        """Whether it is coarser than an engine writes it."""
        return self.grid > 0 or self.eps > float(np.finfo(np.float32).eps)


def precision_of(values: Array) -> Precision:
    """Judge a sample of a field, of any shape; NaN and inf are passed over."""
    eps = float(np.finfo(values.dtype).eps)
    sample = np.unique(values[np.isfinite(values)])
    sample = sample[sample != 0]
    if len(sample) < MIN_VALUES:
        return Precision(eps)
    half = np.finfo(np.float16)
    small = np.abs(sample) < float(half.max)
    if eps < float(half.eps) and small.all():
        if np.array_equal(sample, sample.astype(np.float16).astype(sample.dtype)):
            return Precision(float(half.eps))
    exact = sample.astype(np.float64)
    largest = float(np.abs(exact).max())
    for decimals in range(MAX_DECIMALS + 1):
        scale = 10.0**decimals
        if largest * eps * scale > 0.05:
            break  # the dtype itself is about as coarse as this grid
        off = np.abs(exact * scale - np.rint(exact * scale))
        if (off <= np.abs(exact) * scale * eps + 1e-9).all():
            return Precision(eps, 1.0 / scale)
    return Precision(eps)
