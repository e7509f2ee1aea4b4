"""A scene that environments step in turn, small enough to follow with a pencil.

Bodies on springs, pushed at random, turning about their centres. Numbers are rounded as
the engine rounds them: places in the recording's precision, velocities as displacement
over h, rounded again. Snapshots are copies. What an environment does is up to the test;
every native step is recorded with whose it was and which row it went on from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isoscope.core.recording.model import Actor, Recording
from isoscope.core.recording.tracks import Track

H_S = 0.02
RESET_H_S = 1e-5


@dataclass
class State:
    place: np.ndarray[Any, Any]  # [bodies, 3], in the recording's precision
    speed: np.ndarray[Any, Any]  # [bodies, 3]
    angle: np.ndarray[Any, Any]  # [bodies, 3]: rotation vector about z, mostly
    spin: np.ndarray[Any, Any]
    row: int  # the row that left it, -1 for none

    def copy(self) -> State:
        return State(
            self.place.copy(),
            self.speed.copy(),
            self.angle.copy(),
            self.spin.copy(),
            self.row,
        )


@dataclass
class Truth:
    env: list[int] = field(default_factory=list)
    episode: list[int] = field(default_factory=list)
    control_step: list[int] = field(default_factory=list)
    substep: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    # (native, env, episode, control step, whose state)
    missed: list[tuple[int, int, int, int, int]] = field(default_factory=list)


class Scene:
    """Records every step it takes."""

    def __init__(self, bodies: int = 2, real: Any = np.float32, turn: bool = True):
        self.real = real
        self.turn = turn
        self.bodies = bodies
        anchors = np.arange(3 * bodies).reshape(bodies, 3) * 0.3
        still = np.zeros((bodies, 3))
        self.initial = State(
            anchors.astype(real), still.copy(), still.copy(), still.copy(), -1
        )
        self.state = self.initial.copy()
        self.anchor = anchors
        self.h: list[float] = []
        self.columns: list[dict[str, np.ndarray[Any, Any]]] = []
        self.parents: list[int] = []
        self.after_step: Any = None

    def __len__(self) -> int:
        return len(self.h)

    def step(self, h: float, force: np.ndarray[Any, Any] | float = 0.0) -> int:
        """Take a step; gives its row."""
        s = self.state
        before = s.copy()
        h_real = float(self.real(h))
        s.speed = s.speed + h * (-4.0 * (s.place - self.anchor) + force)
        s.place = (s.place + h * s.speed).astype(self.real)
        s.angle = s.angle + h * s.spin * self.turn
        moved = (s.place - before.place).astype(self.real)
        turned, turned_before = _rotation(s.angle), _rotation(before.angle)
        change = (np.eye(3) - turned_before @ turned.transpose(0, 2, 1)) / h
        self.columns.append(
            {
                "translationCom": s.place.copy(),
                "vcom": (moved / self.real(h_real)).astype(self.real),
                "rotation": _quaternion(s.angle).astype(self.real),
                "omega": _skew(change).astype(self.real),
                "vsym": ((change + change.transpose(0, 2, 1)) / 2)
                .reshape(-1, 9)
                .astype(self.real),
            }
        )
        self.parents.append(before.row)
        self.h.append(h)
        s.row = len(self.h) - 1
        if self.after_step is not None:
            self.after_step(self)
        return s.row

    def recording(self, first: int = 0) -> Recording:
        """What was recorded, from row `first` on."""
        out = Recording(None, "made", complete=True)
        h = np.array(self.h[first:])
        rows = len(h)
        gravity = np.tile([0.0, -9.8, 0.0], (rows, 1))
        out.steps.append(np.arange(rows), np.cumsum(h), h, gravity)
        for body in range(self.bodies):
            actor = Actor(body, body + (1 << 32), f"Body{body}", "Rigid", False, 0)
            for name in self.columns[0] if self.columns else ():
                column = np.stack([c[name][body] for c in self.columns[first:]])
                actor.fields.tracks[name] = Track.of(column)
            out.actors.append(actor)
        out.real = np.dtype(self.real)
        return out


class Env:
    """An environment of the scene: resets, steps, and may forget to restore."""

    def __init__(
        self, scene: Scene, number: int, truth: Truth, seed: int, **options: Any
    ):
        self.scene, self.number, self.truth = scene, number, truth
        self.rng = np.random.default_rng(seed)
        self.substeps: int = options.get("substeps", 2)
        self.noise: float = options.get("noise", 0.1)
        self.push: float = options.get("push", 5.0)
        self.episode = self.control = 0
        self.snapshot: State | None = None

    def _note(self, control: int, substep: int) -> None:
        self.truth.env.append(self.number)
        self.truth.episode.append(self.episode)
        self.truth.control_step.append(control)
        self.truth.substep.append(substep)
        self.truth.parent.append(self.scene.parents[-1])

    def reset(self) -> None:
        scene = self.scene
        self.episode += 1
        self.control = 0
        scene.state = scene.initial.copy()
        shape = scene.initial.place.shape
        noise = self.noise * self.rng.standard_normal((3, *shape))
        scene.state.place = (scene.state.place + noise[0]).astype(scene.real)
        scene.state.speed = scene.state.speed + noise[1]
        scene.state.spin = scene.state.spin + 10 * noise[2]
        scene.step(RESET_H_S)
        self._note(0, 0)
        self.snapshot = scene.state.copy()

    def act(self, restore: bool = True, whose: int = -1) -> None:
        scene = self.scene
        assert self.snapshot is not None
        self.control += 1
        if restore:
            scene.state = self.snapshot.copy()
        elif whose != self.number:
            place = (self.episode, self.control)
            self.truth.missed.append((len(scene), self.number, *place, whose))
        force = self.push * self.rng.standard_normal(scene.initial.place.shape)
        for substep in range(self.substeps):
            scene.step(H_S, force)
            self._note(self.control, substep)
        self.snapshot = scene.state.copy()


def turns(order: str, envs: int, rounds: int, rng: np.random.Generator) -> list[int]:
    """Whose turn it is."""
    if order == "fixed":
        return [env for _ in range(rounds) for env in range(envs)]
    if order == "rounds":
        return [int(e) for _ in range(rounds) for e in rng.permutation(envs)]
    return [int(e) for e in rng.integers(0, envs, envs * rounds)]


def run(
    envs: int,
    rounds: int,
    *,
    order: str = "fixed",
    substeps: int = 2,
    seed: int = 0,
    real: Any = np.float32,
    length: int = 9,
    resets: str = "behind",
    missed: tuple[tuple[int, int], ...] = (),
    seeds: list[int] | None = None,
    bodies: int = 2,
    **options: Any,
) -> tuple[Scene, Truth]:
    """Let environments step a scene.

    `length` is how many control steps an episode has, more or less; `resets` says
    whether a reset comes right behind an episode's last step or takes the next turn;
    `missed` are (turn, environment) without a restore.
    """
    planned = turns(order, envs, rounds, np.random.default_rng(seed))
    rng = np.random.default_rng(seed + 1)
    scene, truth = Scene(bodies, real), Truth()
    seeds = seeds or [1000 * seed + k for k in range(envs)]
    made = [
        Env(scene, k, truth, seeds[k], substeps=substeps, **options)
        for k in range(envs)
    ]
    for env in made:
        env.reset()
    last = envs - 1
    ends = [int(length + rng.integers(0, 4)) for _ in range(envs)]
    waiting = [False] * envs
    for number, k in enumerate(planned):
        env = made[k]
        if waiting[k]:
            waiting[k] = False
            env.reset()
            last = k
            continue
        env.act(restore=(number, k) not in missed, whose=last)
        last = k
        if env.control >= ends[k]:
            ends[k] = int(length + rng.integers(0, 4))
            if resets == "behind":
                env.reset()
            else:
                waiting[k] = True
    return scene, truth


def _rotation(vectors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    q = _quaternion(vectors)
    x, y, z, w = q.T
    return np.stack(
        [
            1 - 2 * (y * y + z * z),
            2 * (x * y - z * w),
            2 * (x * z + y * w),
            2 * (x * y + z * w),
            1 - 2 * (x * x + z * z),
            2 * (y * z - x * w),
            2 * (x * z - y * w),
            2 * (y * z + x * w),
            1 - 2 * (x * x + y * y),
        ],
        1,
    ).reshape(-1, 3, 3)


def _quaternion(vectors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    size = np.linalg.norm(vectors, axis=1, keepdims=True)
    axis = vectors / np.maximum(size, 1e-300)
    return np.concatenate([axis * np.sin(size / 2), np.cos(size / 2)], axis=1)


def _skew(matrices: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    m = (matrices - matrices.transpose(0, 2, 1)) / 2
    return np.stack([m[:, 2, 1], m[:, 0, 2], m[:, 1, 0]], 1)
