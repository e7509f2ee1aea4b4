"""Lanes of chunks: one a source, or one an environment; each catches up when seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.timeline.chunks import LOOKS, ChunkLook, State
from isoscope.core.timeline.growing_reduce import GrowingReducer
from isoscope.core.timeline.model import Lane, LaneKind
from isoscope.core.timeline.pieces import Items, Marks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.core.recording.tracks import Array
    from isoscope.core.timeline.chunks import Chunks, SourceChunks
    from isoscope.core.timeline.reduce import Reducer

WORDS: dict[ChunkLook, str] = {
    ChunkLook.POLICY: "policy part only",
    ChunkLook.ENV: "env part only",
    ChunkLook.BOTH: "parts of both halves",
    ChunkLook.JOINED: "joined",
    ChunkLook.FLUSHED: "flushed",
    ChunkLook.FAILED: "failed",
}


@dataclass(frozen=True, eq=False)
class ChunkItems(Items):
    """Chunks of one source; `look` holds `ChunkLook`."""

    reducer: Reducer | None = None

    @property
    def looks(self) -> Reducer:
        """Union of looks over ranges of items."""
        assert self.reducer is not None
        return self.reducer


class SlotStates:
    """What has happened to one slot of each chunk of a source."""

    def __init__(self, source: SourceChunks, slot: int) -> None:
        self.source, self.slot = source, slot
        self.looks, self._state = (
            GrowingReducer(np.dtype(np.uint8), np.bitwise_or, 0, source.spill)
            for _ in range(2)
        )
        self._taken = 0  # of the source's events

    def catch_up(self) -> GrowingReducer:
        """Take in the events that have come since; the looks of all chunks."""
        source = self.source
        more = np.zeros(len(source) - len(self.looks), np.uint8)
        self.looks.append(more)
        self._state.append(more)
        of = source.of.values[self._taken :]
        told = source.told.values[self._taken :]
        slots = source.slots.values[self._taken :]
        self._taken = len(source.of)
        mine = (slots[:, 0] < 0) | (slots[:, 0] <= self.slot) & (
            self.slot < slots[:, 1]
        )
        at, told = of[mine], told[mine]
        if len(at):
            state = self._state.values
            np.bitwise_or.at(state, at, told)
            changed = np.unique(at)
            self.looks.put(changed, LOOKS[state[changed]])
        return self.looks


class ChunkLanes:
    """Makes the lanes of a run's chunks; remembers what each lane has taken in."""

    def __init__(self, chunks: Chunks) -> None:
        self.chunks = chunks
        self._slots: dict[tuple[int, int, int], SlotStates] = {}

    def by_source(self) -> list[Lane]:
        """A lane for each source."""
        return [
            Lane(
                key=f"source:{source.rank}.{source.stage}",
                label=f"{source.rank}.{source.stage}",
                about=f"chunks of env rank {source.rank}, stage {source.stage}",
                kind=LaneKind.CHUNKS,
                make=partial(_content, source, None),
            )
            for source in self.chunks.ordered
        ]

    def by_environment(self, environments: Iterable[int]) -> list[Lane]:
        """A lane for each environment that a source has a slot for."""
        lanes, first = [], 0
        wanted = set(environments)
        for source in self.chunks.ordered:
            for slot in range(source.batch):
                env = first + slot
                if wanted and env not in wanted:
                    continue
                lanes.append(
                    Lane(
                        key=f"env:{env}",
                        label=f"env {env}",
                        about=f"chunks of environment {env}: slot {slot} of source "
                        f"{source.rank}.{source.stage}",
                        kind=LaneKind.CHUNKS,
                        env=env,
                        make=partial(_content, source, self._slot(source, slot)),
                    )
                )
            first += source.batch
        return lanes

    def _slot(self, source: SourceChunks, slot: int) -> SlotStates:
        key = (source.rank, source.stage, slot)
        found = self._slots.get(key)
        if found is None:
            found = self._slots[key] = SlotStates(source, slot)
        return found


def _content(source: SourceChunks, slot: SlotStates | None) -> tuple[Items, Marks]:
    looks = source.looks if slot is None else slot.catch_up()
    number: Array = source.key.values[:, 2]
    stop = source.stop.values
    return (
        ChunkItems(source.begin.values, stop, stop, looks.values, number, looks),
        Marks(),
    )


def words_of(state: int) -> str:
    """How far a chunk is, in words."""
    look = int(LOOKS[state & 63])
    said = WORDS[ChunkLook(look)] if look else "announced"
    return f"{said}, with a warning" if state & State.WARNED else said
