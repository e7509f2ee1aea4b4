"""Isolation under time-multiplexing: together as alone, but for a missed restore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.app.environments import EnvFactory
from isoscope.core.envs.stages import Stages, WrappedStages

if TYPE_CHECKING:
    from isoscope.core.envs.lanes import LaneGroup

N = 4
SEEDS = (3, 1, 4, 1)
TASKS = {
    "CartPole": {"max_steps": 6},
    "DoublePendulumRail": {"max_steps": 5},
    "Pusher": {"max_steps": 4, "simulation_hz": 100},
}


def factory(task: str, scene: Any, stages: Stages | None = None) -> EnvFactory:
    return EnvFactory(
        task, TASKS[task], scene=scene, stages=stages, integrator="semi_implicit"
    )


def traces(envs: list[Any], steps: int) -> list[list[Any]]:
    """Everything each environment gives back; they take turns."""
    found: list[list[Any]] = [[] for _ in envs]
    rngs = [np.random.default_rng(i) for i in range(N)]
    for one, seed, trace in zip(envs, SEEDS, found, strict=True):
        trace.append(one.reset(seed=seed)[0])
    for _ in range(steps):
        for one, rng, trace in zip(envs, rngs, found, strict=True):
            action = rng.uniform(-1, 1, one.action_space.shape).astype(np.float32)
            observation, reward, terminated, truncated, _ = one.step(action)
            trace.append(np.append(observation, [reward, terminated, truncated]))
            if terminated or truncated:
                trace.append(one.reset()[0])
    for one in envs:
        one.close()
    return found


def first_difference(a: list[Any], b: list[Any]) -> int | None:
    for at, (x, y) in enumerate(zip(a, b, strict=True)):
        if not np.array_equal(x, y):
            return at
    return None


@pytest.mark.parametrize("task", TASKS)
def test_together_as_alone(task: str) -> None:
    together, alone = factory(task, "shared"), factory(task, "independent")
    a = traces([together(i) for i in range(N)], 9)
    b = traces([alone(i) for i in range(N)], 9)
    assert [first_difference(x, y) for x, y in zip(a, b, strict=True)] == [None] * N


class MissedRestore(WrappedStages):
    """Env 2 goes on from whatever is there, once."""

    def restore(self, lanes: LaneGroup) -> None:
        if not bool(lanes.at(2, episode=1, control_step=4).any()):
            super().restore(lanes)


def test_a_missed_restore_shows_in_that_environment_at_that_step() -> None:
    faulty = factory("CartPole", "shared", MissedRestore(Stages()))
    alone = factory("CartPole", "independent")
    a = traces([faulty(i) for i in range(N)], 6)
    b = traces([alone(i) for i in range(N)], 6)
    found = [first_difference(x, y) for x, y in zip(a, b, strict=True)]
    assert found == [None, None, 4, None]
