"""Everything that a demo does, round by round, as bytes that can be compared."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.app.demo.run import DemoRun
from isoscope.core.envs.events import SceneEvent, scene_events
from isoscope.core.envs.rollout.records import StoredRows
from isoscope.core.envs.rollout.sources import ResidentSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.app.demo.settings import DemoSettings
    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.envs.rollout.rollout import Rollout

CONTROL = ("raw", "clipped", "applied", "before", "after", "reward", "valid")
CONTROL += ("terminated", "truncated", "control_step", "episode")
TOLD = ("failure", "thread", "cleanup", "create")
# Round by round: what kind of thing, then what it was.
Round = dict[str, list[Any]]


class Trace:
    """What happened in each round; round 0 is the beginning."""

    def __init__(self, run: DemoRun) -> None:
        self.run = run
        self.rounds: list[Round] = []
        self.stored: list[StoredRows] = []
        self._now: Round = defaultdict(list)

    def take(self, rounds: int) -> Trace:
        with self._listening():
            self.run.parts.rollout.begin()
            self._end()
            for _ in range(rounds):
                self.run._put_due()
                self.run.parts.rollout.round()
                self._end()
            self.run.parts.rollout.hand_over()
            self.run.close()
            self._end()
        return self

    def differences(self, other: Trace, number: int) -> set[str]:
        """Kinds of things that are not the same in a round."""
        mine, theirs = self.rounds[number], other.rounds[number]
        return {k for k in mine.keys() | theirs.keys() if mine[k] != theirs[k]}

    def _end(self) -> None:
        self.rounds.append(self._now)
        self._now = defaultdict(list)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        rollout, now = self.run.parts.rollout, self._put
        with ExitStack() as stack:

            def listen(signal: Any, slot: Any) -> None:
                signal.connect(slot)
                stack.callback(signal.disconnect, slot)

            def control(lanes: LaneGroup, step: Any) -> None:
                for name in CONTROL:
                    now(f"control {name}", np.asarray(getattr(step, name)).tobytes())
                for report in step.reports:
                    now("native status", np.asarray(report.status).tobytes())
                scene = lanes.scene
                for actor in scene.actors:
                    if not actor.static:
                        state = (
                            scene.positions(actor.index),
                            scene.velocities(actor.index),
                        )
                        now("state", [np.array(part).tobytes() for part in state])
                now("configuration", scene.configuration_fingerprint())

            def start(lanes: LaneGroup, worlds: Any) -> None:
                now("start", np.asarray(lanes.observation).tobytes())
                now("seed", [streams.seed for streams in lanes.streams])
                now("streams", [repr(streams.capture()) for streams in lanes.streams])

            def event(told: SceneEvent) -> None:
                if told.kind in TOLD:
                    now(f"told {told.kind}", told.env)

            def stored(source: Rollout, rows: StoredRows) -> None:
                self.stored.append(rows)
                for field in fields(StoredRows):
                    now(f"stored {field.name}", _bytes(getattr(rows, field.name)))

            def handed(source: Rollout, store: list[StoredRows]) -> None:
                for rows in store:
                    now("handed", [_bytes(rows.next_obs)])

            def framed(source: Rollout, frame: Any) -> None:
                stamp = frame.env, frame.episode, frame.number, frame.taken_s
                now("frame stamp", stamp)
                now("frame data", frame.data.tobytes())

            def profiled(source: Rollout, lines: Any) -> None:
                names = [(line.name, line.unit, line.parent) for line in lines]
                parts = sum(line.value for line in lines[1:])
                now("profile", (names, parts <= lines[0].value * 1.001))

            def finished(source: Rollout, ended: Any) -> None:
                now("return", ended)

            for scene in {id(g.scene): g.scene for g in self._groups()}.values():
                take_off = scene.on_recorded(lambda scene, h_s: now("native step", h_s))
                stack.callback(take_off)
            for group in self._groups():
                listen(group.control_stepped, control)
                listen(group.was_reset, start)
            listen(scene_events.happened, event)
            listen(rollout.stored, stored)
            listen(rollout.handed, handed)
            listen(rollout.framed, framed)
            listen(rollout.profiled, profiled)
            listen(rollout.finished, finished)
            yield

    def _groups(self) -> list[LaneGroup]:
        source = self.run.parts.source
        if isinstance(source, ResidentSource):
            return [source.batch.lanes]
        found: list[LaneGroup] = self.run.parts.envs.worker_call(0, lane_groups)
        return found

    def _put(self, kind: str, value: Any) -> None:
        self._now[kind].append(value)


def lane_groups(envs: Any) -> list[LaneGroup]:
    return [env.unwrapped.lanes for env in envs]


def traced(settings: DemoSettings, rounds: int) -> Trace:
    return Trace(DemoRun(settings)).take(rounds)


def _bytes(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bytes(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if hasattr(value, "present"):
        return value.values.tobytes(), value.present.tobytes()
    return value
