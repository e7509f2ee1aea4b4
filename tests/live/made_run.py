"""A run made up for tests: environments that step in turn, chunks, ends; recorded.

`MadeRun` writes it by the Recorder's own API, as an adapter does, a turn at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder

BEGAN_NS = 1_700_000_000_000_000_000
STEP_NS = 20_000_000
H_S = 0.01
SUBSTEPS, CHUNK, EPISODE = 2, 4, 24  # native a control step, control steps a chunk, …


def identity(envs: int) -> r.Identity:
    """What ran."""
    names = ["x", "x_dot", "theta", "theta_dot"]
    return r.Identity(
        engine="made",
        engine_version="1.0",
        substeps=SUBSTEPS,
        environments=envs,
        shared_scenes=True,
        control_hz=1 / (H_S * SUBSTEPS),
        simulation_hz=1 / H_S,
        spaces=[
            r.Space(
                role="observation",
                dtype="float32",
                shape=[4],
                names=names,
                units=["m", "m/s", "rad", "rad/s"],
            ),
            r.Space(
                role="action",
                dtype="float32",
                shape=[1],
                names=["force"],
                units=["N"],
                low=[-10.0],
                high=[10.0],
            ),
        ],
    )


class MadeRun:
    """The run, going on turn by turn.

    Parameters
    ----------
    recorder
        Where to.
    envs, sources
        How many environments, divided among how many sources of chunks.
    lag
        Chunks after which one is flushed.
    """

    def __init__(
        self, recorder: IntakeRecorder, envs: int = 8, sources: int = 2, lag: int = 3
    ) -> None:
        self.recorder, self.envs, self.sources, self.lag = recorder, envs, sources, lag
        self.turn = 0
        self.batch = envs // sources
        self._now = BEGAN_NS
        self._random = np.random.default_rng(5)
        recorder.scene(r.SceneInfo(id=0, environments=list(range(envs))))
        self.actors = [
            recorder.actor(r.ActorInfo(name=name, type="Rigid", handle=n + 1, scene=0))
            for n, name in enumerate(("Cart", "Pole"))
        ]
        field = r.Field
        self.state = recorder.frame(
            [
                field(name="translation", shape=(3,), unit="m", actor=actor)
                for actor in self.actors
            ],
            "<f4",
        )
        names = ("x", "x_dot", "theta", "theta_dot")
        self.vectors = recorder.frame(
            [
                field(name="observation", shape=(4,), group=group, names=names)
                for group in ("observation_before", "observation_after")
            ]
            + [
                field(
                    name="action", shape=(1,), unit="N", group=group, names=("force",)
                )
                for group in ("raw_action", "action")
            ]
            + [
                field(name=name, unit="", group="reward_term")
                for name in ("upright", "effort")
            ],
            "<f4",
            "transitions",
        )

    def go(self, turns: int) -> None:
        """Let every environment take so many control steps."""
        for _ in range(turns):
            for env in range(self.envs):
                self._step(env)
            self._chunks()
            self.turn += 1

    def _length(self, env: int) -> int:
        return EPISODE + 3 * (env % 4)

    def _step(self, env: int) -> None:
        recorder, length = self.recorder, self._length(env)
        episode, control = self.turn // length + 1, self.turn % length
        first = -1
        reset = control == 0
        for substep in range(1 if reset else SUBSTEPS):
            self._now += STEP_NS // SUBSTEPS
            row = recorder.native(
                r.NativeStep(
                    env=env,
                    episode=episode,
                    control_step=control,
                    substep=substep,
                    kind=StepKind.RESET if reset else StepKind.SUBSTEP,
                    h_s=1e-5 if reset else H_S,
                    scene_time_s=1e-5 if reset else control * H_S * SUBSTEPS,
                    wall_ns=self._now,
                    gravity_x=0.0,
                    gravity_y=-9.8,
                    gravity_z=0.0,
                )
            )
            first = row if first < 0 else first
            swing = np.sin(0.1 * self.turn + env)
            poses = np.array([swing, 0.4, 0.0, swing, 1.0 + 0.1 * swing, 0.0], "<f4")
            self.state.fill(poses)
            self.state.commit(row)
        last = control == length - 1
        number = recorder.transition(
            r.Transition(
                env=env,
                episode=episode,
                control_step=control,
                reward=float("nan") if reset else 1.0,
                terminated=int(last and env % 2 == 0),
                truncated=int(last and env % 2 == 1),
                valid=int(not reset),
                first_row=first,
                last_row=row,
                wall_ns=self._now,
            )
        )
        raw = 14.0 * np.sin(self.turn + env)
        seen = np.array([swing, 0.1, -swing, 0.2], "<f4")
        values = [*seen, *(seen + 0.01), raw, np.clip(raw, -10, 10), 1 - swing**2, -0.1]
        self.vectors.fill(values)
        self.vectors.commit(number)
        if reset:
            recorder.reset(r.Reset(env=env, episode=episode, row=first, automatic=1))

    def _chunks(self) -> None:
        begins, ends = self.turn % CHUNK == 0, self.turn % CHUNK == CHUNK - 1
        chunk = self.turn // CHUNK
        half = max(self.batch // 2, 1)
        for source in range(self.sources):
            if begins:
                self._tell("policy part", source, chunk, 0, self.batch)
            if ends:
                self._tell("env part", source, chunk, 0, half)
                if half < self.batch and not (source == 1 and chunk % 5 == 3):
                    self._tell("env part", source, chunk, half, self.batch)
                    self._tell("joined", source, chunk, 0, self.batch)
                elif half < self.batch:
                    continue
                old = chunk - self.lag
                if old >= 0 and not (source == 1 and old % 5 == 3):
                    self._tell("flushed", source, old, 0, self.batch)

    def _tell(self, state: str, source: int, chunk: int, first: int, stop: int) -> None:
        self._now += 1000
        self.recorder.chunk(
            r.ChunkEvent(
                state=state,
                step=chunk // 16,
                epoch=chunk // 8 % 2,
                rank=source,
                stage=0,
                chunk=chunk % 8,
                time_s=(self._now - BEGAN_NS) / 1e9,
                first_slot=first,
                stop_slot=stop,
                wall_ns=self._now,
            )
        )


def write(path: Path, envs: int = 8, turns: int = 60, sources: int = 2) -> Path:
    """A whole run in a file."""
    with Recorder(path, identity(envs)) as recorder:
        MadeRun(recorder, envs, sources).go(turns)
    return path
