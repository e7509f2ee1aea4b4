"""Statistics of episodes and of a whole dataset, as LeRobot keeps them.

Of an episode's rows, by component: smallest, largest, mean, standard deviation (of the
population), count, and quantiles, interpolated linearly. Those of the dataset are put
together from the episodes': quantiles as the mean of theirs, weighted by count, which
is what lerobot 0.4 does. Episodes of more rows than `MOST_ROWS` have their quantiles
from rows at equal distances; lerobot's own are estimates from a histogram.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
STATS = ("min", "max", "mean", "std", "count", *QUANTILES)
MOST_ROWS = 1 << 14


@dataclass(slots=True)
class Running:
    """Statistics of one episode, fed with windows of rows [n, width], float64."""

    rows: int
    width: int
    low: Array = field(init=False)
    high: Array = field(init=False)
    total: Array = field(init=False)
    squares: Array = field(init=False)
    count: int = 0
    kept: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.low = np.full(self.width, np.inf)
        self.high = np.full(self.width, -np.inf)
        self.total = np.zeros(self.width)
        self.squares = np.zeros(self.width)

    def add(self, values: Array) -> None:
        """Take in the next rows."""
        n = len(values)
        with np.errstate(all="ignore"):
            np.minimum(self.low, values.min(axis=0), out=self.low)
            np.maximum(self.high, values.max(axis=0), out=self.high)
            mean = values.mean(axis=0)
            centred = values - mean
            # Chan's way to join means and squares of two parts.
            before = self.total / max(self.count, 1)
            self.squares += np.einsum("ij,ij->j", centred, centred)
            if self.count:
                shift = mean - before
                self.squares += shift * shift * (self.count * n / (self.count + n))
            self.total += mean * n
        every = -(-self.rows // MOST_ROWS)
        # A copy: a view would keep all of the window.
        self.kept.append(values[(-self.count) % every :: every].copy())
        self.count += n

    def done(self) -> dict[str, Array]:
        """float64 [width] by statistic."""
        values = np.sort(np.concatenate(self.kept), axis=0)
        with np.errstate(all="ignore"):
            out = {
                "min": self.low,
                "max": self.high,
                "mean": self.total / self.count,
                "std": np.sqrt(self.squares / self.count),
            }
            last = len(values) - 1
            for name, share in QUANTILES.items():
                at = share * last
                below = int(at)
                above = min(below + 1, last)
                part = at - below
                out[name] = values[below] * (1 - part) + values[above] * part
        return out


@dataclass(slots=True)
class Together:
    """Statistics of a dataset, from its episodes'."""

    width: int
    count: int = 0
    low: Array = field(init=False)
    high: Array = field(init=False)
    sums: dict[str, Array] = field(init=False)
    second: Array = field(init=False)

    def __post_init__(self) -> None:
        self.low = np.full(self.width, np.inf)
        self.high = np.full(self.width, -np.inf)
        self.sums = {name: np.zeros(self.width) for name in ("mean", *QUANTILES)}
        self.second = np.zeros(self.width)

    def add(self, stats: dict[str, Array], count: int) -> None:
        """Take in an episode's."""
        with np.errstate(all="ignore"):
            np.minimum(self.low, stats["min"], out=self.low)
            np.maximum(self.high, stats["max"], out=self.high)
            if self.count:
                shift = stats["mean"] - self.sums["mean"] / self.count
                weight = self.count * count / (self.count + count)
                self.second += shift * shift * weight
            self.second += stats["std"] ** 2 * count
            for name, value in self.sums.items():
                value += stats[name] * count
        self.count += count

    def done(self) -> dict[str, Array]:
        """float64 [width] by statistic."""
        with np.errstate(all="ignore"):
            out = {"min": self.low, "max": self.high}
            out["mean"] = self.sums["mean"] / self.count
            out["std"] = np.sqrt(self.second / self.count)
            for name in QUANTILES:
                out[name] = self.sums[name] / self.count
        return out
