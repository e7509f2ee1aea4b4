"""A run on Ray: environments and policy in a worker, the channel in an actor.

The driver is the sink. In a synchronous run it asks for one training step after the
other; otherwise the worker goes on by itself.
"""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from isoscope.core.channel.ray_actor import DONE, FAILED, Reply
from isoscope.core.channel.ray_channel import RayChannel, told_shortly
from isoscope.core.channel.ray_cluster import join_cluster, leave_cluster, ray_module
from isoscope.core.channel.told import raised, told
from isoscope.core.collection.producer import Producer
from isoscope.core.collection.run import PRODUCER, channel_settings
from isoscope.core.collection.settings import Runner

if TYPE_CHECKING:
    from isoscope.core.collection.report import CollectReport
    from isoscope.core.collection.run import CollectRun
    from isoscope.core.collection.settings import CollectSettings
    from isoscope.core.collection.sink import Sink

START_S = 120.0  # for a worker's process to begin
STEP_S = 3600.0  # for one training step, or a whole run that goes on by itself


class RayWorker:
    """Environments and policy in a process of Ray's.

    Parameters
    ----------
    settings
        The run.
    channel
        Where parts go.
    """

    def __init__(self, settings: CollectSettings, channel: RayChannel) -> None:
        self._settings = settings
        self._channel = channel
        self._stack = ExitStack()
        self._producer: Producer | None = None

    def call(self, name: str, *args: Any) -> Reply:
        """Do something; what is raised is told, since Ray would wrap it."""
        try:
            return DONE, getattr(self, name)(*args)
        except Exception as error:  # noqa: BLE001 whatever it is, the driver is told
            return FAILED, told(error)

    def begin(self) -> None:
        """Join the channel, and make environments and policy."""
        sender = self._stack.enter_context(self._channel.producer(PRODUCER))
        self._producer = Producer(self._settings, sender)
        self._stack.callback(self._producer.close)

    def step(self, step_id: int) -> None:
        """Run one training step."""
        self._running().run_step(step_id)

    def go_on(self) -> None:
        """Run all training steps."""
        self._running().run_all()

    def use_weights(self, version: int) -> None:
        """Act with the weights of this many training steps from now on."""
        self._running().use_weights(version)

    def end(self) -> dict[str, Any]:
        """Say what is left, leave the channel; gives what was counted."""
        producer = self._running()
        producer.finish()
        self._stack.close()
        return producer.results()

    def _running(self) -> Producer:
        if self._producer is None:
            raise RuntimeError("the worker has not begun")
        return self._producer


def run_on_ray(run: CollectRun) -> CollectReport:
    """Carry out a run on the cluster that is joined, or started here."""
    joined = join_cluster()
    try:
        settings = run.settings
        channel = RayChannel.create(
            f"collect-{os.getpid()}-{id(run):x}", **channel_settings(settings)
        )
        worker = ray_module().remote(max_concurrency=2)(RayWorker)
        with told_shortly("starting a worker on Ray", channel.name):
            actor = worker.remote(settings, channel)
        try:
            results = _drive(run, actor, run.sink_of(channel))
            return run.report(channel, results)
        finally:
            ray_module().kill(actor)
            channel.end()
    finally:
        if joined:
            leave_cluster()


def _drive(run: CollectRun, actor: Any, sink: Sink) -> dict[str, Any]:
    settings = run.settings
    _call(actor, sink, START_S, "begin")
    # not waited for: it is meant for whatever comes next
    run.use_weights = lambda version: actor.call.remote("use_weights", version)
    if settings.runner is Runner.SYNC:
        for step in range(settings.training_steps):
            _call(actor, sink, STEP_S, "step", step)
            sink.drain()
            _call(actor, sink, START_S, "use_weights", step + 1)
    else:
        _call(actor, sink, STEP_S, "go_on")
    results: dict[str, Any] = _call(actor, sink, START_S, "end")
    sink.drain()
    return results


def _call(actor: Any, sink: Sink, timeout_s: float, name: str, *args: Any) -> Any:
    """Let the worker do something, and take meanwhile what comes out."""
    over = threading.Event()
    answers: list[Reply] = []
    problems: list[Exception] = []

    def wait() -> None:
        try:
            with told_shortly(f"running {name} in a worker on Ray", sink.channel.name):
                answers.append(
                    ray_module().get(actor.call.remote(name, *args), timeout=timeout_s)
                )
        except Exception as error:  # noqa: BLE001 raised again below
            problems.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    sink.take_until(over)
    thread.join()
    if problems:
        raise problems[0]
    answer, value = answers[0]
    if answer != DONE:
        raise raised(value)
    return value
