"""Taking parts in: what is new is joined, what was stored already is caught."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.trajectory.errors import TrajectoryError, TrajectoryValueError
from isoscope.core.trajectory.events import EventStream, Stage
from isoscope.core.trajectory.joiner import ChunkJoiner, JoinedChunk, half_of
from isoscope.core.trajectory.repeats import Repeats

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.trajectory.env import TrajectoryPart
    from isoscope.core.trajectory.joiner import Half
    from isoscope.core.trajectory.keys import TrajectoryKey


class Intake:
    """Joins parts, and keeps joined chunks until they are stored.

    Parameters
    ----------
    joiner
        What joins.
    is_done
        Whether a chunk is stored or gone out; raises if its turn is over.
    events
        Where it is told.

    Attributes
    ----------
    ready
        Joined chunks to be stored, in the order they were completed.
    problems
        Why a joined chunk could not be stored, by key.
    """

    def __init__(
        self,
        joiner: ChunkJoiner,
        is_done: Callable[[TrajectoryKey], bool],
        events: EventStream,
    ) -> None:
        self.joiner = joiner
        self.ready: dict[TrajectoryKey, JoinedChunk] = {}
        self.problems: dict[TrajectoryKey, str] = {}
        self._is_done = is_done
        self._events = events
        self._repeats = Repeats(joiner.source_batch_size)

    def take(self, part: TrajectoryPart) -> None:
        """Take a part; what it completes is in `ready` afterwards.

        Raises
        ------
        TrajectoryValueError
            If it is no part, doesn't fit what is there, or completes a chunk that has
            been stored already.
        """
        half = half_of(part)
        stage = Stage.POLICY_PART if half == "policy" else Stage.ENV_PART
        fresh = True
        for source in part.sources:
            self._events.tell(stage, source.key, source.offset, source.size)
            fresh &= not self._is_done(source.key)
        if fresh:
            self._join(half, part)
            return
        refused = []
        for fragment in part.split():
            source = fragment.sources[0]
            if not self._is_done(source.key):
                self._join(half, fragment)
                continue
            self._repeated(half, fragment, "came again after the chunk was stored")
            if self._repeats.note(source.key, half, source.size):
                refused.append(source.key)
        if refused:
            raise self._duplicate(refused)

    def take_all_joined(self) -> None:
        """Make every chunk ready whose halves are both there, tried before or not."""
        for key in sorted(self.joiner.halves):
            try:
                for chunk in self.joiner.joined(key):
                    self.ready[key] = chunk
            except TrajectoryError as problem:
                self.failed(key, problem)  # its boundary is wrong; the others go on

    def stored(self, key: TrajectoryKey) -> None:
        """Forget a chunk's halves; it is stored."""
        self.joiner.acknowledge(key)
        if self.joiner.buckets:
            self.joiner.discard(key)  # fragments of a half that then came whole too
        if self.problems:
            self.problems.pop(key, None)

    def failed(self, key: TrajectoryKey, problem: Exception) -> None:
        """Remember why a chunk could not be stored, and tell it."""
        self.problems[key] = str(problem)
        self.tell_failure(key, problem)

    def tell_failure(self, key: TrajectoryKey, problem: object) -> None:
        """Tell that a chunk was refused."""
        self._events.tell(
            Stage.FAILED, key, 0, self.joiner.source_batch_size, text=str(problem)
        )

    def discard(self, key: TrajectoryKey) -> bool:
        """Forget whatever waits of a chunk; whether anything did."""
        self.ready.pop(key, None)
        self.problems.pop(key, None)
        return self.joiner.discard(key)

    def _join(self, half: Half, part: TrajectoryPart) -> None:
        for source in part.sources:
            there = self.joiner.halves.get(source.key)
            if there is not None and half in there.since_s:
                self._repeated(half, part, "came again and takes the earlier's place")
        joined: list[JoinedChunk] = []
        try:
            self.joiner.add(half, part, joined)
        except Exception as problem:
            whole = {chunk.key for chunk in joined}
            for source in part.sources:
                if source.key not in whole:
                    self.failed(source.key, problem)
            raise
        finally:
            for chunk in joined:
                self.ready[chunk.key] = chunk
                self._events.tell(
                    Stage.JOINED, chunk.key, 0, self.joiner.source_batch_size
                )

    def _repeated(self, half: Half, part: TrajectoryPart, what: str) -> None:
        for source in part.sources:
            self._events.tell(
                Stage.REPEATED,
                source.key,
                source.offset,
                source.size,
                text=f"its {half} half {what}",
            )

    def _duplicate(self, keys: list[TrajectoryKey]) -> TrajectoryValueError:
        others = f", and {len(keys) - 1} others of this part" if len(keys) > 1 else ""
        problem = TrajectoryValueError(
            f"storing {keys[0]}{others}: duplicate, both halves came again after the "
            "chunk had been stored; send each chunk once"
        )
        for key in keys:
            self.tell_failure(key, problem)
        return problem
