"""How the control step of a native row ended, as a labelled recording tells it. No Qt.

Taken in as the recording grows, so many rows at a time that nothing is held up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from isoscope.core.costs.columns import Columns

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.labelled import LabelledRecording

End = Literal["terminated", "truncated"]
_COLUMNS = {"env": "i4", "last_row": "i8", "terminated": "i4", "truncated": "i4"}
ROWS_AT_ONCE = 1 << 16
# Transitions are told right after their last row; those of a batch, all together.
_NEAR = 4096


class Ends:
    """The flags of the transitions of one recording."""

    def __init__(self) -> None:
        self._labelled: LabelledRecording | None = None
        self._columns = Columns("transitions", _COLUMNS)
        self._top = np.zeros(0, np.int64)

    def follow(self, labelled: LabelledRecording | None) -> bool:
        """Take in some of what came since; whether that was all of it.

        Raises
        ------
        ReadError
            If it can't be read.
        """
        if labelled is not self._labelled:
            self._labelled = labelled
            self._columns = Columns("transitions", _COLUMNS)
        if labelled is None:
            return True
        if self._columns.update(labelled, ROWS_AT_ONCE):
            self._top = np.maximum.accumulate(self._columns["last_row"])
        return len(self._columns) >= labelled.count("transitions")

    def at(self, env: int, row: int) -> tuple[End, ...]:
        """The flags that the control step which ended with this row has set."""
        if self._labelled is None or row < 0 or not len(self._columns):
            return ()
        columns = self._columns
        first = int(np.searchsorted(self._top, row, "left"))
        near = slice(first, first + _NEAR)
        same = (columns["last_row"][near] == row) & (columns["env"][near] == env)
        found = np.flatnonzero(same)
        if not len(found):
            return ()
        at = first + int(found[-1])
        names: tuple[End, ...] = ("terminated", "truncated")
        return tuple(name for name in names if columns[name][at] == 1)
