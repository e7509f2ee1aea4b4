"""A run of environments that share a scene, recorded by the recorder, step by step.

It does what a tap sees: restore, native steps, capture, transition. Whatever can go
wrong is an argument, or a call that is left out. Nothing is wrong unless told.
"""

from __future__ import annotations

import hashlib
import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.attribution.attributor import Attributor
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.model import StepKind
from isoscope.core.recording.registry import load

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.isolation.findings import Audit, Finding, NotRun

H_S = 0.02
RESET_H_S = 1e-5
DROP = object()  # a value that is not to be recorded


class Run:
    """A run under way.

    Parameters
    ----------
    path
        A folder; the recording goes into it.
    envs, substeps
        How many.
    digests, states, events
        Whether they are recorded.
    scenes
        The scene of each environment; all share one by default.
    identity
        Further fields of the identity.
    """

    def __init__(
        self,
        path: Path,
        envs: int = 2,
        *,
        substeps: int = 2,
        digests: bool = True,
        states: bool = True,
        events: bool = True,
        scenes: list[int] | None = None,
        info: tuple[str, ...] = (),
        task_state: tuple[str, ...] = ("target",),
        hidden: bool = False,
        **identity: Any,
    ) -> None:
        self.path = path / "run.isoscope.h5"
        self.envs, self.substeps = envs, substeps
        self.digests, self.states, self.events = digests, states, events
        self.scene_of = scenes or [0] * envs
        told: dict[str, Any] = {
            "engine": "made",
            "precision": "float64",
            "substeps": substeps,
            "control_hz": 1 / (substeps * H_S),
            "simulation_hz": 1 / H_S,
            "environments": envs,
            "autoreset_mode": "disabled",
            "shared_scenes": len(set(self.scene_of)) < envs,
            "solver_statuses": {0: "converged", 1: "stopped", 2: "diverged"},
            "threads": 1,
            "extra": {"cores": 4},
        }
        self.recorder = Recorder(self.path, r.Identity(**(told | identity)))
        self.frames: dict[int, Any] = {}
        self._examined: Examined | None = None
        for scene in sorted(set(self.scene_of)):
            self.recorder.scene(r.SceneInfo(id=scene, key="ball", engine="made"))
            ball = self.recorder.actor(
                r.ActorInfo(name="Ball", type="Rigid", scene=scene, static=False)
            )
            fields = [
                r.Field(name=name, shape=(3,), unit=unit, actor=ball)
                for name, unit in (("translationCom", "m"), ("vcom", "m/s"))
            ]
            if not states:
                continue
            self.frames[scene] = self.recorder.frame(fields, "float64", scene=scene)
        groups = [("raw_action", "value", 1), ("action", "value", 1)]
        groups += [
            ("observation_before", "value", 4),
            ("observation_after", "value", 4),
        ]
        self.vectors = self.recorder.frame(
            [r.Field(name=n, shape=(size,), group=g) for g, n, size in groups],
            "float32",
            over="transitions",
        )
        self.numbers_of = [("reward_term", "alive")]
        self.numbers_of += [("info", name) for name in info]
        self.numbers_of += [("task_state", name) for name in task_state]
        self.numbers_of += [("info", "hidden_state")] if hidden else []
        self.numbers = self.recorder.frame(
            [r.Field(name=name, group=group) for group, name in self.numbers_of],
            "float64",
            over="transitions",
        )
        # Of the scenes: position, speed, and what no velocity shows.
        self.world: dict[int, tuple[float, float, float]] = {}
        self.own: dict[int, tuple[float, float, float]] = {}
        self.configuration = dict.fromkeys(self.scene_of, "usual")
        # What an environment observes in place of what is hidden, where it has one.
        self.targets: dict[int, float] = {}
        self.episode = dict.fromkeys(range(envs), 0)
        self.k = dict.fromkeys(range(envs), 0)
        self.draws = dict.fromkeys(range(envs), 0)
        self.seen: dict[int, Any] = {}
        self.thread = 11
        self.wall_ns = 1_700_000_000_000_000_000

    # -- what a tap tells --------------------------------------------------------------

    @property
    def rows(self) -> int:
        """The next native row."""
        return self.recorder.rows

    def event(self, kind: str, env: int, ok: int = 1, **more: Any) -> None:
        self.wall_ns += 1000
        scene = self.scene_of[env] if env >= 0 else 0
        told = {"row": self.rows, "env": env, "scene": scene, "ok": ok}
        told |= {"wall_ns": self.wall_ns, "process": 7, "thread": self.thread}
        if self.events:
            self.recorder.event(r.SceneEvent(kind, **(told | more)))

    def failure(self, what: str, env: int, message: str = "", **detail: Any) -> None:
        self.wall_ns += 1000
        self.recorder.failure(
            r.Failure(
                what,
                message,
                row=self.rows,
                env=env,
                wall_ns=self.wall_ns,
                detail=detail or None,
            )
        )

    def configure(
        self, env: int, key: str, old: Any, new: Any, told: int | None = None
    ) -> None:
        """A change of the configuration of an environment's scene, and who is told."""
        scene = self.scene_of[env]
        self.configuration[scene] = f"{key}={new}"
        self.recorder.change(
            r.ConfigurationChange(
                key,
                old,
                new,
                row=self.rows,
                env=env if told is None else told,
                scene=scene,
            )
        )

    # -- a step's parts ----------------------------------------------------------------

    def digest(self, state: tuple[float, float, float]) -> bytes:
        packed = struct.pack("<3d", *state)
        return hashlib.blake2b(packed, digest_size=16).digest()

    def restore(self, env: int, state: Any = None, **more: Any) -> None:
        """Bring the own state back, or another one."""
        self.world[self.scene_of[env]] = self.own[env] if state is None else state
        self.event("restore", env, **more)

    def capture(self, env: int) -> None:
        self.own[env] = self.world[self.scene_of[env]]
        self.event("capture", env)

    def native(self, env: int, substep: int, push: float = 0.0, **more: Any) -> int:
        """One native step, whoever's state is in the scene."""
        scene = self.scene_of[env]
        before = self.world[scene]
        h_s = more.pop("h_s", H_S)
        speed = before[1] + h_s * (push - 9.8 * (scene >= 0) + before[2])
        place = before[0] + h_s * speed
        after = (place, speed, before[2])
        self.world[scene] = after
        self.wall_ns += 1000
        k = self.k[env]
        free = more.pop("free", False)
        told: dict[str, Any] = {
            "env": env,
            "episode": self.episode[env],
            "control_step": k,
            "substep": substep,
            "kind": StepKind.SUBSTEP if k else StepKind.RESET,
            "scene": scene,
            "h_s": h_s,
            "wall_ns": self.wall_ns,
            "process": 7,
            "thread": self.thread,
            "gravity_y": -9.8,
            "gravity_x": 0.0,
            "gravity_z": 0.0,
            "solver_status": 0,
            "solver_iterations": 3,
            "solver_residual": 1e-12,
        }
        if free:
            told |= dict.fromkeys(("env", "episode", "control_step", "substep"), -1)
            told["kind"] = StepKind.FREE
        if self.digests:
            said = self.configuration[scene].encode()
            told["digest_before"] = self.digest(before)
            told["digest_after"] = self.digest(after)
            told["configuration_digest"] = hashlib.blake2b(
                said, digest_size=16
            ).digest()
        frames = []
        if self.states:
            frame = self.frames[scene]
            frame.put(0, [place, 1.0, 0.0])
            frame.put(1, [(place - before[0]) / h_s if h_s else speed, 0.0, 0.0])
            frames.append(frame)
        return self.recorder.native(r.NativeStep(**(told | more)), *frames)

    def observe(self, env: int) -> Any:
        place, speed, hidden = self.world[self.scene_of[env]]
        third = self.targets.get(env, hidden)
        return np.array([place, speed, third, place * speed], np.float32)

    def transition(
        self, env: int, first: int, last: int, push: float = 0.0, **more: Any
    ) -> int:
        """The row of a control step or a reset."""
        k = self.k[env]
        values = {
            "alive": 1.0,
            "target": 0.25 * env + self.episode[env],
            **{n: math.nan for _, n in self.numbers_of if n not in ("alive", "target")},
        }
        observation = more.pop("observation", None)
        seen = self.observe(env) if observation is None else observation
        values |= more.pop("values", {})
        action = more.pop("action", push)
        if k:
            self.vectors.put(0, [action])
            self.vectors.put(1, [np.clip(action, -3, 3)])
            self.vectors.put(2, self.seen[env])
        self.vectors.put(3, seen)
        self.seen[env] = seen
        for index, (_, name) in enumerate(self.numbers_of):
            if not (isinstance(values[name], float) and math.isnan(values[name])):
                self.numbers.put(index, values[name])
        rng = more.pop("rng", f"{env}/{self.episode[env]}/{self.draws[env]}")
        told: dict[str, Any] = {
            "env": env,
            "episode": self.episode[env],
            "control_step": k,
            "reward": 1.0 if k else math.nan,
            "terminated": 0 if k else -1,
            "truncated": 0 if k else -1,
            "valid": 1 if k else 0,
            "first_row": first,
            "last_row": last,
            "wall_ns": self.wall_ns,
            "rng_digest": hashlib.blake2b(rng.encode(), digest_size=16).digest(),
        }
        return self.recorder.transition(
            r.Transition(**(told | more)), self.vectors, self.numbers
        )

    # -- whole steps -------------------------------------------------------------------

    def reset(
        self,
        env: int,
        seed: Any = None,
        at: float | None = None,
        states: Any = None,
        **more: Any,
    ) -> None:
        """Begin an episode: at a place of its own, one short step."""
        self.episode[env] += 1
        self.k[env] = 0
        scene = self.scene_of[env]
        self.event("restore", env)
        place = 0.3 * env + 0.01 * self.episode[env] if at is None else at
        self.world[scene] = (place, 0.0, 0.0)
        row = self.native(env, 0, h_s=RESET_H_S)
        self.capture(env)
        number = self.transition(env, row, row, **more)
        self.recorder.reset(
            r.Reset(
                env=env,
                episode=self.episode[env],
                row=row,
                transition=number,
                seed=seed,
                rng=states,
            )
        )

    def step(
        self,
        env: int,
        push: float | None = None,
        *,
        restore: bool = True,
        native: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """One control step; without `restore` it goes on from what is in the scene."""
        self.k[env] += 1
        push = push_of(env, self.k[env]) if push is None else push
        if restore:
            self.restore(env)
        rows = [
            self.native(env, substep, push, **(native or {}))
            for substep in range(self.substeps)
        ]
        self.capture(env)
        self.transition(env, rows[0], rows[-1], push, **more)

    def resets(self, **more: Any) -> Run:
        """Reset all of them."""
        for env in range(self.envs):
            self.reset(env, **more)
        return self

    def steps(self, control_steps: int) -> Run:
        """All of them take turns."""
        for _ in range(control_steps):
            for env in range(self.envs):
                self.step(env)
        return self

    # -- what is found in it -----------------------------------------------------------

    def examine(self) -> Examined:
        """Close the recording and read it."""
        if self._examined is None:
            self.recorder.close()
            recording = load(self.path)
            attributor = Attributor(recording)
            attributor.update()
            self._examined = Examined(recording, attributor.result())
        return self._examined

    def audit(self) -> Audit:
        return audit(Context(self.examine()))

    def findings(self) -> list[Finding]:
        return self.audit().findings

    def only(self, key: str) -> Finding:
        """The one finding there is."""
        found = self.findings()
        assert [f.id for f in found] == [key], [f.message for f in found]
        return found[0]

    def not_run(self, key: str) -> NotRun | None:
        """Why a check did not run; None if it did."""
        return next((n for n in self.audit().not_run if n.id == key), None)


def push_of(env: int, k: int) -> float:
    """An action; no two of them are alike."""
    return float(np.sin(1.7 * env + 0.9 * k + 0.3) * 2.5)
