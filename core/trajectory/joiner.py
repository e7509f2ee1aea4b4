"""Putting the halves of chunks together, in whatever order and pieces they come.

Section 2.1 of the trajectory contract. What waits is kept by key, so that a part costs
the same however many others are waiting.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from isoscope.core.trajectory.env import EnvPart, TrajectoryPart
from isoscope.core.trajectory.errors import (
    TrajectoryError,
    TrajectoryKeyError,
    TrajectoryTypeError,
    TrajectoryValueError,
    at,
)
from isoscope.core.trajectory.keys import TrajectorySource
from isoscope.core.trajectory.policy import PolicyPart, described

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.trajectory.keys import TrajectoryKey

Half = Literal["policy", "env"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedChunk:
    """Both halves of one chunk, with all its rows.

    Attributes
    ----------
    key
        Which chunk.
    source
        Its producer, (env_rank, stage_id).
    policy, env
        The halves.
    """

    key: TrajectoryKey
    source: tuple[int, int]
    policy: PolicyPart
    env: EnvPart


@dataclass(slots=True)
class Halves:
    """What has come of one chunk; `since_s` says when, by the joiner's clock."""

    policy: PolicyPart | None = None
    env: EnvPart | None = None
    since_s: dict[Half, float] = field(default_factory=dict)


@dataclass(slots=True)
class Bucket:
    """Fragments of one half of one chunk that don't make it up yet, or can't."""

    parts: list[TrajectoryPart]
    since_s: float
    size: int = 0


class ChunkJoiner:
    """Joins policy parts and environment parts into chunks.

    A joined chunk stays until it is acknowledged, so that it can be tried again:
    resending either half joins it once more.

    Parameters
    ----------
    source_batch_size
        How many environments one source has; a part with all of them is complete.
    clock
        Seconds, monotonic.

    Attributes
    ----------
    halves
        What waits for its other half or its acknowledgement, by key.
    buckets
        Fragments that wait for the others, by half and key.
    """

    def __init__(
        self, source_batch_size: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.source_batch_size = source_batch_size
        self.halves: dict[TrajectoryKey, Halves] = {}
        self.buckets: dict[tuple[Half, TrajectoryKey], Bucket] = {}
        self._clock = clock

    def push(
        self, part: TrajectoryPart, joined: list[JoinedChunk] | None = None
    ) -> list[JoinedChunk]:
        """Take a part; give the chunks that it completes, often none, at times several.

        A later copy of a half takes the place of an earlier one.

        Parameters
        ----------
        part
            Rows of one chunk, or of several.
        joined
            Where to put the chunks; with a list of one's own, those that were complete
            before an error are known.

        Raises
        ------
        TrajectoryValueError
            If it is no part; if fragments overlap, leave a hole or are too many, or
            can't be merged; if a boundary is missing or not where it belongs. What had
            come before stays.
        """
        joined = [] if joined is None else joined
        self.add(half_of(part), part, joined)
        return joined

    def add(self, half: Half, part: TrajectoryPart, joined: list[JoinedChunk]) -> None:
        """The same for a part of which it is known that it is such a half."""
        sources = part.sources
        if len(sources) == 1 and self._complete(part):
            joined += self._store(half, sources[0].key, part)
            return
        try:
            fragments = part.split()
        except TrajectoryError as problem:
            raise at(f"joining {described(sources)}", problem) from problem
        for fragment in fragments:
            whole = self._gather(half, fragment)
            if whole is not None:
                joined += self._store(half, whole.sources[0].key, whole)

    def joined(self, key: TrajectoryKey) -> list[JoinedChunk]:
        """The chunk if both of its halves are here, otherwise none.

        Raises
        ------
        TrajectoryValueError
            If its boundary is missing or not where it belongs.
        """
        there = self.halves.get(key)
        return [] if there is None else self._joined(key, there)

    def acknowledge(self, key: TrajectoryKey) -> None:
        """Drop both halves of a chunk.

        Raises
        ------
        TrajectoryKeyError
            If nothing of it is here.
        """
        if self.halves.pop(key, None) is None:
            raise TrajectoryKeyError(
                f"acknowledging {key}: nothing of it is waiting; acknowledge a joined "
                "chunk, once"
            )

    def discard(self, key: TrajectoryKey) -> bool:
        """Forget halves and fragments of a chunk; whether there were any."""
        found = self.halves.pop(key, None) is not None
        for half in ("policy", "env"):
            found |= self.buckets.pop((half, key), None) is not None
        return found

    def _complete(self, part: TrajectoryPart) -> bool:
        source = part.sources[0]
        return source.offset == 0 and source.size == self.source_batch_size

    def _gather(self, half: Half, fragment: TrajectoryPart) -> TrajectoryPart | None:
        """Keep a fragment; the whole half if this was the last one."""
        source = fragment.sources[0]
        key = source.key
        bucket = self.buckets.get((half, key))
        if bucket is None:
            if self._complete(fragment):
                return fragment
            bucket = self.buckets[half, key] = Bucket([], self._clock())
        bucket.parts.append(fragment)
        bucket.size += source.size
        if bucket.size < self.source_batch_size:
            return None
        spans = sorted(
            (part.sources[0].offset, part.sources[0].size) for part in bucket.parts
        )
        reached = 0
        for offset, size in spans:
            if offset != reached or bucket.size > self.source_batch_size:
                raise TrajectoryValueError(
                    f"joining {key}: its {half} fragments (first row, rows) {spans} "
                    f"don't make up {self.source_batch_size} rows without overlap or "
                    "hole; discard the key and send its fragments again, or the whole "
                    "half at once"
                )
            reached += size
        del self.buckets[half, key]
        parts = sorted(bucket.parts, key=lambda part: part.sources[0].offset)
        try:
            if half == "policy":
                return PolicyPart.merge([p for p in parts if isinstance(p, PolicyPart)])
            return EnvPart.merge([p for p in parts if isinstance(p, EnvPart)])
        except TrajectoryError as problem:
            if str(key) in str(problem):
                raise
            raise at(f"joining {key}", problem) from problem

    def _store(
        self, half: Half, key: TrajectoryKey, part: TrajectoryPart
    ) -> list[JoinedChunk]:
        halves = self.halves.get(key)
        if halves is None:
            halves = self.halves[key] = Halves()
        if isinstance(part, PolicyPart):
            halves.policy = part
        else:
            halves.env = part
        halves.since_s[half] = self._clock()
        return self._joined(key, halves)

    def _joined(self, key: TrajectoryKey, there: Halves) -> list[JoinedChunk]:
        if there.policy is None or there.env is None:
            return []
        check_boundary(key, there.env)
        return [
            JoinedChunk(key=key, source=key.source, policy=there.policy, env=there.env)
        ]


def half_of(part: object) -> Half:
    """Which half a part is.

    Raises
    ------
    TrajectoryValueError
        If it is no part, or doesn't say whose rows it carries.
    TrajectoryTypeError
        If what says so is no TrajectorySource.
    """
    if not isinstance(part, (PolicyPart, EnvPart)):
        raise TrajectoryValueError(
            f"joining chunks: a {type(part).__name__} came; give PolicyParts and "
            "EnvParts"
        )
    if not part.sources:
        raise TrajectoryValueError(
            f"joining chunks: a {type(part).__name__} without sources came; say whose "
            "rows it carries"
        )
    for source in part.sources:
        if type(source) is not TrajectorySource:
            raise TrajectoryTypeError(
                f"joining chunks: a source of a {type(part).__name__} is "
                f"{type(source).__name__}; give TrajectorySource(key, size, offset)"
            )
    return "policy" if isinstance(part, PolicyPart) else "env"


def check_boundary(key: TrajectoryKey, env: EnvPart) -> None:
    """Refuse a first chunk without the state before it, or a later one with it."""
    first = key.chunk_id == 0
    if first and env.initial_transition is None:
        raise TrajectoryValueError(
            f"joining {key}: chunk 0 lacks its initial_transition; send the state "
            "before the epoch with it"
        )
    if not first and env.initial_transition is not None:
        raise TrajectoryValueError(
            f"joining {key}: it has an initial_transition, which only belongs to "
            "chunk 0; leave it out"
        )
