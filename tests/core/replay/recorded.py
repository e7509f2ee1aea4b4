"""Recordings of our own environments, made when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.attribution.attributor import attribute
from isoscope.core.isolation.context import Examined
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.registry import load
from isoscope.core.tap.api import tap_with
from isoscope.core.tap.session import TapSession

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.app.environments import EnvFactory

    Before = Callable[[int, int, Any], None]


def read(path: Path) -> Examined:
    """A recording and whose its steps were."""
    recording = load(path)
    return Examined(recording, attribute(recording))


def record_in_turn(
    path: Path,
    factory: EnvFactory,
    envs: int = 2,
    steps: int = 10,
    every: int = 4,
    before: Before | None = None,
) -> Examined:
    """Environments that take turns; `before` is called with env, step (from 1), it."""
    session = TapSession(name="test", snapshots_every=every)
    file = session.recorder = Recorder(path, r.Identity())
    made = [tap_with(session, factory(env), None) for env in range(envs)]
    chance = [np.random.default_rng(env) for env in range(envs)]
    for env, one in enumerate(made):
        one.reset(seed=env)
    for step in range(1, steps + 1):
        for env, one in enumerate(made):
            if before is not None:
                before(env, step, one)
            action = chance[env].uniform(-1, 1, one.action_space.shape)
            _, _, terminated, truncated, _ = one.step(action.astype(np.float32))
            if terminated or truncated:
                one.reset()
    for one in made:
        one.close()
    assert session.why_off == ""
    file.close()
    return read(path)


def record_batch(
    path: Path,
    factory: EnvFactory,
    worlds: int = 3,
    steps: int = 10,
    visible: list[int] | None = None,
    mode: str = "NextStep",
) -> Examined:
    """A resident batch."""
    options = {} if visible is None else {"visible": visible}
    session = TapSession(name="test", snapshots_every=4, options=options)
    file = session.recorder = Recorder(path, r.Identity())
    batch = tap_with(session, factory.batch(worlds, autoreset_mode=mode), None)
    chance = np.random.default_rng(0)
    batch.reset(seed=3)
    for _ in range(steps):
        action = chance.uniform(-1, 1, batch.action_space.shape)
        batch.step(action.astype(np.float32))
    batch.close()
    assert session.why_off == ""
    file.close()
    return read(path)
