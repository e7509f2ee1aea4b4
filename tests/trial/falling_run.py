"""Runs of the falling bodies, with what trial cases 5 and 6 do to them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.app.environments import EnvFactory
from tests.core.replay.recorded import record_in_turn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STEPS, EVERY, SUBSTEPS = 60, 20, 4
# A nudge shows at once, friction only where something touches the ground by then.
IN_FLIGHT, IN_CONTACT = 30, 55
CRATE = 1


def nudge(scene: Any) -> None:
    """Move the crate by 1e-6 m, by hand and past whoever listens."""
    positions = scene.to_host(scene.positions(CRATE), "test").copy()
    velocities = scene.to_host(scene.velocities(CRATE), "test").copy()
    positions[:, 0] += 1e-6
    up = partial(scene.to_device, cause="test")
    type(scene).set_state(scene, CRATE, up(positions), up(velocities), None)


def roughen(scene: Any) -> None:
    """Make friction 5 % larger, past whoever listens."""
    old = np.asarray(scene.persistent_configuration()["friction"])
    type(scene).configure(scene, "friction", old * 1.05)


def record(
    path: Path, disturb: Callable[[Any], None] | None = None, at: int = 0
) -> Path:
    """60 control steps with contacts; `disturb` comes before control step `at`."""

    def before(_env: int, step: int, one: Any) -> None:
        if step == at and disturb is not None:
            disturb(one.unwrapped.scene)

    settings = {"simulation_hz": 50 * SUBSTEPS, "max_steps": STEPS + 1}
    # On its own, it is not restored before each step, which would undo the nudge.
    made = EnvFactory("FallingBodies", settings, scene="independent")
    record_in_turn(path, made, envs=1, steps=STEPS, every=EVERY, before=before)
    return path
