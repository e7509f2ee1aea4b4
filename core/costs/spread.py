"""How values are spread: the median and a high one, which outliers don't move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

HIGH_PERCENT = 95.0


@dataclass(frozen=True, slots=True)
class Spread:
    """Of `count` values; NaN where there is none.

    Attributes
    ----------
    median, p95
        Half and 95 of 100 values are no larger.
    mean, total
        These add up, as medians don't.
    largest
        The largest.
    """

    count: int
    median: float
    p95: float
    mean: float
    total: float
    largest: float

    @classmethod
    def of(cls, values: Array) -> Spread:
        """Of these [n]; NaN among them are absent and don't count."""
        there = values[~np.isnan(values)]
        if not len(there):
            return NO_SPREAD
        # By rank, so that it is a value that was there.
        median, high = np.percentile(
            there, [50.0, HIGH_PERCENT], method="inverted_cdf"
        ).tolist()
        total = float(there.sum())
        largest = float(there.max())
        count = len(there)
        return cls(count, median, high, total / count, total, largest)


NO_SPREAD = Spread(0, *(5 * [float("nan")]))
