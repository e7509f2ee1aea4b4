"""Named distributions with units; each draw is a function of one uniform number.

One uniform number a draw (the inverse of the cumulative distribution) makes streams
easy to reason about: n draws move a stream by n numbers, whatever the distributions
are.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, TypeAlias

import msgspec
import numpy as np

from isoscope.core.errors import UsageError

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
_SMALLEST = 2.0**-54  # half of the smallest step of Generator.random
_STANDARD = NormalDist()


class Distribution(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=str.lower
):
    """Base of the distributions.

    Attributes
    ----------
    unit
        Of what is drawn: ``"kg"``, ``"m"``, ``"1"`` for factors.
    """

    unit: str

    def quantile(self, u: Numbers) -> Numbers:
        """Values [k] of uniform numbers [k] in [0, 1)."""
        raise NotImplementedError

    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value that can be drawn."""
        raise NotImplementedError

    def piled_up(self) -> tuple[float, float]:
        """Probability of being at the lower, at the upper bound because of clipping."""
        return 0.0, 0.0

    def _require(self, right: bool, problem: str) -> None:
        if not right:
            kind = type(self).__name__
            raise UsageError(f"setting up a distribution: {kind} {problem}")

    def _require_finite(self, *numbers: float) -> None:
        self._require(
            all(map(math.isfinite, numbers)), "has a bound that is not finite"
        )


class Constant(Distribution, frozen=True, kw_only=True):
    """Always the same value."""

    value: float

    def __post_init__(self) -> None:
        self._require_finite(self.value)

    def quantile(self, u: Numbers) -> Numbers:
        """See `Distribution.quantile`."""
        return np.full_like(u, self.value)

    def bounds(self) -> tuple[float, float]:
        """See `Distribution.bounds`."""
        return self.value, self.value


class Uniform(Distribution, frozen=True, kw_only=True):
    """Equally dense in [low, high]."""

    low: float
    high: float

    def __post_init__(self) -> None:
        self._require_finite(self.low, self.high, self.high - self.low)
        self._require(self.low <= self.high, f"from {self.low} to {self.high}")

    def quantile(self, u: Numbers) -> Numbers:
        """See `Distribution.quantile`."""
        return np.clip(self.low + (self.high - self.low) * u, self.low, self.high)

    def bounds(self) -> tuple[float, float]:
        """See `Distribution.bounds`."""
        return self.low, self.high


class LogUniform(Distribution, frozen=True, kw_only=True):
    """Its logarithm is uniform: for scales, which are positive."""

    low: float
    high: float

    def __post_init__(self) -> None:
        self._require_finite(self.low, self.high)
        self._require(
            0.0 < self.low <= self.high, f"from {self.low} to {self.high}; both > 0"
        )

    def quantile(self, u: Numbers) -> Numbers:
        """See `Distribution.quantile`."""
        low, high = math.log(self.low), math.log(self.high)
        return np.clip(np.exp(low + (high - low) * u), self.low, self.high)

    def bounds(self) -> tuple[float, float]:
        """See `Distribution.bounds`."""
        return self.low, self.high


class Normal(Distribution, frozen=True, kw_only=True):
    """Gauss's; clipped, if `clip` is given, which piles the tails up at its ends."""

    mean: float
    std: float
    clip: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        self._require_finite(self.mean, self.std, *(self.clip or ()))
        self._require(self.std > 0.0, f"has the standard deviation {self.std}")
        if self.clip is not None:
            self._require(self.clip[0] <= self.clip[1], f"clipped to {self.clip}")

    def quantile(self, u: Numbers) -> Numbers:
        """See `Distribution.quantile`."""
        values = self.mean + self.std * standard_normal_quantile(u)
        return values if self.clip is None else np.clip(values, *self.clip)

    def bounds(self) -> tuple[float, float]:
        """See `Distribution.bounds`."""
        return (-math.inf, math.inf) if self.clip is None else self.clip

    def piled_up(self) -> tuple[float, float]:
        """See `Distribution.piled_up`."""
        if self.clip is None:
            return 0.0, 0.0
        low, high = ((c - self.mean) / self.std for c in self.clip)
        return _STANDARD.cdf(low), _STANDARD.cdf(-high)


class TruncatedNormal(Distribution, frozen=True, kw_only=True):
    """Gauss's, given that the value is in [low, high]: nothing piles up."""

    mean: float
    std: float
    low: float
    high: float

    def __post_init__(self) -> None:
        self._require_finite(self.mean, self.std, self.low, self.high)
        self._require(self.std > 0.0, f"has the standard deviation {self.std}")
        self._require(self.low < self.high, f"between {self.low} and {self.high}")
        below, above = self._tails()
        self._require(
            1.0 - below - above > 1e-9,
            f"of mean {self.mean} has next to nothing between {self.low} and "
            f"{self.high}",
        )

    def _tails(self) -> tuple[float, float]:
        low, high = ((c - self.mean) / self.std for c in (self.low, self.high))
        return _STANDARD.cdf(low), _STANDARD.cdf(-high)

    def quantile(self, u: Numbers) -> Numbers:
        """See `Distribution.quantile`."""
        below, above = self._tails()
        inside = below + (1.0 - below - above) * u
        values = self.mean + self.std * standard_normal_quantile(inside)
        return np.clip(values, self.low, self.high)

    def bounds(self) -> tuple[float, float]:
        """See `Distribution.bounds`."""
        return self.low, self.high


class Choice(Distribution, frozen=True, kw_only=True):
    """One of some values, with weights if they are not equally likely."""

    values: tuple[float, ...]
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        self._require(len(self.values) > 0, "has no values")
        self._require_finite(*self.values, *(self.weights or ()))
        if self.weights is not None:
            self._require(
                len(self.weights) == len(self.values)
                and min(self.weights) >= 0.0
                and sum(self.weights) > 0.0,
                "needs one weight a value, none negative and not all zero",
            )

    def quantile(self, u: Numbers) -> Numbers:
        """See `Distribution.quantile`."""
        weights = np.array(self.weights or (1.0,) * len(self.values))
        edges = np.cumsum(weights / weights.sum())
        last = int(np.flatnonzero(weights)[-1])
        found = np.minimum(np.searchsorted(edges, u, side="right"), last)
        return np.array(self.values, np.float64)[found]

    def bounds(self) -> tuple[float, float]:
        """See `Distribution.bounds`."""
        return min(self.values), max(self.values)


AnyDistribution: TypeAlias = (
    Constant | Uniform | LogUniform | Normal | TruncatedNormal | Choice
)


def standard_normal_quantile(u: Numbers) -> Numbers:
    """Inverse of the standard normal's cumulative distribution."""
    inside = np.clip(u, _SMALLEST, 1.0 - 2.0**-53)
    flat = [_STANDARD.inv_cdf(p) for p in inside.ravel().tolist()]
    return np.array(flat, np.float64).reshape(u.shape)


def draw_all(
    distributions: tuple[AnyDistribution, ...], generator: np.random.Generator, k: int
) -> Numbers:
    """Draw k rows, one column a distribution: [k, d]; the same as k single draws."""
    u = generator.random((k, len(distributions)))
    for column, distribution in enumerate(distributions):
        u[:, column] = distribution.quantile(u[:, column].copy())
    return u
