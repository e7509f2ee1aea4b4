"""Isoscope's own `SceneEnv`: control steps, and every native step of its scene."""

from __future__ import annotations

import dataclasses
import sys
import weakref
from typing import TYPE_CHECKING, Any

import msgspec

from isoscope.core.recording.labelled import records as r
from isoscope.core.tap.adapters import run as runs
from isoscope.core.tap.adapters.generators import Several
from isoscope.core.tap.adapters.hooks import hook, is_hooked
from isoscope.core.tap.adapters.kinds import innermost
from isoscope.core.tap.adapters.scene_watch import SceneWatch
from isoscope.core.tap.adapters.seen import CAUSE
from isoscope.core.tap.adapters.single import SingleTap
from isoscope.core.tap.adapters.stage_times import record_stages, watch_stages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.envs.task import Task
    from isoscope.core.tap.adapters.plain_steps import PlainSteps
    from isoscope.core.tap.session import TapSession

STATUSES = {0: "converged", 1: "stopped", 2: "diverged"}


class SceneAdapter:
    """Wraps a `SceneEnv`, or what wraps one."""

    def wrap(self, env: Any, session: TapSession, index: int | None) -> Any:
        """See `isoscope.core.tap.adapter.Adapter`."""
        if not is_hooked(env, "step"):
            SceneTap(env, session, index).attach(env)
        return env


class SceneTap(SingleTap):
    """Watches one `SceneEnv`, and with others of its process their scene."""

    def __init__(self, env: Any, session: TapSession, index: int | None) -> None:
        super().__init__(env, session, index)
        self._watch: SceneWatch | None = None
        self._asked = session.snapshots_asked
        self._streams = Several()

    def attach(self, env: Any) -> None:
        """Put the tap around the environment's methods."""
        super().attach(env)
        hook(env, "close", self._close)

    def names(self, env: Any) -> dict[str, tuple[list[str], list[str]]]:
        """Of the flat vectors' components, as the task declares them."""
        return task_names(innermost(env).task)

    def learn(self, env: Any) -> None:
        """Say which engine runs, and how it steps; watch the scene."""
        inner = innermost(env)
        runs.of(self.session).learn("isoscope", task_identity(inner.task, inner.lanes))
        self._watch = watch_of(self.session, inner.lanes, [0])
        self._watch.numbers[inner.lanes] = (self.number,)
        self._watch.wants(self.number, dict(inner.lease.wanted))
        watch_stages(self.session)
        self.session.takes_snapshots()

    def before(self, env: Any, control_step: int) -> None:
        """Begin to count its rows."""
        if self._watch is not None:
            self._watch.steps.begin()

    def generators(self, env: Any) -> tuple[bytes, bytes]:
        """Of the environment's own streams, which the usual one only seeds."""
        _, of_actions = super().generators(env)
        streams = innermost(env).lanes.streams[0]

        def told() -> bytes:
            return msgspec.msgpack.encode(streams.capture())

        own = self._streams.digest(streams.seed, streams.begun(), told)
        return own, of_actions

    def streams(self, env: Any) -> dict[str, Any]:
        """See `SingleTap.streams`: those that it has drawn from, by purpose."""
        streams = innermost(env).lanes.streams[0].capture().streams
        return {f"streams.{one.purpose}": one.as_numpy() for one in streams}

    def rows(self) -> tuple[int, int]:
        """See `SingleTap.rows`."""
        watch = self._watch
        return (-1, -1) if watch is None else watch.steps.span(self.number)

    def told_clipped(self, env: Any, plain: PlainSteps) -> bytes | None:
        """How it clips is asked, not assumed."""
        return plain.kept(self.clipped(env, None), plain.acting) or b""

    def clipped(self, env: Any, raw: Any) -> Any:
        """As the environment has clipped it."""
        inner = innermost(env)
        step = inner._last
        if step is None:
            return None
        return inner.lanes.scene.to_host(step.clipped, CAUSE)[0]

    def after(self, env: Any, info: Any, transition: int) -> None:
        """Record its stages' times; take a snapshot where one is due."""
        watch, k = self._watch, self.control_step
        told = innermost(env).profiler.take()
        record_stages(self.session, told, self.number, transition)
        every, asked = self.session.snapshots_every, self.session.snapshots_asked
        why = ""
        if asked != self._asked:
            self._asked, why = asked, "asked"
        if every and k % every == 0:
            why = "reset" if k == 0 else "every"
        if watch is not None and why:
            lanes: LaneGroup = innermost(env).lanes
            watch.snapshot(why, self.number, lanes.own, k, self.episode)

    def failed(self, env: Any, error: BaseException) -> None:
        """Keep the state that it failed in."""
        if self._watch is not None:
            self._watch.snapshot(
                "exception", self.number, None, self.control_step, self.episode
            )

    def _close(
        self, env: Any, original: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        result = original(*args, **kwargs)
        inner, watch = innermost(env), self._watch
        if watch is not None:
            with self.session.guard:
                watch.numbers.pop(inner.lanes, None)
                if inner.lanes.handle.closed:
                    watch.close()
        self._watch = None
        return result


def watch_of(session: TapSession, lanes: LaneGroup, seen: Sequence[int]) -> SceneWatch:
    """The watch of the lanes' scene; one for all who share it."""
    handle = lanes.handle
    watch = _watches.get(handle)
    if watch is not None and watch.session is session:
        return watch
    run = runs.of(session)
    number = run.scene()
    session.recorder.scene(
        r.SceneInfo(id=number, key=str(handle.key), engine=lanes.scene.engine)
    )
    watch = _watches[handle] = SceneWatch(session, handle, number, seen)
    return watch


def task_names(task: Task) -> dict[str, tuple[list[str], list[str]]]:
    """Names and units of the flat vectors' components, by the role of the space."""
    spaces = {"action": task.action, "observation": task.observation}
    return {role: (list(s.labels), list(s.units)) for role, s in spaces.items()}


def task_identity(task: Task, lanes: LaneGroup) -> r.Identity:
    """Which engine runs, and how the task steps it."""
    timing, scene = task.timing, lanes.scene
    engine, _, build = scene.engine.partition(" (")
    name, _, version = engine.partition(" ")
    return r.Identity(
        engine=name,
        engine_version=version,
        build=build.rstrip(")"),
        precision=scene.precision,
        control_hz=float(timing.control_hz),
        simulation_hz=float(timing.simulation_hz),
        substeps=timing.substeps,
        threads=library_threads(),
        shared_scenes=lanes.shared,
        solver_statuses=STATUSES,
        extra={
            "task": task.name,
            "settings": _settings(task),
            "device": str(getattr(scene, "device", "cpu")),
        },
    )


def _settings(task: Task) -> dict[str, Any]:
    """The task's settings by name, with which it can be made again."""
    if not hasattr(task, "__dataclass_fields__"):
        return {}
    told = dataclasses.fields(task)  # type: ignore[arg-type]  # looked at right above
    return {field.name: getattr(task, field.name) for field in told}


def library_threads() -> int | None:
    """How many threads the simulator computes with; None where it isn't loaded."""
    torch = sys.modules.get("torch")
    return None if torch is None else int(torch.get_num_threads())


_watches: weakref.WeakKeyDictionary[Any, SceneWatch] = weakref.WeakKeyDictionary()
