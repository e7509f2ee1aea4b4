"""Append a run of scanned events to a recording, as the row-wise way would.

All Step events of the run go in at once. Creations and destructions between them are
applied first, each counted from its own row; the actors' columns are then cut where
their lives begin and end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.superdex.events import (
    CREATE,
    DESTROY,
    STEP,
    Event,
)
from isoscope.core.recording.superdex.scan.block import ACTORS, Block
from isoscope.core.recording.superdex.scan.columns import (
    Column,
    identity,
    put,
    step_columns,
)
from isoscope.core.recording.superdex.scan.filebytes import OutOfBoundsError
from isoscope.core.recording.superdex.values import handle_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.recording.model import Actor
    from isoscope.core.recording.superdex.events import Assembler
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array


class Run:
    """Events of a block to be appended, all of them scanned.

    Parameters
    ----------
    steps
        Bool [n]: which events of the block are Steps.
    numbers
        int64 [n]: their event numbers.
    low, high
        Which events of the block; `low` moves on as they are appended.
    """

    def __init__(
        self,
        block: Block,
        steps: BoolArray,
        numbers: Int64Array,
        low: int,
        high: int,
    ) -> None:
        self.block, self.steps, self.numbers = block, steps, numbers
        self.low, self.high = low, high
        self._length = high - low

    def __len__(self) -> int:
        """Events, appended or not."""
        return self._length

    def append(self, assembler: Assembler) -> Int64Array:
        """Append them.

        Returns
        -------
        int64 array
            Numbers of those that were not appended: none, unless somebody cut the file
            meanwhile.

        Raises
        ------
        TooMuchError
            If the file expands to more than one of its size may.
        """
        try:
            self._append_all(assembler)
        except (OutOfBoundsError, OSError):
            pass
        return self.numbers[self.low : self.high]

    def _append_all(self, assembler: Assembler) -> None:
        others = [
            (row, self.block.event(row, int(self.numbers[row])))
            for row in (
                self.low + np.flatnonzero(~self.steps[self.low : self.high])
            ).tolist()
        ]
        if self._all_known(assembler, others):
            self._append(assembler, self.high, others)
            return
        # A step holds an actor that nothing created: which life it belongs to depends
        # on the order of all events, so take them one stretch after the other.
        for row, event in others:
            self._append(assembler, row, [])
            assembler.add(event)
            self.low = row + 1
        self._append(assembler, self.high, [])

    def _wanted(self, high: int) -> BoolArray:
        wanted: BoolArray = np.zeros(len(self.steps), np.bool_)
        wanted[self.low : high] = self.steps[self.low : high]
        return wanted

    def _handles(self, wanted: BoolArray) -> Iterator[tuple[str, Int64Array]]:
        """Each actor's handle, as written, with its rows; those that turn up first."""
        found = []
        for place, parts in self.block.found.items():
            if len(place) != 2 or place[0] != ACTORS or not parts:
                continue
            rows = np.sort(np.concatenate([part.rows for part in parts]))
            rows = rows[wanted[rows]]
            if len(rows):
                found.append((int(rows[0]), place[1], rows))
        # Those of one event stay in the order in which the event lists them, which is
        # the order in which their places were found.
        for _, handle, rows in sorted(found, key=lambda item: item[0]):
            yield handle, rows

    def _all_known(self, assembler: Assembler, others: list[tuple[int, Event]]) -> bool:
        """Whether every actor of every step is alive there by the events alone."""
        if not others:
            return True
        changes: dict[int, list[tuple[int, bool]]] = {}
        for row, event in others:
            handle = handle_of(event.fields)
            if handle is not None and event.kind in (CREATE, DESTROY):
                changes.setdefault(handle, []).append((row, event.kind == CREATE))
        for name, rows in self._handles(self._wanted(self.high)):
            alive = int(name) in assembler.alive
            begin = self.low
            for row, after in [*changes.get(int(name), []), (self.high, alive)]:
                if not alive and np.any((rows >= begin) & (rows < row)):
                    return False
                begin, alive = row, after
        return True

    def _append(
        self, assembler: Assembler, high: int, others: list[tuple[int, Event]]
    ) -> None:
        """Append the steps before `high`, and these events where they stand."""
        wanted = self._wanted(high)
        # All is fetched before anything is appended: fetching may fail.
        scene = step_columns(self.block, (), wanted)
        actors = [
            (name, rows, step_columns(self.block, (ACTORS, name), wanted))
            for name, rows in self._handles(wanted)
        ]
        base = len(assembler.recording)
        native = base - 1 + np.cumsum(wanted)  # of a step; the last before, of others
        lives: dict[int, list[tuple[int, Actor | None]]] = {}
        for row, event in others:
            assembler.ahead = int(native[row]) + 1
            handle = handle_of(event.fields)
            before = None if handle is None else assembler.alive.get(handle)
            assembler.add(event)
            if handle is not None:
                after = assembler.alive.get(handle)
                lives.setdefault(handle, [(self.low, before)]).append((row, after))
        self.low = high
        steps = _Steps(assembler, self.numbers[wanted], native, base)
        if not len(steps.numbers):
            assembler.ahead = None
            return
        try:
            steps.add_scene(scene)
            for name, rows, columns in actors:
                handle = int(name)
                lived = lives.get(handle, [(0, assembler.alive.get(handle))])
                ends = [row for row, _ in lived[1:]] + [len(wanted)]
                for (begin, actor), end in zip(lived, ends, strict=True):
                    part = rows[(rows >= begin) & (rows < end)]
                    if len(part):
                        who = identity(self.block, (ACTORS, name), int(part[0]))
                        steps.add_actor(name, actor, who, _within(columns, part))
        finally:
            # Also where the file turns out to be too much: the columns have these rows.
            steps.finish(scene)
        assembler.ahead = None


class _Steps:
    """Steps that become rows of the recording, from `base` on."""

    def __init__(
        self, assembler: Assembler, numbers: Int64Array, native: Int64Array, base: int
    ) -> None:
        self.assembler, self.numbers = assembler, numbers
        self.native, self.base = native, base

    def _event(self, row: int) -> str:
        return f"/events/{self.numbers[row - self.base]}"

    def add_scene(self, scene: dict[str, list[Column]]) -> None:
        """Append the steps' own fields."""
        table = self.assembler.recording.scene
        for name, columns in scene.items():
            if name != "eventType":
                parts = self._numbered(columns)
                put(self.assembler, table, 0, name, parts, self._event)

    def add_actor(
        self,
        name: str,
        actor: Actor | None,
        who: dict[str, Array],
        fields: dict[str, list[Column]],
    ) -> None:
        """Append one actor's fields; one that nothing created is made up."""

        def where(row: int) -> str:
            return f"{self._event(row)}/actors/{name}"

        if actor is None:
            first = min(int(c.rows[0]) for columns in fields.values() for c in columns)
            row = int(self.native[first])
            self.assembler.ahead = row
            actor = self.assembler.actor_for(int(name), who, where(row))
        for field, columns in fields.items():
            parts = self._numbered(columns)
            first = actor.created_native
            put(self.assembler, actor.fields, first, field, parts, where)

    def finish(self, scene: dict[str, list[Column]]) -> None:
        """Append to the step table, last: its length is what readers go by."""
        count = len(self.numbers)
        self.assembler.count(STEP, count)
        times = []
        for name in ("timeTotal", "timeStep", "gravity"):
            values = np.empty((count, *scene[name][0].shape), np.float64)
            for column in scene[name]:
                values[self.native[column.rows] - self.base] = column.values
            times.append(values)
        self.assembler.recording.steps.append(self.numbers, *times)

    def _numbered(self, columns: list[Column]) -> list[Column]:
        """The columns with the recording's rows instead of the block's."""
        return [Column(self.native[c.rows], c.values, c.counts) for c in columns]


def _within(
    fields: dict[str, list[Column]], rows: Int64Array
) -> dict[str, list[Column]]:
    """The parts of the columns that lie in these rows of the block."""
    low, high = int(rows[0]), int(rows[-1]) + 1
    cut = {
        name: [c for c in (column.between(low, high) for column in columns) if c]
        for name, columns in fields.items()
    }
    return {name: columns for name, columns in cut.items() if columns}
