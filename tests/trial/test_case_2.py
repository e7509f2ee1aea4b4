"""SAME_STEP's last observation: both autoreset modes have the same true transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from isoscope.app.environments import EnvFactory

if TYPE_CHECKING:
    from collections.abc import Callable

N = 2
STEPS = 14


def factory(scene: Any) -> EnvFactory:
    settings = {"max_steps": 3, "upright_rad": 0.045}
    return EnvFactory("CartPole", settings, scene=scene, integrator="semi_implicit")


def sync(scene: str) -> Callable[[str], Any]:
    def make(mode: str) -> Any:
        made = factory(scene)
        return SyncVectorEnv(
            [lambda i=i: made(i) for i in range(N)], autoreset_mode=mode
        )

    return make


def resident(mode: str) -> Any:
    return factory("shared").batch(N, autoreset_mode=mode)


def transitions(vector: Any, mode: str) -> tuple[list[set[Any]], list[int], int]:
    """True transitions of each lane by the mode's own rule, their numbers, the ends.

    The action is a function of the observation, so that the true rollout is the same,
    whichever rows the mode gives to resets.
    """
    before, _ = vector.reset(seed=100)
    done = np.zeros(N, np.bool_)
    lanes: list[set[Any]] = [set() for _ in range(N)]
    counts, ends = [0] * N, 0
    for _ in range(STEPS):
        action = (40.0 * before[:, 3:4]).astype(np.float32)
        after, reward, terminated, truncated, info = vector.step(action)
        for i in range(N):
            true_next = after[i]
            if mode == "SameStep" and (terminated[i] or truncated[i]):
                assert info["_final_obs"][i]
                true_next = info["final_obs"][i]
                # the observation that is given is the next episode's first
                assert not np.array_equal(true_next, after[i])
                ends += 1
            if mode == "SameStep" or not done[i]:
                lanes[i].add(
                    (
                        before[i].tobytes(),
                        action[i].tobytes(),
                        float(reward[i]),
                        true_next.tobytes(),
                        bool(terminated[i]),
                        bool(truncated[i]),
                    )
                )
                counts[i] += 1
        done = (terminated | truncated) & (mode == "NextStep")
        before = after
    return lanes, counts, ends


@pytest.mark.parametrize("make", [sync("shared"), sync("independent"), resident])
def test_both_modes_have_the_same_transitions(make: Any) -> None:
    found = {}
    for mode in ("NextStep", "SameStep"):
        vector = make(mode)
        found[mode] = transitions(vector, mode)
        vector.close()
    slow, slow_counts, _ = found["NextStep"]
    fast, fast_counts, ends = found["SameStep"]
    assert ends >= 4
    assert fast_counts == [STEPS] * N
    for i in range(N):
        assert len(slow[i]) == slow_counts[i] < STEPS
        # up to where the shorter one ends
        assert slow[i] < fast[i]
