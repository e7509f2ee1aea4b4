"""Columns that never change, and values far away from all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.validate.rule import Quiet, Where
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from isoscope.core.dataset.model import Episode, Feature
    from isoscope.core.dataset.validate.rule import Outcome, Severity
    from isoscope.core.recording.tracks import Array, Int64Array

LOOKED_AT = ("observation", "action", "state", "reward")
MIN_ROWS = 16
# So many standard deviations of all the others are no tail of any usual distribution.
FAR = 100.0


class ConstantRule(Quiet):
    """A standard deviation of 0 divides by zero in whoever normalises."""

    ID = "constant-column"
    SEVERITY: Severity = "warning"
    ABOUT = "every observed and commanded component changes"

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, tuple[Feature, Array]] = {}
        self._moved: dict[str, Array] = {}
        self._rows: dict[str, int] = {}

    def take(
        self, episode: Episode, feature: Feature, start: int, values: Array
    ) -> None:
        """Compare with the first row that there was."""
        if feature.role not in ("observation", "action", "state") or not len(values):
            return
        if values.dtype.kind not in "fiu":
            return
        flat = values.reshape(len(values), -1)
        _, first = self._first.setdefault(feature.name, (feature, flat[0].copy()))
        moved = (flat != first).any(axis=0)
        before = self._moved.get(feature.name)
        self._moved[feature.name] = moved if before is None else before | moved
        self._rows[feature.name] = self._rows.get(feature.name, 0) + len(flat)

    def finish(self) -> Outcome:
        """Name the components."""
        for name, (feature, first) in self._first.items():
            if self._rows[name] < MIN_ROWS:
                continue
            for component in np.flatnonzero(~self._moved[name]).tolist():
                told = feature.names[component] if feature.names else None
                self.outcome.fail(
                    Where(
                        feature=name,
                        component=component,
                        value=float(first[component]),
                        expected=f"{told} to change" if told else "a change",
                    )
                )
        if self.outcome.count:
            self.outcome.message = (
                f"{counted(self.outcome.count, 'component')} of the same value in "
                "every row: a standard deviation of 0"
            )
        return self.outcome


@dataclass(slots=True)
class _Sums:
    """Welford's count, mean and sum of squares by component; and the farthest value."""

    count: Int64Array
    mean: Array
    squares: Array
    far: Array
    places: list[Where | None]


class ExtremeRule(Quiet):
    """A spike stands out from all the rest, which is measured without it."""

    ID = "extreme-values"
    SEVERITY: Severity = "warning"
    ABOUT = f"no value is {FAR:g} standard deviations of all the others away from them"

    def __init__(self) -> None:
        super().__init__()
        self._sums: dict[str, _Sums] = {}

    def take(
        self, episode: Episode, feature: Feature, start: int, values: Array
    ) -> None:
        """Add to the sums (Chan, Golub, LeVeque 1983); keep the largest by itself."""
        if feature.role not in LOOKED_AT or values.dtype.kind != "f" or not len(values):
            return
        flat = values.reshape(len(values), -1).astype(np.float64)
        size = flat.shape[1]
        sums = self._sums.get(feature.name)
        if sums is None:
            zeros = np.zeros(size)
            sums = _Sums(
                np.zeros(size, np.int64),
                zeros,
                zeros.copy(),
                np.full(size, np.nan),
                [None] * size,
            )
            self._sums[feature.name] = sums
        for component in range(size):
            self._column(sums, component, flat[:, component], episode, feature, start)

    def _column(
        self,
        sums: _Sums,
        component: int,
        column: Array,
        episode: Episode,
        feature: Feature,
        start: int,
    ) -> None:
        there = np.isfinite(column)
        if not there.any():
            return
        known = column[there]
        center = float(np.median(known))
        at = int(np.nanargmax(np.where(there, np.abs(column - center), -1.0)))
        value = float(column[at])
        held = sums.far[component]
        mean = sums.mean[component] if sums.count[component] else center
        rest = np.delete(column, at)
        rest = rest[np.isfinite(rest)]
        if np.isnan(held) or abs(value - mean) > abs(held - mean):
            if not np.isnan(held):
                rest = np.append(rest, held)
            sums.far[component] = value
            sums.places[component] = Where(
                episode=episode.id,
                env=episode.env,
                step=start + at,
                feature=feature.name,
                component=component,
                value=value,
            )
        else:
            rest = np.append(rest, value)
        self._add(sums, component, rest)

    @staticmethod
    def _add(sums: _Sums, component: int, values: Array) -> None:
        if not len(values):
            return
        n, m = int(sums.count[component]), len(values)
        mean = float(values.mean())
        delta = mean - sums.mean[component]
        with np.errstate(over="ignore", invalid="ignore"):
            squares = float(((values - mean) ** 2).sum()) + delta**2 * n * m / (n + m)
        sums.squares[component] += squares
        sums.mean[component] += delta * m / (n + m)
        sums.count[component] = n + m

    def finish(self) -> Outcome:
        """Say what is far away."""
        for sums in self._sums.values():
            with np.errstate(invalid="ignore", over="ignore"):
                deviation = np.sqrt(sums.squares / np.maximum(sums.count, 1))
            for component, place in enumerate(sums.places):
                if place is None or sums.count[component] < MIN_ROWS:
                    continue
                away = abs(sums.far[component] - sums.mean[component])
                scale = max(float(deviation[component]), 1e-9)
                if deviation[component] > 0 and away > FAR * scale:
                    self.outcome.fail(place)
        if self.outcome.count:
            self.outcome.message = (
                f"{counted(self.outcome.count, 'component')} with a value far away "
                "from all others"
            )
        return self.outcome
