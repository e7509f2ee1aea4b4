"""The trajectory collector, and what became of the chunks in numbers.

The numbers come from the collector's own events, each counted as it is told, so that
none is missed however many there are.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from isoscope.core.trajectory.collector import TrajectoryCollector
from isoscope.core.trajectory.events import ChunkEvent, Listener, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.channel.hooks import ChannelContext
    from isoscope.core.trajectory.events import EventStream
    from isoscope.core.trajectory.pending import PendingReport

NAME = "isoscope.core.collection.counted:CountedCollector"


class ChunkCounts(msgspec.Struct):
    """What became of the chunks, as ``isoscope.collect/1`` prints it.

    Attributes
    ----------
    policy_parts, env_parts
        Halves that came, with fragments counted each.
    joined
        Chunks whose halves were both complete; one that had to be tried again counts
        again.
    flushed
        Chunks that went out.
    failed
        Refusals, duplicates not among them.
    duplicates
        Rows that came again after their chunk was stored, or before.
    pending
        Chunks of which something came that have not gone out.
    """

    policy_parts: int = 0
    env_parts: int = 0
    joined: int = 0
    flushed: int = 0
    failed: int = 0
    duplicates: int = 0
    pending: int = 0


class Tally(Listener):
    """Counts events by their stage, and keeps none."""

    def __init__(self, stream: EventStream) -> None:
        super().__init__(stream, 0)
        self.counts: Counter[Stage] = Counter()

    def offer(self, event: ChunkEvent) -> None:
        """Count an event."""
        self.counts[event.stage] += 1


class CountedCollector(TrajectoryCollector):
    """A trajectory collector that counts."""

    def setup(self, ctx: ChannelContext) -> None:
        """Get ready, and begin to count."""
        super().setup(ctx)
        self.tally = Tally(self.events)
        self.events.attach(self.tally)

    def summary(self) -> Mapping[str, Any]:
        """``chunks``: the numbers; ``warnings``: how many, and the latest texts."""
        return {
            "chunks": msgspec.to_builtins(self.counts()),
            "warnings": self.warnings.count,
            "warned": [warned.text for warned in self.warnings][-5:],
        }

    def counts(self) -> ChunkCounts:
        """The numbers so far."""
        told = self.tally.counts
        return ChunkCounts(
            policy_parts=told[Stage.POLICY_PART],
            env_parts=told[Stage.ENV_PART],
            joined=told[Stage.JOINED],
            flushed=told[Stage.FLUSHED],
            failed=told[Stage.FAILED],
            duplicates=told[Stage.REPEATED],
            pending=incomplete(self.pending()),
        )


def incomplete(left: PendingReport) -> int:
    """Count the chunks of which something came that have not gone out."""
    keys = {item.key for item in (*left.halves, *left.fragments, *left.chunks)}
    return len(keys) + sum(scope.done for scope in left.scopes)
