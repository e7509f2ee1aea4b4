"""Storing joined chunks in their scopes, and letting complete scopes out.

Either all of it happens or nothing: a chunk that can't be stored, or whose scope can't
be let out, is not stored, so that it can be tried again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.core.trajectory.errors import (
    TrajectoryError,
    TrajectoryValueError,
    at,
)
from isoscope.core.trajectory.events import EventStream, Stage
from isoscope.core.trajectory.scopes import OpenScope, ScopeLedger
from isoscope.core.trajectory.tensors import check_tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isoscope.core.trajectory.joiner import JoinedChunk
    from isoscope.core.trajectory.keys import TrajectoryKey
    from isoscope.core.trajectory.outputs.base import Emitted, OutputStrategy, Scope


class ChunkStore:
    """Open scopes, and the strategy that makes items of complete ones.

    Parameters
    ----------
    output
        The strategy.
    rows
        Environments of one source, for the events.
    events
        Where it is told.
    clock
        Seconds, monotonic.

    Attributes
    ----------
    ledger
        What is stored and what went out.
    """

    def __init__(
        self,
        output: OutputStrategy[Any],
        rows: int,
        events: EventStream,
        clock: Callable[[], float],
    ) -> None:
        self.output = output
        self.ledger: ScopeLedger[Any] = ScopeLedger()
        self._rows = rows
        self._events = events
        self._clock = clock

    def is_done(self, key: TrajectoryKey) -> bool:
        """Whether a chunk is stored, or its scope has gone out.

        Raises
        ------
        TrajectoryValueError
            If it never came and its turn is over: a later step of its source has gone
            out, and the output carries something from one step to the next.
        """
        scope = self.output.scope_of(key)
        if self.ledger.holds(scope, key) or self.ledger.went_out(scope):
            return True
        if self.output.flushes_in_order:
            last = self.ledger.last_out(scope)
            if last is not None and scope[0] < last:
                raise TrajectoryValueError(
                    f"storing {key}: step {last} of its source has gone out already, "
                    "and episodes go on from step to step; send a source's steps in "
                    "order"
                )
        return False

    def store(self, chunk: JoinedChunk) -> list[Emitted]:
        """Store a chunk; the items of its scope if that completes it.

        Raises
        ------
        TrajectoryError
            If the output can't use it, or it doesn't fit the others of its scope.
            Nothing has changed then, and the message names the chunk.
        """
        key, ledger = chunk.key, self.ledger
        scope = self.output.scope_of(key)
        if self.output.needs_inferred_policy and not chunk.policy.inferred:
            raise TrajectoryValueError(
                f"storing {key}: it has external actions, which only online LeRobot "
                f"takes; in {self.output.mode} mode a policy has to infer them"
            )
        if self.output.needs_inferred_policy:
            settings = self.output.settings
            check_tensors(
                chunk,
                observations=settings.collect_transitions or settings.enable_rlt,
            )
        try:
            prepared = self.output.prepare(chunk)
        except TrajectoryError as problem:
            if str(key) in str(problem):
                raise
            raise at(f"storing {key}", problem) from problem
        there = ledger.open.get(scope)
        if there is not None:
            self.output.check_with(next(iter(there.chunks.values())), prepared, key)
        ledger.store(scope, key, prepared, self._clock())
        self._events.tell(Stage.ACCUMULATED, key, 0, self._rows)
        try:
            outputs = self._let_out(scope)
        except Exception:
            ledger.take_back(scope, key)
            raise
        self._warn_of_range(key)
        return outputs

    def discard(self, key: TrajectoryKey) -> bool:
        """Take a chunk out of its open scope; whether it was there."""
        scope = self.output.scope_of(key)
        held = self.ledger.holds(scope, key)
        if held:
            self.ledger.take_back(scope, key)
        return held

    def let_out_after(self, key: TrajectoryKey) -> Iterator[list[Emitted]]:
        """Let complete scopes out that had to wait for this chunk's, one by one."""
        if not self.output.flushes_in_order:
            return
        scope: Scope | None = self.output.scope_of(key)
        while scope is not None and self.ledger.went_out(scope):
            scope = self.ledger.later(scope)
            if scope is not None:
                yield self._let_out(scope)

    def let_out_all(self) -> Iterator[list[Emitted]]:
        """Let all complete scopes out that are still here, one by one."""
        for scope in sorted(self.ledger.open):
            yield self._let_out(scope)

    def _let_out(self, scope: Scope) -> list[Emitted]:
        there, output = self.ledger.open[scope], self.output
        if len(there.chunks) < output.expected_keys:
            return []
        if output.flushes_in_order and self.ledger.earlier(scope) is not None:
            return []
        if len(there.sources) != output.expected_sources:
            raise TrajectoryValueError(
                f"{_letting_out(there)}: its {len(there.chunks)} chunks are of "
                f"{len(there.sources)} sources instead of {output.expected_sources} "
                f"({', '.join(map(str, sorted(there.sources)))}); give each source "
                f"{output.expected_keys // output.expected_sources} chunks"
            )
        batch = there.in_order()
        try:
            items = output.flush(scope, batch)
        except TrajectoryError as problem:
            raise at(_letting_out(there), problem) from problem
        self.ledger.close(scope)
        for source, chunks in batch.items():
            if self._events.heard:
                self._events.tell_all(
                    Stage.FLUSHED,
                    [chunk.key for chunk in chunks],
                    self._rows,
                    str(output.mode),
                    output.ranks(source),
                )
        return items

    def _warn_of_range(self, key: TrajectoryKey) -> None:
        """Say that a key is outside the layout; like RLinf, it counts all the same."""
        geometry, settings = self.output.geometry, self.output.settings
        rank = key.env_rank * settings.pipeline_stage_num + key.stage_id
        for name, value, end in (
            ("chunk_id", key.chunk_id, geometry.chunk_count),
            ("epoch_id", key.epoch_id, settings.rollout_epoch),
            ("stage_id", key.stage_id, settings.pipeline_stage_num),
            ("the source", rank, geometry.source_count),
        ):
            if not 0 <= value < end:
                self.output.warn(
                    f"{key}: {name} {value} is outside 0 to {end - 1} of this run's "
                    "layout; it is counted, and takes the place of one that is missing",
                    key,
                )


def _letting_out(scope: OpenScope[Any]) -> str:
    return f"letting out the scope of {max(scope.chunks)}"
