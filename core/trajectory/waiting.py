"""Looking through a collector for everything that isn't complete.

The looking is done on copies of what the collector holds, taken at once, so that a
window may ask while chunks come in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from isoscope.core.trajectory.pending import (
    PendingChunk,
    PendingFragments,
    PendingHalf,
    PendingReport,
    PendingScope,
    missing_spans,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isoscope.core.trajectory.joiner import Bucket, ChunkJoiner, Half, Halves
    from isoscope.core.trajectory.keys import TrajectoryKey
    from isoscope.core.trajectory.outputs.base import OutputStrategy, Scope
    from isoscope.core.trajectory.scopes import ScopeLedger


Waits = TypeVar("Waits", PendingHalf, PendingFragments, PendingChunk, PendingScope)


@dataclass(frozen=True, slots=True)
class OpenState:
    """What was there at one moment."""

    now_s: float
    halves: tuple[tuple[TrajectoryKey, Halves], ...]
    buckets: tuple[tuple[tuple[Half, TrajectoryKey], Bucket], ...]
    scopes: tuple[tuple[Scope, float, frozenset[TrajectoryKey], Scope | None], ...]
    problems: Mapping[TrajectoryKey, str]

    @classmethod
    def of(
        cls,
        joiner: ChunkJoiner,
        ledger: ScopeLedger[Any],
        problems: Mapping[TrajectoryKey, str],
        now_s: float,
    ) -> OpenState:
        """Copy it; short enough to hold the collector's lock for."""
        return cls(
            now_s,
            tuple(joiner.halves.items()),
            tuple(joiner.buckets.items()),
            tuple(
                (scope, there.since_s, frozenset(there.chunks), ledger.earlier(scope))
                for scope, there in ledger.open.items()
            ),
            dict(problems),
        )


def report(
    state: OpenState, strategy: OutputStrategy[Any], source_batch_size: int
) -> PendingReport:
    """Say what waits for what, the oldest first."""
    halves, chunks = [], []
    for key, there in state.halves:
        since = dict(there.since_s)
        age = state.now_s - max(since.values(), default=state.now_s)
        if len(since) == 2:
            chunks.append(PendingChunk(key, state.problems.get(key, ""), age))
            continue
        for has in since:
            other = "env" if has == "policy" else "policy"
            halves.append(PendingHalf(key, has, other, source_batch_size, age))
    fragments = [
        _fragments(half, key, bucket, state.now_s, source_batch_size)
        for (half, key), bucket in state.buckets
    ]
    scopes = []
    for scope, since_s, done, behind in state.scopes:
        missing = tuple(key for key in strategy.keys_of(scope) if key not in done)
        held = behind if strategy.flushes_in_order else None
        scopes.append(
            PendingScope(
                scope,
                tuple(sorted(done)),
                strategy.expected_keys,
                missing,
                held,
                state.now_s - since_s,
            )
        )
    return PendingReport(
        _oldest_first(halves),
        _oldest_first(fragments),
        _oldest_first(chunks),
        _oldest_first(scopes),
    )


def _oldest_first(items: Iterable[Waits]) -> tuple[Waits, ...]:
    return tuple(sorted(items, key=lambda item: -item.age_s))


def _fragments(
    half: Half, key: TrajectoryKey, bucket: Bucket, now_s: float, total: int
) -> PendingFragments:
    have = tuple(
        sorted((p.sources[0].offset, p.sources[0].size) for p in tuple(bucket.parts))
    )
    missing, fits = missing_spans(have, total)
    return PendingFragments(key, half, have, missing, fits, now_s - bucket.since_s)
