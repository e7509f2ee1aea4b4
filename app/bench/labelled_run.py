"""Record a generated shared run with everything that a tap tells of it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.app.bench.shared_run import SharedRun
    from isoscope.core.recording.labelled.frames import Frame

BEGAN_NS = 1_700_000_000_000_000_000
NATIVE_NS = 50_000
BACKLOG_BYTES = 1 << 30  # nobody waits for it
OBSERVED = 4


def record_run(run: SharedRun, path: Path, seed: int = 0) -> None:
    """Write a labelled recording: states, digests, restores, captures, transitions.

    Parameters
    ----------
    run
        What happened; its truth gives the labels.
    path
        The new file.
    seed
        Of what a policy and a task would make up: actions and observations.
    """
    envs = int(run.truth.env.max(initial=-1)) + 1
    identity = r.Identity(
        engine="generated",
        precision="float32",
        substeps=run.substeps,
        environments=envs,
        autoreset_mode="disabled",
        shared_scenes=True,
        threads=1,
        seeds=list(range(envs)),
        solver_statuses={1: "converged"},
        extra={"cores": 2},
    )
    with Recorder(path, identity, backlog_bytes=BACKLOG_BYTES) as recorder:
        recorder.scene(r.SceneInfo(id=0, key="CartPole", engine="generated"))
        _Writer(run, recorder, envs, seed).write()


class _Writer:
    def __init__(self, run: SharedRun, recorder: Recorder, envs: int, seed: int):
        self.run, self.recorder = run, recorder
        rng = np.random.default_rng(seed)
        count = len(run)
        self.actions = rng.uniform(-1, 1, (count, 1)).astype(np.float32)
        self.observed = rng.normal(size=(count, OBSERVED)).astype(np.float32)
        self.last: dict[int, bytes] = {}
        self.seen = [np.zeros(OBSERVED, np.float32)] * envs
        self.state = self._states()
        groups = [("raw_action", 1), ("action", 1)]
        groups += [("observation_before", OBSERVED), ("observation_after", OBSERVED)]
        self.vectors = recorder.frame(
            [r.Field(name="value", shape=(n,), group=group) for group, n in groups],
            "float32",
            over="transitions",
        )
        term = r.Field(name="upright", group="reward_term")
        self.terms = recorder.frame([term], "float64", over="transitions")

    def _states(self) -> Frame:
        fields = []
        self.values = []
        for (name, kind, handle), columns in self.run.actors.items():
            info = r.ActorInfo(name=name, type=kind, handle=handle, static=False)
            number = self.recorder.actor(info)
            for key, values in columns.items():
                if values.dtype != np.float32:
                    continue  # names and handles, which are told once
                shape = tuple(values.shape[1:])
                fields.append(r.Field(name=key, shape=shape, actor=number))
                self.values.append(values)
        return self.recorder.frame(fields, "float32", scene=0)

    def write(self) -> None:
        """Write the run, row by row."""
        truth = self.run.truth
        env, kind = truth.env.tolist(), truth.kind.tolist()
        substep = truth.substep.tolist()
        first = 0
        for row in range(len(self.run)):
            reset = kind[row] == StepKind.RESET
            if reset or substep[row] == 0:
                self._event("restore", row, env[row])
                first = row
            self._native(row)
            if reset or substep[row] == self.run.substeps - 1:
                self._event("capture", row + 1, env[row])
                self._transition(first, row, reset=reset)

    def _event(self, kind: str, row: int, env: int) -> None:
        wall_ns = BEGAN_NS + row * NATIVE_NS
        self.recorder.event(
            r.SceneEvent(kind, row, env, ok=1, wall_ns=wall_ns, process=7, thread=8)
        )

    def _native(self, row: int) -> None:
        run, truth = self.run, self.run.truth
        env = int(truth.env[row])
        after = hashlib.blake2b(str(row).encode(), digest_size=16).digest()
        for index, values in enumerate(self.values):
            self.state.put(index, values[row])
        gravity = run.gravity[row].tolist()
        step = r.NativeStep(
            env=env,
            episode=int(truth.episode[row]),
            control_step=int(truth.control_step[row]),
            substep=int(truth.substep[row]),
            kind=int(truth.kind[row]),
            h_s=float(run.h_s[row]),
            wall_ns=BEGAN_NS + row * NATIVE_NS,
            process=7,
            thread=8,
            gravity_x=gravity[0],
            gravity_y=gravity[1],
            gravity_z=gravity[2],
            solver_status=1,
            solver_iterations=3,
            solver_residual=1e-9,
            digest_before=self.last.get(env, b""),
            digest_after=after,
            configuration_digest=b"as it was made!!",
        )
        self.recorder.native(step, self.state)
        self.last[env] = after

    def _transition(self, first: int, row: int, *, reset: bool) -> None:
        truth = self.run.truth
        env, episode = int(truth.env[row]), int(truth.episode[row])
        if not reset:
            self.vectors.put(0, self.actions[row])
            self.vectors.put(1, self.actions[row])
            self.vectors.put(2, self.seen[env])
            self.terms.put(0, 1.0)
        self.seen[env] = self.observed[row]
        self.vectors.put(3, self.seen[env])
        draws = f"{env} {episode}".encode()
        number = self.recorder.transition(
            r.Transition(
                env=env,
                episode=episode,
                control_step=int(truth.control_step[row]),
                reward=float("nan") if reset else 1.0,
                terminated=-1 if reset else 0,
                truncated=-1 if reset else 0,
                valid=0 if reset else 1,
                first_row=first,
                last_row=row,
                wall_ns=BEGAN_NS + row * NATIVE_NS,
                rng_digest=hashlib.blake2b(draws, digest_size=16).digest(),
            ),
            self.vectors,
            self.terms,
        )
        if reset:
            given = env if episode == 1 else None
            self.recorder.reset(
                r.Reset(env, episode, row, number, seed=given, automatic=0)
            )
