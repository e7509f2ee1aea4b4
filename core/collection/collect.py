"""A whole collecting run: from settings to shards and a report."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from isoscope.core.channel.local import LocalChannel
from isoscope.core.collection.counted import NAME as COLLECTOR
from isoscope.core.collection.making import action_dim
from isoscope.core.collection.producer import Producer
from isoscope.core.collection.report import (
    ChunkCounts,
    CollectReport,
    OutputCount,
    Returns,
)
from isoscope.core.collection.settings import Runner
from isoscope.core.collection.shards import ShardWriter
from isoscope.core.collection.sink import Port, Sink

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.core.channel.base import Channel
    from isoscope.core.collection.settings import CollectSettings
    from isoscope.core.recording.source import Progress

PRODUCER = "rollout"
ROOM = 1024  # items that may wait for the sink
TIMEOUT_S = 600.0  # how long nothing may happen


def collect(
    settings: CollectSettings,
    *,
    out: Path | None = None,
    overwrite: bool = False,
    on_ray: bool = False,
    progress: Progress | None = None,
) -> CollectReport:
    """Run environments and a policy, and take what the collector gives out.

    Parameters
    ----------
    settings
        The run.
    out
        A folder for shards; None to count only.
    overwrite
        Whether an earlier run's shards there may be replaced.
    on_ray
        Whether environments and policy run in a Ray worker, and the channel on Ray.
    progress
        Called with training steps done, and all of them.

    Raises
    ------
    IsoscopeError
        If something doesn't fit together, can't be made or written, or is missing.
    """
    writer = ShardWriter(out, overwrite) if out is not None else None
    run = CollectRun(settings, writer, progress)
    if on_ray:
        from isoscope.core.collection.ray_run import run_on_ray

        report = run_on_ray(run)
    else:
        report = _run_here(run)
    if writer is not None:
        written = msgspec.to_builtins(report)
        writer.finish({"settings": asdict(settings), "report": written})
    return report


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


def _run_here(run: CollectRun) -> CollectReport:
    settings = run.settings
    channel = LocalChannel("parts", **channel_settings(settings))
    with channel.producer(PRODUCER) as sender:
        producer = Producer(settings, sender)
        try:
            run.use_weights = producer.use_weights
            sink = run.sink_of(channel)
            if settings.runner is Runner.SYNC:
                for step in range(settings.training_steps):
                    producer.run_step(step, sink.drain)
                producer.finish(sink.drain)
                sink.drain()
            else:
                _by_threads(producer, sink)
        finally:
            producer.close()
    sink.drain()
    return run.report(channel, producer.results())


def _by_threads(producer: Producer, sink: Sink) -> None:
    """Produce in a thread, and take in this one until it is over."""
    problems: list[BaseException] = []
    over = threading.Event()

    def produce() -> None:
        try:
            producer.run_all()
        except Exception as error:  # noqa: BLE001 raised again below
            problems.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=produce, name="produce", daemon=True)
    thread.start()
    try:
        sink.take_until(over)
    finally:
        sink.channel.close()
        thread.join()
    if problems:
        raise problems[0]
