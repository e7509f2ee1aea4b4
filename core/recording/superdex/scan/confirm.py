"""Compare scanned events with what h5py reads: the library has the last word."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.superdex.h5walk import NotPlainError, read_event

if TYPE_CHECKING:
    import h5py

    from isoscope.core.recording.superdex.events import Event
    from isoscope.core.recording.superdex.scan.block import Block
    from isoscope.core.recording.superdex.scan.template import Template
    from isoscope.core.recording.tracks import Array, Int64Array

MAX_EVENTS = 16  # compared in one block, at most
EVENTS_PER_DRAW = 2048  # one of so many is compared at random


class Confirmer:
    """Has some events of every block read by h5py as well.

    Those are one for each template that was not compared yet, and some at random.

    Parameters
    ----------
    events
        The group of events.
    seed
        Which events are drawn; the same file is read in the same way every time.
    """

    def __init__(self, events: h5py.Group, seed: int) -> None:
        self._events = events
        self._random = random.Random(seed)
        self._confirmed: set[Template] = set()
        self._since = EVENTS_PER_DRAW  # events since the last one drawn

    def agrees(self, block: Block, numbers: Int64Array, also: list[int]) -> bool:
        """Whether h5py reads the same in all events that are compared.

        Parameters
        ----------
        numbers
            int64 [n]: the event numbers of the block.
        also
            Rows to compare besides.
        """
        scanned = np.flatnonzero(~block.slow).tolist()
        if not scanned:
            return True
        rows = {row for row in also if not block.slow[row]}
        self._since += len(numbers)
        if self._since > EVENTS_PER_DRAW:
            self._since = 0
            rows.add(self._random.choice(scanned))
        fresh = []
        for parts in block.found.values():
            for found in parts:
                if found.template in self._confirmed:
                    continue
                own = found.rows[~block.slow[found.rows]].tolist()
                if own and rows.isdisjoint(own) and len(rows) < MAX_EVENTS:
                    rows.add(own[len(own) // 2])
                if not rows.isdisjoint(own):
                    fresh.append(found.template)
        if not all(self._same(block, row, int(numbers[row])) for row in sorted(rows)):
            return False
        self._confirmed.update(fresh)
        return True

    def _same(self, block: Block, row: int, number: int) -> bool:
        told: list[str] = []

        def tell(message: str, where: str) -> None:
            told.append(message)

        try:
            expected = read_event(
                self._events, number, tell, lost=tell, plain_only=True
            )
        except NotPlainError:
            return False
        if told or expected is None:
            return False
        return same_event(block.event(row, number), expected)


def same_event(one: Event, other: Event) -> bool:
    """Whether two readings of an event agree bit for bit, in order too."""
    return (
        _same(one.fields, other.fields)
        and list(one.actors) == list(other.actors)
        and all(_same(one.actors[name], other.actors[name]) for name in one.actors)
    )


def _same(one: dict[str, Array], other: dict[str, Array]) -> bool:
    return list(one) == list(other) and all(
        value.dtype == other[name].dtype
        and value.shape == other[name].shape
        and value.tobytes() == other[name].tobytes()
        for name, value in one.items()
    )
