"""The tables that costs are read from, taken in as they grow.

Of each table the columns that are needed, block by block: a recording that somebody
else reads meanwhile is never held up for long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.costs.naming import path_of
from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.labelled.labelled import LabelledRecording
    from isoscope.core.recording.tracks import Array

BLOCK_ROWS = 1 << 16
_NATIVE: dict[str, str] = {
    "env": "i4",
    "control_step": "i4",
    "process": "i4",
    "wall_ns": "i8",
    "solver_status": "i4",
    "solver_iterations": "i4",
    "solver_residual": "f8",
}
_TRANSITIONS: dict[str, str] = {"env": "i4", "last_row": "i8", "wall_ns": "i8"}
_PROFILE_TEXTS = ("name", "parent", "unit")


class Columns:
    """Some columns of one table, as far as they were taken in."""

    def __init__(self, table: str, dtypes: dict[str, str]) -> None:
        self.table = table
        self._tracks = {name: Track(np.dtype(d), ()) for name, d in dtypes.items()}

    def __len__(self) -> int:
        """Rows taken in."""
        return len(next(iter(self._tracks.values())))

    def __getitem__(self, name: str) -> Array:
        """A column, [n]."""
        return self._tracks[name].values

    def update(self, labelled: LabelledRecording, most: int | None = None) -> bool:
        """Take in what came since, so many rows at most; whether there was anything."""
        done, total = len(self), labelled.count(self.table)
        if most is not None:
            total = min(total, done + most)
        for start in range(done, total, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, total)
            for name, track in self._tracks.items():
                track.append(labelled.column(self.table, name, start, stop))
        return total > done


class Entries:
    """The profiler's entries, given on in blocks.

    Attributes
    ----------
    kinds
        By its number, an entry's path, its parent's path, and its unit as written.
    """

    def __init__(self) -> None:
        self.kinds: list[tuple[str, str, str]] = []
        self.taken = 0
        self._texts: dict[int, str] = {-1: ""}
        self._numbers: dict[tuple[int, ...], int] = {}

    def update(
        self,
        labelled: LabelledRecording,
        take: Callable[[Array, Array, Array, Array, Array], None],
    ) -> bool:
        """Give on what came since; whether there was anything.

        Parameters
        ----------
        take
            Called with columns [n]: kind (into `kinds`), value as written, environment,
            number of the transition, native row; the last three -1 where absent.
        """
        done, total = self.taken, labelled.count("profile")
        for start in range(done, total, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, total)
            value, env, transition, row = (
                labelled.column("profile", name, start, stop)
                for name in ("value", "env", "transition", "row")
            )
            take(self._kinds(labelled, start, stop), value, env, transition, row)
            self.taken = stop
        return total > done

    def _kinds(self, labelled: LabelledRecording, start: int, stop: int) -> Array:
        """The kind of each entry of a block, [n]."""
        numbers = np.stack(
            [labelled.column("profile", n, start, stop) for n in _PROFILE_TEXTS], axis=1
        )
        found, first, which = np.unique(
            numbers, axis=0, return_index=True, return_inverse=True
        )
        known = []
        for key, at in zip(map(tuple, found.tolist()), first.tolist(), strict=True):
            if key not in self._numbers:
                self._numbers[key] = len(self.kinds)
                self._learn(labelled, key, start + at)
                name, parent, unit = (self._texts[number] for number in key)
                self.kinds.append((*path_of(name, parent), unit))
            known.append(self._numbers[key])
        return np.array(known, np.int64)[which.reshape(-1)]

    def _learn(
        self, labelled: LabelledRecording, key: tuple[int, ...], row: int
    ) -> None:
        """Read the texts that this row's numbers stand for, where they are new."""
        if all(number in self._texts for number in key):
            return
        columns = labelled.columns("profile", row, row + 1)
        for name, number in zip(_PROFILE_TEXTS, key, strict=True):
            self._texts[number] = str(columns[name][0])


class CostColumns:
    """All of them."""

    def __init__(self) -> None:
        self.entries = Entries()
        self.native = Columns("native", _NATIVE)
        self.transitions = Columns("transitions", _TRANSITIONS)
