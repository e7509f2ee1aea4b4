"""A whole collecting run: from settings to shards and a report."""

from __future__ import annotations

import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from isoscope.core.channel.local import LocalChannel
from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.producer import Producer
from isoscope.core.collection.run import PRODUCER, CollectRun, channel_settings
from isoscope.core.collection.settings import PolicyName, Runner
from isoscope.core.collection.shards import ShardWriter
from isoscope.core.newfile import refuse_bad_target

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.core.collection.policies.base import Policy
    from isoscope.core.collection.recording import RunRecorder
    from isoscope.core.collection.report import CollectReport
    from isoscope.core.collection.settings import CollectSettings
    from isoscope.core.collection.sink import Sink
    from isoscope.core.recording.source import Progress


def collect(
    settings: CollectSettings,
    *,
    out: Path | None = None,
    overwrite: bool = False,
    on_ray: bool = False,
    record: Path | None = None,
    checkpoint: Path | None = None,
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
    record
        A file that gets the environments' steps and the chunks, ``*.isoscope.h5``;
        not on Ray.
    checkpoint
        A file that gets the policy as it is at the end; not on Ray.
    progress
        Called with training steps done, and all of them.

    Raises
    ------
    IsoscopeError
        If something doesn't fit together, can't be made or written, or is missing.
    """
    if record is not None and on_ray:
        raise CollectionError(
            "recording a collecting run: what runs on Ray can't be recorded; leave out "
            "one of the two"
        )
    if checkpoint is not None:
        if on_ray:
            raise CollectionError(
                "keeping the policy of a run on Ray: it is in another process; leave "
                "out one of the two"
            )
        if settings.policy is not PolicyName.MLP:
            raise CollectionError(
                f"keeping the policy of a run: {settings.policy} has no weights; take "
                "--policy mlp"
            )
        refuse_bad_target(checkpoint, overwrite=overwrite)
    keep = None if checkpoint is None else _keeper(settings, checkpoint, overwrite)
    writer = ShardWriter(out, overwrite) if out is not None else None
    run = CollectRun(settings, writer, progress)
    if on_ray:
        from isoscope.core.collection.ray_run import run_on_ray

        report = run_on_ray(run)
    else:
        report = _run_here(run, _recorder(settings, record, overwrite), keep)
    if writer is not None:
        written = msgspec.to_builtins(report)
        writer.finish({"settings": asdict(settings), "report": written})
    return report


def _keeper(
    settings: CollectSettings, path: Path, overwrite: bool
) -> Callable[[Policy], object]:
    """What writes the policy's checkpoint."""
    from isoscope.core.collection.policies.saved import checkpoint_of
    from isoscope.core.replay.checkpoint.bundle import write_checkpoint

    about = {"env": settings.env, "task": settings.task, "seed": settings.seed}

    def keep(policy: Policy) -> None:
        write_checkpoint(path, checkpoint_of(policy, None, about), overwrite=overwrite)

    return keep


def _recorder(
    settings: CollectSettings, record: Path | None, overwrite: bool
) -> RunRecorder | None:
    if record is None:
        return None
    from isoscope.core.collection.recording import RunRecorder

    return RunRecorder(record, f"collect {settings.env}", overwrite=overwrite)


def _run_here(
    run: CollectRun,
    recorder: RunRecorder | None,
    keep: Callable[[Policy], object] | None,
) -> CollectReport:
    try:
        return _run_recorded(run, recorder, keep)
    finally:
        if recorder is not None:
            recorder.close()


def _run_recorded(
    run: CollectRun,
    recorder: RunRecorder | None,
    keep: Callable[[Policy], object] | None,
) -> CollectReport:
    settings = run.settings
    channel = LocalChannel("parts", **channel_settings(settings))
    with channel.producer(PRODUCER) as sender:
        around = None if recorder is None else recorder.watch
        producer = Producer(settings, sender, around)
        if keep is not None:
            _refuse_what_can_t_be_kept(producer)
        if recorder is not None:
            collector: Any = channel.collector  # a CountedCollector
            recorder.listen(collector.events)
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
    if keep is not None:
        keep(producer.policy)
    return run.report(channel, producer.results())


def _refuse_what_can_t_be_kept(producer: Producer) -> None:
    """Say before anything is written that the policy makes no checkpoint."""
    from isoscope.core.collection.policies.saved import checkpoint_of

    try:
        checkpoint_of(producer.policy, None, {})
    except Exception:
        producer.close()
        raise


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
