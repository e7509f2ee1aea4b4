"""The times of linear solves, each solve by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.costs.naming import SOLVE_PARTS, solve_part_of
from isoscope.core.costs.spread import Spread
from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.recording.tracks import Array


class Solves:
    """One value an entry: there may be many solves in a control step."""

    def __init__(self) -> None:
        self._seconds: dict[str, Track] = {}
        self._places: dict[str, Track] = {}

    def add(
        self,
        kinds: Sequence[tuple[str, str, str]],
        kind: Array,
        seconds: Array,
        transition: Array,
        row: Array,
    ) -> None:
        """Take in those of a block of entries that are about solves."""
        for number, (path, _, _) in enumerate(kinds):
            part = solve_part_of(path)
            if part is None:
                continue
            own = kind == number
            if not own.any():
                continue
            if part not in self._seconds:
                self._seconds[part] = Track(np.dtype(np.float64), ())
                self._places[part] = Track(np.dtype(np.int64), (2,))
            self._seconds[part].append(seconds[own])
            self._places[part].append(np.stack([transition[own], row[own]], axis=1))

    def spreads(
        self, rows: tuple[int, int] | None, row_of: Array
    ) -> Mapping[str, Spread]:
        """By part, in the order in which they are done.

        Parameters
        ----------
        rows
            First and last native row; None for all.
        row_of
            [transitions]: the last native row of each.
        """
        found = {}
        for part in SOLVE_PARTS:
            if part not in self._seconds:
                continue
            seconds, places = self._seconds[part].values, self._places[part].values
            if rows is not None:
                at = places[:, 1].copy()
                led = (at < 0) & (places[:, 0] >= 0) & (places[:, 0] < len(row_of))
                at[led] = row_of[places[led, 0]]
                seconds = seconds[(at >= rows[0]) & (at <= rows[1])]
            if len(seconds):
                found[part] = Spread.of(seconds)
        return found
