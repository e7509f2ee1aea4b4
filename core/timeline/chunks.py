"""Action chunks as a run tells of them: which there are, how far each is, since when.

A chunk of one source (env rank and pipeline stage) comes in two halves, each perhaps in
several fragments of the batch's slots; it is joined when both are complete, and flushed
when its scope is. The events are appended as they come, also by the million: whatever
is kept here is a column, and what an event changes costs the same however many chunks
there are.

Axis order: chunks of a source in the order of their first event. Rows are native steps:
an event lies on the first one that was taken after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoscope.core.recording.tracks import Track
from isoscope.core.timeline.growing_reduce import GrowingReducer

if TYPE_CHECKING:
    from isoscope.core.recording.spill import Spill
    from isoscope.core.recording.tracks import Array, Int64Array

OPEN = 1 << 60  # where an item ends that has not ended
STEP_BITS, EPOCH_BITS, CHUNK_BITS = 30, 12, 20


class State(IntFlag):
    """What has happened to a chunk, or to one slot of it."""

    NONE = 0
    POLICY = 1
    ENV = 2
    JOINED = 4
    FLUSHED = 8
    FAILED = 16
    WARNED = 32


class ChunkLook(IntFlag):
    """How far a chunk is; of several under one pixel the highest is shown."""

    FLUSHED = 1
    JOINED = 2
    BOTH = 4  # parts of both halves, not complete
    POLICY = 8  # nothing of the environment's half
    ENV = 16  # nothing of the policy's half
    FAILED = 32


# The collector's words (isoscope.core.trajectory.events.Stage).
STATES: dict[str, State] = {
    "policy part": State.POLICY,
    "env part": State.ENV,
    "joined": State.JOINED,
    "accumulated": State.JOINED,
    "flushed": State.FLUSHED,
    "failed": State.FAILED,
    "repeated": State.WARNED,
    "warned": State.WARNED,
}


def _look(state: int) -> int:
    if state & State.FAILED:
        return ChunkLook.FAILED
    if state & State.FLUSHED:
        return ChunkLook.FLUSHED
    if state & State.JOINED:
        return ChunkLook.JOINED
    halves = state & (State.POLICY | State.ENV)
    if halves == State.POLICY:
        return ChunkLook.POLICY
    if halves == State.ENV:
        return ChunkLook.ENV
    return ChunkLook.BOTH if halves else 0


LOOKS = np.array([_look(state) for state in range(64)], np.uint8)


class ChunkKey(NamedTuple):
    """Which chunk: as `isoscope.core.trajectory.keys.TrajectoryKey` names it."""

    step: int
    epoch: int
    rank: int
    stage: int
    chunk: int

    def __str__(self) -> str:
        """As a position names it, without its ``chunk:``."""
        return ".".join(str(number) for number in self)


@dataclass(frozen=True, eq=False)
class ChunkNews:
    """Events of chunks, as columns [n] in the order in which they came.

    Attributes
    ----------
    key
        int64 [n, 5]: step, epoch, rank, stage, chunk.
    state
        uint8 [n] of `State`; 0 for a word that nobody knows.
    slots
        int32 [n, 2]: first and stop slot; -1 where all.
    time_s, wall_s
        float64 [n]: by the teller's clock, and since the epoch; NaN where unknown.
    row
        int64 [n]: the native step that it lies on; -1 where unknown.
    first
        Number of the first event in the recording's table.
    opening
        Rows, from the recording's first, that are resets before anything was stepped:
        they are no chunk's, which has them as the boundary before its first step.
    """

    key: Int64Array
    state: Array
    slots: Array
    time_s: Array
    wall_s: Array
    row: Int64Array
    first: int = 0
    opening: int = 0

    def __len__(self) -> int:
        """How many."""
        return len(self.state)

    def picked(self, at: Int64Array) -> ChunkNews:
        """Some of them."""
        return ChunkNews(
            self.key[at],
            self.state[at],
            self.slots[at],
            self.time_s[at],
            self.wall_s[at],
            self.row[at],
            self.first,
            self.opening,
        )


class SourceChunks:
    """The chunks of one source, and their events.

    Attributes
    ----------
    rank, stage
        Which source.
    batch
        Slots of its batch, as far as they were named.
    key
        int64 [n, 3]: step, epoch, chunk.
    begin, stop
        int64 [n]: rows where its item begins, ascending, and where it ends. Of a chunk
        that the environment told of first, it begins where the environment had told
        something before, or with the recording's first steps after the resets that it
        opens with: the steps between are those that it holds.
    looks
        Of the whole chunk, `ChunkLook`.
    """

    def __init__(self, rank: int, stage: int, spill: Spill | None = None) -> None:
        self.rank, self.stage, self.batch, self.spill = rank, stage, 0, spill

        def column(dtype: Any, *shape: int) -> Track:
            return Track(np.dtype(dtype), shape, spill=spill)

        self.key = column(np.int64, 3)
        self.begin, self.end, self.stop = (column(np.int64) for _ in range(3))
        self._acted = 0  # the row of the environment's last part
        self.state = column(np.uint8)
        self.looks = GrowingReducer(np.dtype(np.uint8), np.bitwise_or, 0, spill)
        self.of = column(np.int64)  # which chunk each event is of
        self.told = column(np.uint8)  # the event's own state
        self.slots = column(np.int32, 2)
        self.times = column(np.float64, 2)  # time_s, wall_s
        self.rows = column(np.int64)
        self.numbers = column(np.int64)  # in the recording's table
        self._codes = column(np.int64)  # ascending
        self._places = column(np.int64)  # the chunk of each code

    def __len__(self) -> int:
        """How many chunks."""
        return len(self.begin)

    def take(self, news: ChunkNews, numbers: Int64Array) -> None:
        """Take in events of this source; `numbers` are theirs in the table."""
        parts = news.key[:, [0, 1, 4]]
        rows = np.maximum(news.row, 0)
        self._acted = max(self._acted, news.opening)
        at = self._locate(_codes(parts), parts, self._begun(news.state, rows))
        self.batch = max(self.batch, int(news.slots[:, 1].max(initial=0)))
        self.of.append(at)
        self.told.append(news.state)
        self.slots.append(news.slots)
        self.times.append(np.stack([news.time_s, news.wall_s], axis=1))
        self.rows.append(rows)
        self.numbers.append(numbers)
        np.bitwise_or.at(self.state.values, at, news.state)
        ends = np.flatnonzero(news.state & (State.JOINED | State.FAILED))
        end = self.end.values
        # Backwards, so that the first event of each chunk is written last.
        fresh = ends[end[at[ends]] == OPEN][::-1]
        end[at[fresh]] = rows[fresh]
        changed = np.unique(at)
        self.looks.put(changed, LOOKS[self.state.values[changed]])
        self._fit(changed)

    def _begun(self, state: Array, rows: Int64Array) -> Int64Array:
        """Where a chunk began whose first event this is, for each of them."""
        acts = (state & State.ENV) > 0
        told = np.maximum.accumulate(np.append(self._acted, np.where(acts, rows, 0)))
        self._acted = int(told[-1])
        return np.where(acts, np.minimum(rows, told[:-1]), rows)

    def find(self, step: int, epoch: int, chunk: int) -> int | None:
        """The place of a chunk, or None."""
        code = _codes(np.array([[step, epoch, chunk]], np.int64))
        at = int(np.searchsorted(self._codes.values, code[0]))
        if at < len(self._codes) and self._codes.values[at] == code[0]:
            return int(self._places.values[at])
        return None

    def events_of(self, at: int) -> Int64Array:
        """int64 [n]: places of a chunk's events, in order."""
        return np.flatnonzero(self.of.values == at).astype(np.int64)

    def _locate(self, codes: Int64Array, parts: Array, rows: Int64Array) -> Int64Array:
        """The chunk of each event; makes those that are new."""
        have = len(self._codes)
        place = np.searchsorted(self._codes.values, codes)
        known = np.zeros(len(codes), np.bool_)
        inside = place < have
        known[inside] = self._codes.values[place[inside]] == codes[inside]
        new, first = np.unique(codes[~known], return_index=True)
        if len(new):
            self._make(new, np.flatnonzero(~known)[first], parts, rows)
            place = np.searchsorted(self._codes.values, codes)
        return np.asarray(self._places.values[place])

    def _make(
        self, codes: Int64Array, at: Int64Array, parts: Array, rows: Int64Array
    ) -> None:
        count, last = len(self), int(self.begin.values[-1]) if len(self) else 0
        order = np.argsort(at, kind="stable")  # as they came
        places = np.empty(len(codes), np.int64)
        places[order] = count + np.arange(len(codes))
        begin = np.maximum.accumulate(np.maximum(rows[at[order]], last))
        self.key.append(parts[at[order]])
        self.begin.append(begin)
        self.end.append(np.full(len(codes), OPEN, np.int64))
        self.stop.append(np.full(len(codes), OPEN, np.int64))
        self.state.append(np.zeros(len(codes), np.uint8))
        self.looks.append(np.zeros(len(codes), np.uint8))
        if not len(self._codes) or codes[0] > self._codes.values[-1]:
            self._codes.append(codes)
            self._places.append(places)
        else:  # a chunk that comes late: rare
            where = np.searchsorted(self._codes.values, codes)
            self._codes = Track.of(np.insert(self._codes.values, where, codes))
            self._places = Track.of(np.insert(self._places.values, where, places))
        if count:
            self._fit(np.array([count - 1], np.int64))
        self._fit(count + np.arange(len(codes), dtype=np.int64))

    def _fit(self, at: Int64Array) -> None:
        """An item lasts until it is joined, or the next one begins."""
        begin, count = self.begin.values, len(self)
        following = np.full(len(at), OPEN, np.int64)
        more = at + 1 < count
        following[more] = begin[at[more] + 1]
        stop = np.minimum(np.maximum(self.end.values[at], begin[at] + 1), following)
        self.stop.values[at] = np.maximum(stop, begin[at] + 1)


class Chunks:
    """All chunks of a run, by source.

    Parameters
    ----------
    spill
        Where its columns grow; by default in memory.

    Attributes
    ----------
    sources
        By (rank, stage).
    events
        How many events were taken in.
    strange
        Events whose key can't be that of a chunk.
    """

    def __init__(self, spill: Spill | None = None) -> None:
        self._spill = spill
        self.sources: dict[tuple[int, int], SourceChunks] = {}
        self.events = 0
        self.strange = 0

    def __len__(self) -> int:
        """How many chunks."""
        return sum(len(source) for source in self.sources.values())

    def take(self, news: ChunkNews) -> None:
        """Take in events."""
        numbers = news.first + np.arange(len(news), dtype=np.int64)
        self.events += len(news)
        limits = (STEP_BITS, EPOCH_BITS, 31, 31, CHUNK_BITS)
        top = np.array([1 << bits for bits in limits], np.int64)
        sound = ((news.key >= 0) & (news.key < top)).all(axis=1)
        self.strange += int(np.count_nonzero(~sound))
        source = (news.key[:, 2] << 31) | news.key[:, 3]
        for number in np.unique(source[sound]).tolist():
            at = np.flatnonzero(sound & (source == number)).astype(np.int64)
            rank, stage = number >> 31, number & ((1 << 31) - 1)
            known = self.sources.get((rank, stage))
            if known is None:
                known = SourceChunks(rank, stage, self._spill)
                self.sources[rank, stage] = known
            known.take(news.picked(at), numbers[at])

    @property
    def ordered(self) -> list[SourceChunks]:
        """The sources by rank, then stage."""
        return [self.sources[key] for key in sorted(self.sources)]

    def find(self, key: ChunkKey) -> tuple[SourceChunks, int] | None:
        """Where a chunk is, or None."""
        source = self.sources.get((key.rank, key.stage))
        at = None if source is None else source.find(key.step, key.epoch, key.chunk)
        return None if source is None or at is None else (source, at)

    def key_of(self, source: SourceChunks, at: int) -> ChunkKey:
        """The key of a chunk."""
        step, epoch, chunk = source.key.values[at].tolist()
        return ChunkKey(step, epoch, source.rank, source.stage, chunk)

    def slot_of(self, env: int) -> tuple[SourceChunks, int] | None:
        """The source and slot of an environment: sources share them out in order."""
        for source in self.ordered:
            if env < source.batch:
                return source, env
            env -= source.batch
        return None

    def first_env(self, source: SourceChunks) -> int:
        """The environment of a source's first slot."""
        before = [s for s in self.ordered if (s.rank, s.stage) < _id(source)]
        return sum(s.batch for s in before)


def _id(source: SourceChunks) -> tuple[int, int]:
    return source.rank, source.stage


def _codes(parts: Array) -> Int64Array:
    """One number for step, epoch and chunk [n, 3], ascending in their order."""
    step, epoch, chunk = parts[:, 0], parts[:, 1], parts[:, 2]
    code = (step << (EPOCH_BITS + CHUNK_BITS)) | (epoch << CHUNK_BITS) | chunk
    return np.asarray(code, np.int64)
