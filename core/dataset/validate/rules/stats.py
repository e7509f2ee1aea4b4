"""Statistics that a dataset keeps of itself are those of its values.

Smallest, largest, mean, standard deviation (of the population) and count, of every
episode and of all. Quantiles are not compared: what writes them estimates them. Whoever
normalises by statistics of other values trains on something else than they think.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.validate.rule import NotCheckableError, Quiet, Where
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.dataset.model import Episode, Feature, StoredStats
    from isoscope.core.dataset.validate.rule import Outcome, Severity, Subject
    from isoscope.core.recording.tracks import Array

# Parts of the largest value: writers sum up float32, and round what they write.
NEAR = {"min": 1e-6, "max": 1e-6, "mean": 1e-4, "std": 1e-4}
HUGE = 1e150


@dataclass(slots=True)
class _Moments:
    """Range and moments by component, put together from windows."""

    count: int = 0
    low: Array = field(default_factory=lambda: np.array(np.inf))
    high: Array = field(default_factory=lambda: np.array(-np.inf))
    mean: Array = field(default_factory=lambda: np.array(0.0))
    squares: Array = field(default_factory=lambda: np.array(0.0))

    def rows(self, flat: Array) -> None:
        """Take in rows [n, components], float64."""
        with np.errstate(all="ignore"):
            mean = flat.mean(axis=0)
            squares = ((flat - mean) ** 2).sum(axis=0)
            self.join(len(flat), flat.min(axis=0), flat.max(axis=0), mean, squares)

    def join(
        self, count: int, low: Array, high: Array, mean: Array, squares: Array
    ) -> None:
        """Take in another part (Chan, Golub, LeVeque 1983)."""
        total = self.count + count
        with np.errstate(all="ignore"):
            apart = mean - self.mean
            self.squares = (
                self.squares + squares + apart**2 * (self.count * count / total)
            )
            self.mean = self.mean + apart * (count / total)
            self.low = np.minimum(self.low, low)
            self.high = np.maximum(self.high, high)
        self.count = total

    @property
    def told(self) -> dict[str, Array]:
        """The statistics by name."""
        with np.errstate(all="ignore"):
            return {
                "min": self.low,
                "max": self.high,
                "mean": self.mean,
                "std": np.sqrt(self.squares / max(self.count, 1)),
                "count": np.array([float(self.count)]),
            }


class StatsRule(Quiet):
    """See the module's docstring."""

    ID = "stats"
    SEVERITY: Severity = "error"
    ABOUT = "statistics that the dataset keeps are those of its values, computed anew"

    def begin(self, subject: Subject) -> None:
        """Find them."""
        read = getattr(subject.episodes, "stored_stats", None)
        found: StoredStats | None = None if read is None else read()
        if found is None:
            raise NotCheckableError("the source keeps no statistics of these episodes")
        self._stored = found
        self._now: dict[str, _Moments] = {}
        self._whole: dict[str, _Moments] = {}
        self._names = {f.name for f in subject.episodes.features}
        self._partly: set[str] = set()

    def take(
        self, episode: Episode, feature: Feature, start: int, values: Array
    ) -> None:
        """Sum up."""
        if feature.role == "image" or values.dtype.kind not in "biuf":
            return
        if not len(values):
            return
        with np.errstate(invalid="ignore"):  # NaNs of another kind
            flat = values.reshape(len(values), -1).astype(np.float64)
        self._now.setdefault(feature.name, _Moments()).rows(flat)

    def end(self, episode: Episode, rows: Mapping[str, int]) -> None:
        """Compare an episode's, and add it to all."""
        stored = self._stored.episodes[episode.index]
        self._partly |= self._names - rows.keys()  # not read to their end
        for name, found in self._now.items():
            if name in stored and name in rows:
                self._compare(name, stored[name], found, episode)
            self._whole.setdefault(name, _Moments()).join(
                found.count, found.low, found.high, found.mean, found.squares
            )
        self._now = {}

    def _compare(
        self,
        name: str,
        stored: Mapping[str, Array],
        found: _Moments,
        episode: Episode | None,
    ) -> None:
        told = found.told
        with np.errstate(all="ignore"):
            scale = np.maximum(np.abs(found.low), np.abs(found.high))
        for stat, value in stored.items():
            expected = told[stat]
            if value.shape != expected.shape:
                self._fail(name, stat, episode, None, value.size, expected.size)
                continue
            with np.errstate(all="ignore"):
                near = NEAR.get(stat, 0.0) * scale + 1e-12
                apart = np.abs(value - expected) > (near if stat in NEAR else 0.5)
            apart &= value != expected  # infinite ones
            apart |= np.isnan(value) != np.isnan(expected)
            if stat in ("mean", "std"):
                # What is not finite has no mean, and squares overflow.
                apart &= np.isfinite(scale) & (scale < HUGE)
            for component in np.flatnonzero(apart).tolist():
                self._fail(
                    name,
                    stat,
                    episode,
                    component if stat in NEAR else None,
                    float(value[component]),
                    float(expected[component]),
                )

    def _fail(
        self,
        name: str,
        stat: str,
        episode: Episode | None,
        component: int | None,
        value: float,
        expected: float,
    ) -> None:
        self.outcome.fail(
            Where(
                episode=None if episode is None else episode.id,
                env=None if episode is None else episode.env,
                feature=name,
                component=component,
                value=f"{stat} {value:.9g}",
                expected=f"{expected:.9g}",
            )
        )

    def finish(self) -> Outcome:
        """Compare those of all, and say what that means."""
        for name, found in self._whole.items():
            if name in self._stored.whole and name not in self._partly:
                self._compare(name, self._stored.whole[name], found, None)
        if self.outcome.count:
            self.outcome.message = (
                f"{counted(self.outcome.count, 'figure')} not of these values: one or "
                "the other was changed later; an export computes them anew"
            )
        return self.outcome
