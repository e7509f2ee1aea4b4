"""One environment's series out of a shared recording: its own rows, joined over waits.

In a scene that several environments step in turn, a field's values jump to and fro.
Here are those of one environment alone, decimated by the contract of
`isoscope.core.decimate`: over its own rows, so that its neighbours' turns are neither
gaps nor points. A line breaks where the environment's state did: at a reset, a rewind,
a restore that was missed.

A worked trace: env 0 owns rows 0, 1, 4, 5 and 8, and a reset lies before row 8::

    sequence    0   1   4   5   --   8
    joined      yes yes yes no       -
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from isoscope.core.decimate import Decimator, Polyline

if TYPE_CHECKING:
    from isoscope.core.recording.spill import Spill
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array

BREAK = -1  # in a sequence: nothing is here, and no line goes across


class Picked(Protocol):
    """A series of which single rows can be asked for."""

    def settled_for(self, row: int) -> int:
        """The first row of this one's environment that may still change."""
        ...

    def pick(self, rows: Int64Array) -> tuple[Array, BoolArray]:
        """These rows, ascending: values float64 [n], and which can be drawn [n]."""
        ...


@dataclass(frozen=True, eq=False)
class Turns:
    """The rows of one environment, with a break wherever its state broke off.

    Attributes
    ----------
    sequence
        int64 [n]: native steps, ascending, and `BREAK` between them.
    place
        int64 [n]: the same, a break having the number of the row after it.
    """

    sequence: Int64Array
    place: Int64Array

    @classmethod
    def of(cls, rows: Int64Array, broken: BoolArray) -> Turns:
        """From rows [n], and whether something broke off before each [n]."""
        before = np.flatnonzero(broken)
        before = before[before > 0]
        return cls(
            np.insert(rows, before, BREAK), np.insert(rows, before, rows[before])
        )

    def __len__(self) -> int:
        """Rows and breaks."""
        return len(self.sequence)

    def between(self, start: int, stop: int) -> tuple[int, int]:
        """Where the rows start .. stop lie in the sequence, half open."""
        low, high = np.searchsorted(self.place, [start, stop], "left")
        return int(low), int(high)


class _Sequence:
    """A series over a sequence, as the decimator reads it."""

    def __init__(self, values: Picked, turns: Turns) -> None:
        self._values, self._turns = values, turns

    def __len__(self) -> int:
        """Rows and breaks."""
        return len(self._turns)

    @property
    def settled(self) -> int:
        """Rows and breaks that never change any more."""
        sequence = self._turns.sequence
        if not len(sequence):
            return 0
        return self._turns.between(0, self._values.settled_for(int(sequence[0])))[1]

    def read(self, start: int, stop: int) -> tuple[Array, BoolArray]:
        """Places start .. stop of the sequence; a break can't be drawn."""
        rows = self._turns.sequence[start:stop]
        there = rows != BREAK
        values = np.full(len(rows), np.nan)
        drawable = np.zeros(len(rows), np.bool_)
        if there.any():
            values[there], drawable[there] = self._values.pick(rows[there])
        return values, drawable


class TurnDecimator:
    """Decimates one environment's values, asked for by native steps.

    Parameters
    ----------
    values
        The field's series over all rows.
    turns
        Whose rows to take.
    spill
        Where what was read last grows; by default in memory.
    """

    def __init__(
        self, values: Picked, turns: Turns, spill: Spill | None = None
    ) -> None:
        self.turns = turns
        # One environment's rows lie far apart: they cost as much as all rows' do.
        self._decimator = Decimator(_Sequence(values, turns), keep=True, spill=spill)

    def prepare(self, start: int, stop: int, bins: int, until_s: float) -> bool:
        """Make what `window` will need, as `Decimator.prepare` does."""
        return self._decimator.prepare(*self._around(start, stop), bins, until_s)

    def _around(self, start: int, stop: int) -> tuple[int, int]:
        """Where the rows lie in the sequence, and one more on either side.

        So lines go on to the edges of the view.
        """
        low, high = self.turns.between(start, stop)
        return low - 1, high + 1

    def window(self, start: int, stop: int, bins: int) -> Polyline:
        """The polyline of native steps start .. stop; its rows are native steps."""
        line = self._decimator.window(*self._around(start, stop), bins)
        return replace(line, rows=self.turns.sequence[line.rows])
