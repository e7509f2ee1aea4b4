"""What is stored of scopes that are not complete yet, and which ones went out.

A scope is what has to be complete before anything goes out: (step, env_rank, stage), or
(step, epoch) where all sources are needed. Everything here is looked up by key, so that
a chunk costs the same however many others are stored.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from isoscope.core.trajectory.outputs.base import ReadyChunk, Scope, Source

if TYPE_CHECKING:
    from isoscope.core.trajectory.keys import TrajectoryKey

Prepared = TypeVar("Prepared")


class Flushed:
    """Which steps of one track of scopes went out: ranges, so usually one.

    Steps mostly complete in order, so that this is a high-water mark; a step that is
    overtaken, or never completes, leaves a gap.
    """

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []  # exclusive

    def __contains__(self, step: int) -> bool:
        at = bisect_right(self._begins, step) - 1
        return at >= 0 and step < self._ends[at]

    def add(self, step: int) -> None:
        """Mark a step."""
        if step in self:
            return
        at = bisect_right(self._begins, step)
        joins_left = at > 0 and self._ends[at - 1] == step
        joins_right = at < len(self._begins) and self._begins[at] == step + 1
        if joins_left and joins_right:
            self._ends[at - 1] = self._ends.pop(at)
            self._begins.pop(at)
        elif joins_left:
            self._ends[at - 1] = step + 1
        elif joins_right:
            self._begins[at] = step
        else:
            self._begins.insert(at, step)
            self._ends.insert(at, step + 1)

    @property
    def last(self) -> int | None:
        """The highest step that went out."""
        return self._ends[-1] - 1 if self._ends else None

    @property
    def gaps(self) -> int:
        """How many ranges of steps are missing below the last one."""
        return max(0, len(self._begins) - 1)


@dataclass(slots=True)
class OpenScope(Generic[Prepared]):
    """The chunks of one scope that are there; `since_s` is when the first one came."""

    since_s: float
    chunks: dict[TrajectoryKey, Prepared] = field(default_factory=dict)
    sources: Counter[Source] = field(default_factory=Counter)

    def in_order(self) -> dict[Source, list[ReadyChunk[Prepared]]]:
        """The chunks of each source in the order they were made in, sources sorted."""
        batch: dict[Source, list[ReadyChunk[Prepared]]] = {
            source: [] for source in sorted(self.sources)
        }
        for key in sorted(self.chunks):
            batch[key.source].append(ReadyChunk(key, self.chunks[key]))
        return batch


class ScopeLedger(Generic[Prepared]):
    """Open scopes and those that went out.

    Attributes
    ----------
    open
        What is stored, by scope.
    """

    def __init__(self) -> None:
        self.open: dict[Scope, OpenScope[Prepared]] = {}
        # Both by track: a scope without its step.
        self._flushed: dict[Scope, Flushed] = {}
        self._steps: dict[Scope, list[int]] = {}  # of open scopes, ascending

    def holds(self, scope: Scope, key: TrajectoryKey) -> bool:
        """Whether a chunk is stored in its open scope."""
        there = self.open.get(scope)
        return there is not None and key in there.chunks

    def went_out(self, scope: Scope) -> bool:
        """Whether a scope was flushed."""
        track = self._flushed.get(scope[1:])
        return track is not None and scope[0] in track

    def last_out(self, scope: Scope) -> int | None:
        """The highest step that was flushed on a scope's track."""
        track = self._flushed.get(scope[1:])
        return None if track is None else track.last

    def store(
        self, scope: Scope, key: TrajectoryKey, prepared: Prepared, now_s: float
    ) -> OpenScope[Prepared]:
        """Keep a chunk; the scope that it is in."""
        there = self.open.get(scope)
        if there is None:
            there = self.open[scope] = OpenScope(now_s)
            insort(self._steps.setdefault(scope[1:], []), scope[0])
        there.chunks[key] = prepared
        there.sources[key.source] += 1
        return there

    def take_back(self, scope: Scope, key: TrajectoryKey) -> None:
        """Forget a chunk that was stored."""
        there = self.open[scope]
        del there.chunks[key]
        there.sources[key.source] -= 1
        if not there.sources[key.source]:
            del there.sources[key.source]
        if not there.chunks:
            self._drop(scope)

    def close(self, scope: Scope) -> OpenScope[Prepared]:
        """Mark a scope as gone out, and forget its chunks."""
        self._flushed.setdefault(scope[1:], Flushed()).add(scope[0])
        return self._drop(scope)

    def earlier(self, scope: Scope) -> Scope | None:
        """The first open scope of the same track before this one."""
        steps = self._steps.get(scope[1:])
        return (steps[0], *scope[1:]) if steps and steps[0] < scope[0] else None

    def later(self, scope: Scope) -> Scope | None:
        """The next open scope of the same track after this one."""
        steps = self._steps.get(scope[1:], [])
        at = bisect_right(steps, scope[0])
        return (steps[at], *scope[1:]) if at < len(steps) else None

    def _drop(self, scope: Scope) -> OpenScope[Prepared]:
        track, step = scope[1:], scope[0]
        steps = self._steps[track]
        del steps[bisect_left(steps, step)]
        if not steps:
            del self._steps[track]
        return self.open.pop(scope)
