"""Rows that came again after their chunk had been stored."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoscope.core.trajectory.joiner import Half
    from isoscope.core.trajectory.keys import TrajectoryKey

REMEMBERED = 4096


class Repeats:
    """Counts repeated rows, so that nothing has to be kept of them.

    A half that comes again alone is ignored and told; both of them are the chunk again,
    which is refused. Only the latest chunks are remembered.

    Parameters
    ----------
    source_batch_size
        Rows of a whole half.
    """

    def __init__(self, source_batch_size: int) -> None:
        self._whole = source_batch_size
        self._rows: OrderedDict[TrajectoryKey, dict[Half, int]] = OrderedDict()

    def note(self, key: TrajectoryKey, half: Half, rows: int) -> bool:
        """Count rows; whether both halves have come again whole."""
        counts = self._rows.setdefault(key, {"policy": 0, "env": 0})
        counts[half] += rows
        self._rows.move_to_end(key)
        if len(self._rows) > REMEMBERED:
            self._rows.popitem(last=False)
        return min(counts.values()) >= self._whole
