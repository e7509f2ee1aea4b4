"""An environment that needs nothing, with an adapter: the tap's own parts are tested.

`install` makes the tap know it, in whatever process it is called.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.labelled import records as r
from isoscope.core.tap import adapters

if TYPE_CHECKING:
    import pytest

    from isoscope.core.tap.adapter import Adapter
    from isoscope.core.tap.session import TapSession

SUBSTEPS = 2


class FakeEnv:
    """Counts; its state is its seed and its count. Episodes last `length` steps."""

    def __init__(self, length: int = 10, fails_at: int = -1) -> None:
        self.length, self.fails_at = length, fails_at
        self.seed, self.count, self.closed = -1, 0, False
        self.substep: Any = lambda _k: None

    def reset(self, seed: int | None = None) -> tuple[int, int]:
        self.seed, self.count = -1 if seed is None else seed, 0
        return self.seed, 0

    def step(self, action: float) -> tuple[tuple[int, int], float, bool]:
        self.count += 1
        if self.count == self.fails_at:
            raise ValueError("this environment fails here")
        for k in range(SUBSTEPS):
            self.substep(k)
        return (self.seed, self.count), action * 2, self.count >= self.length

    def close(self) -> None:
        self.closed = True


class Tapped:
    """A tapped one: a row a substep with a state, a ragged field, a transition."""

    def __init__(self, env: FakeEnv, session: TapSession, index: int | None) -> None:
        self.env, self.session, self.index = env, session, index
        self.episode = self.steps = 0
        self.begun = False

    def _begin(self) -> None:
        recorder = self.session.recorder
        self.begun = True
        self.env_id = self.session.env_index() if self.index is None else self.index
        seeds = [None] * (self.env_id + 1)
        recorder.identify(r.Identity(engine="fake", substeps=SUBSTEPS, seeds=seeds))
        recorder.scene(r.SceneInfo(id=self.env_id, environments=[self.env_id]))
        mesh = np.arange(6.0).reshape(2, 3) + self.env_id
        self.actor = recorder.actor(
            r.ActorInfo(
                name=f"body{self.env_id}",
                type="Rigid",
                scene=self.env_id,
                created_row=recorder.rows,
                reference={"surfRefPositions": mesh},
            )
        )
        state = r.Field(name="translation", shape=(3,), actor=self.actor, unit="m")
        self.frame = recorder.frame([state], "float32", scene=self.env_id)
        contacts = r.Field(name="contacts", shape=(2,), actor=self.actor)
        self.contacts = recorder.ragged(contacts, "float64", scene=self.env_id)
        observation = r.Field(name="observation", shape=(2,), group="observation_after")
        self.seen = recorder.frame([observation], "float64", over="transitions")
        self.env.substep = self.session.guard(self._substep)

    def _substep(self, k: int) -> None:
        recorder, env = self.session.recorder, self.env
        self.frame.put(0, (self.env_id, env.count, k))
        row = recorder.native(
            r.NativeStep(
                env=self.env_id,
                episode=self.episode,
                control_step=env.count,
                substep=k,
                kind=0,
                scene=self.env_id,
                h_s=0.01,
                wall_ns=time.time_ns(),
            ),
            self.frame,
        )
        self.contacts.put(row, [(env.count, k)] * (env.count % 3))
        self.last = row

    def reset(self, seed: int | None = None) -> tuple[int, int]:
        out = self.env.reset(seed)
        if self.session.on:
            with self.session.guard:
                if not self.begun:
                    self._begin()
                self.episode += 1
                self.session.recorder.reset(
                    r.Reset(env=self.env_id, episode=self.episode, seed=seed)
                )
                self._snapshot()
        return out

    def _snapshot(self) -> None:
        self.session.recorder.snapshot(
            r.Snapshot(
                repr((self.env_id, self.episode)).encode() * 100,
                env=self.env_id,
                scene=self.env_id,
                row=self.session.recorder.rows - 1,
                why="reset",
            )
        )

    def step(self, action: float) -> tuple[tuple[int, int], float, bool]:
        try:
            out = self.env.step(action)
        except Exception as error:
            if self.session.on:
                with self.session.guard:
                    self.session.recorder.failure(
                        r.Failure("step", str(error), env=self.env_id)
                    )
            raise
        if self.session.on:
            with self.session.guard:
                self._told(out)
        return out

    def _told(self, out: tuple[tuple[int, int], float, bool]) -> None:
        self.seen.put(0, out[0])
        self.session.recorder.transition(
            r.Transition(
                env=self.env_id,
                episode=self.episode,
                control_step=self.env.count,
                reward=out[1],
                terminated=int(out[2]),
                truncated=0,
                valid=1,
                first_row=self.last - SUBSTEPS + 1,
                last_row=self.last,
                reasons={"why": "length"} if out[2] else None,
            ),
            self.seen,
        )

    def close(self) -> None:
        self.env.close()


class FakeAdapter:
    def wrap(self, env: FakeEnv, session: TapSession, index: int | None) -> Tapped:
        return Tapped(env, session, index)


_known = adapters.adapter_for


def adapter_for(env: Any) -> Adapter:
    """The adapter of fake environments, and those of all others."""
    return FakeAdapter() if isinstance(env, FakeEnv) else _known(env)


def install(monkeypatch: pytest.MonkeyPatch | None = None) -> None:
    """Let the tap of this process know fake environments, for a test or for good."""
    if monkeypatch is not None:
        monkeypatch.setattr(adapters, "adapter_for", adapter_for)
    else:
        adapters.adapter_for = adapter_for


def make_env(length: int = 10, fails_at: int = -1) -> FakeEnv:
    """A factory, for any process."""
    install()
    return FakeEnv(length, fails_at)


def run(env: Any, steps: int, seed: int | None = None) -> list[Any]:
    """Steps with resets in between; returns all that came out."""
    out = [env.reset(seed)]
    for k in range(steps):
        out.append(env.step(k / 8))
        if out[-1][2]:
            out.append(env.reset())
    return out
