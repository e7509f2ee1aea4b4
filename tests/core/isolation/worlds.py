"""A scene of one falling ball that several environments share, recorded in memory.

It does what the engine does, step by step: an environment restores its own snapshot,
steps the scene, captures. Everything that can go wrong is a method or an argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.attribution.attributor import Attributor
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.recording.model import Actor, Recording
from isoscope.core.recording.registry import load
from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.isolation.findings import Finding

H_S = 0.02
RESET_H_S = 1e-5


class World:
    """The shared scene.

    Parameters
    ----------
    dtype
        The engine's precision.
    gravity
        Along y [m/s²].
    """

    def __init__(self, dtype: Any = np.float32, gravity: float = -9.8) -> None:
        self.dtype, self.gravity, self.drag = dtype, gravity, 0.0
        self.place = np.zeros(3, dtype)
        self.speed = np.zeros(3)
        self.snapshots: dict[Any, Any] = {}
        self.rows: list[tuple[float, float, Any, Any]] = []

    def native(self, h_s: float, push: float = 0.0) -> None:
        """One native step of the scene, whoever takes it."""
        pull = np.array([push, self.gravity, 0.0]) - self.drag * self.speed
        self.speed = self.speed + h_s * pull
        before = self.place
        self.place = (before + h_s * self.speed).astype(self.dtype)
        moved = self.place.astype(np.float64) - before.astype(np.float64)
        mean = (moved / h_s if h_s else moved).astype(self.dtype)
        self.rows.append((h_s, self.gravity, self.place, mean))

    def reset(self, env: Any, at: float = 0.0, speed: float = 0.0) -> None:
        """Start an episode: the ball at a place of its own, one short step."""
        self.place = np.array([at, 1.0, 0.0], self.dtype)
        self.speed = np.array([speed, 0.0, 0.0])
        self.native(RESET_H_S)
        self.capture(env)

    def step(
        self, env: Any, push: float = 1.0, substeps: int = 2, restore: bool = True
    ) -> None:
        """One control step; without `restore` it goes on from what is in the scene."""
        if restore:
            self.restore(env)
        for _ in range(substeps):
            self.native(H_S, push)
        self.capture(env)

    def capture(self, env: Any) -> None:
        self.snapshots[env] = (self.place, self.speed)

    def restore(self, env: Any) -> None:
        self.place, self.speed = self.snapshots[env]

    def recording(self) -> Recording:
        """What a recorder would have written."""
        out = Recording(None, "made", complete=True)
        h_s = np.array([row[0] for row in self.rows])
        gravity = np.zeros((len(h_s), 3))
        gravity[:, 1] = [row[1] for row in self.rows]
        out.steps.append(
            np.arange(len(h_s), dtype=np.int64), np.cumsum(h_s), h_s, gravity
        )
        ball = Actor(0, 1 << 33, "Ball", "Rigid", False, 0)
        place = np.array([row[2] for row in self.rows], self.dtype)
        mean = np.array([row[3] for row in self.rows], self.dtype)
        turned = np.tile(np.array([0, 0, 0, 1], self.dtype), (len(h_s), 1))
        ball.fields.tracks.update(
            translation=Track.of(place.copy()),
            rotation=Track.of(turned),
            translationCom=Track.of(place),
            vcom=Track.of(mean),
        )
        out.actors.append(ball)
        out.real = np.dtype(self.dtype)
        return out


def shared(
    envs: int = 3, control_steps: int = 12, episode: int = 100, **options: Any
) -> World:
    """Environments that take turns, nothing wrong with them."""
    world = World(**options)
    done = dict.fromkeys(range(envs), 0)
    for env in range(envs):
        world.reset(env, 0.3 * env)
    for k in range(control_steps):
        for env in range(envs):
            world.step(env, push_of(env, k))
            done[env] += 1
            if done[env] % episode == 0:
                world.reset(env, 0.3 * env + 0.01 * (k + 1))
    return world


def push_of(env: int, k: int) -> float:
    """An action; no two of them are alike."""
    return float(np.sin(1.7 * env + 0.9 * k + 0.3) * 3)


def examine(source: Recording | World | Path | str) -> Examined:
    """A recording with its steps given to environments."""
    if isinstance(source, World):
        source = source.recording()
    recording = source if isinstance(source, Recording) else load(source)
    attributor = Attributor(recording)
    attributor.update()
    return Examined(recording, attributor.result())


def findings(source: Any, reference: Any = None) -> list[Finding]:
    """All findings on a recording."""
    twin = None if reference is None else examine(reference)
    return audit(Context(examine(source), twin)).findings


def found(source: Any, key: str, reference: Any = None) -> list[Finding]:
    """The findings of one check."""
    return [f for f in findings(source, reference) if f.id == key]


def reason_not_run(source: Any, key: str, reference: Any = None) -> str | None:
    """Why a check could not run; None if it did."""
    twin = None if reference is None else examine(reference)
    not_run = audit(Context(examine(source), twin)).not_run
    return next((one.reason for one in not_run if one.id == key), None)
