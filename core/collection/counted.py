"""The trajectory collector, and what became of the chunks in numbers.

The numbers come from the collector's own events, each counted as it is told, so that
none is missed however many there are.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any

import msgspec

from isoscope.core.collection.report import ChunkCounts
from isoscope.core.trajectory.collector import TrajectoryCollector
from isoscope.core.trajectory.events import Stage, Told

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isoscope.core.channel.hooks import ChannelContext

NAME = "isoscope.core.collection.counted:CountedCollector"


class Tally(deque[Told]):
    """A listener's queue that counts events by their stage, and keeps none."""

    def __init__(self) -> None:
        super().__init__(maxlen=0)
        self.counts: Counter[Stage] = Counter()

    def append(self, told: Told) -> None:
        """Count an event."""
        self.counts[told[0]] += 1

    def extend(self, told: Iterable[Told]) -> None:
        """Count some events."""
        self.counts.update(stage for stage, *_ in told)


class CountedCollector(TrajectoryCollector):
    """A trajectory collector that counts."""

    def setup(self, ctx: ChannelContext) -> None:
        """Get ready, and begin to count."""
        super().setup(ctx)
        self.tally = Tally()
        self.events.listen().queue = self.tally

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
            pending=len({key for key, _ in self.pending().by_key()}),
        )
