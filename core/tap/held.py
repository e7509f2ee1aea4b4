"""Holds back the rows of a frame until it is known whether their values are right."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

MOST_ROWS = 1 << 17


class Held:
    """The rows of one frame, in order: what comes after a row that waits, waits too.

    Raises
    ------
    ValueError
        From `add`, where more wait than any run lets wait.
    """

    def __init__(self) -> None:
        # By layout, -1 where the rows don't wait themselves.
        self._waiting: deque[tuple[int, Array]] = deque()
        self._count = 0

    def add(self, rows: Array, layout: int = -1) -> None:
        """Hold rows, structured [n], until `checked` is told of their layout."""
        self._count += len(rows)
        if self._count > MOST_ROWS:
            raise ValueError("values that nobody checks")
        self._waiting.append((layout, rows))

    def checked(self, layout: int, row: int, holds: bool) -> None:
        """Let the rows of a layout go, up to this one, or drop them."""
        kept: deque[tuple[int, Array]] = deque()
        for of, rows in self._waiting:
            if of != layout:
                kept.append((of, rows))
                continue
            stop = int(np.searchsorted(rows["row"], row, "right"))
            if holds and stop:
                kept.append((-1, rows[:stop]))
            if stop < len(rows):
                kept.append((of, rows[stop:]))
        self._waiting = kept
        self._count = sum(len(rows) for _, rows in kept)

    def take(self) -> list[Array]:
        """Take out what needn't wait any more."""
        out = []
        while self._waiting and self._waiting[0][0] < 0:
            rows = self._waiting.popleft()[1]
            self._count -= len(rows)
            out.append(rows)
        return out
