"""What every run has, wherever its parts are: channel settings, a sink, a report."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from isoscope.core.collection.counted import NAME as COLLECTOR
from isoscope.core.collection.making import action_dim
from isoscope.core.collection.report import (
    ChunkCounts,
    CollectReport,
    OutputCount,
    Returns,
)
from isoscope.core.collection.sink import Port, Sink

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.channel.base import Channel
    from isoscope.core.collection.settings import CollectSettings
    from isoscope.core.collection.shards import ShardWriter
    from isoscope.core.recording.source import Progress

PRODUCER = "rollout"
ROOM = 1024  # items that may wait for the sink
TIMEOUT_S = 600.0  # how long nothing may happen


def channel_settings(settings: CollectSettings) -> dict[str, Any]:
    """The channel of a run: its collector, its dispatcher, who takes part."""
    return {
        "collector": COLLECTOR,
        "dispatcher": settings.mode.dispatcher,
        "cfg": settings.cfg(*action_dim(settings)),
        "options": {
            "env_world_size": settings.workers,
            "actor_world_size": settings.actors,
        },
        "producers": (PRODUCER,),
        "consumers": tuple(range(settings.actors)),
        "maxsize": ROOM,
        "timeout_s": TIMEOUT_S,
    }


class CollectRun:
    """The taking half of a run.

    Parameters
    ----------
    settings
        The run.
    writer
        Writes what is taken; None to count only.
    progress
        Called with training steps done, and all of them.

    Attributes
    ----------
    use_weights
        Called after each training step with how many the weights have seen.
    """

    def __init__(
        self,
        settings: CollectSettings,
        writer: ShardWriter | None,
        progress: Progress | None = None,
    ) -> None:
        self.settings = settings
        self.use_weights: Callable[[int], object] = lambda version: None
        self.sink: Sink | None = None
        self._writer, self._progress = writer, progress
        self._taken = 0
        self._begun = time.perf_counter()

    def sink_of(self, channel: Channel) -> Sink:
        """The sink that takes from a channel for this run."""
        settings = self.settings
        self.sink = Sink(channel, settings.mode, settings.actors, self._take)
        if self._writer is not None:
            self._writer.begin()
        return self.sink

    def _take(self, port: Port, item: Any) -> None:
        if self._writer is not None:
            self._writer.write(port.key, port.actor, item)
        self._taken += 1
        steps, rest = divmod(self._taken, self.settings.outputs_per_step)
        if rest == 0:
            self.use_weights(steps)
            if self._progress is not None:
                self._progress(steps, self.settings.training_steps)

    def report(self, channel: Channel, results: dict[str, Any]) -> CollectReport:
        """Sum up a run."""
        summary = channel.summary()
        counts = self.sink.counts if self.sink is not None else {}
        return CollectReport(
            chunks=msgspec.convert(summary["chunks"], ChunkCounts),
            outputs=[
                OutputCount(str(self.settings.mode), port.key, port.actor, count)
                for port, count in sorted(counts.items())
            ],
            transitions=results["transitions"],
            returns=Returns.of(results["returns"]),
            shards=[s.file for s in self._writer.shards] if self._writer else [],
            seconds=time.perf_counter() - self._begun,
            warnings=summary["warnings"],
            incomplete=list(channel.waiting()),
            lost=[str(loss) for loss in channel.status().losses],
        )
