"""Record Gymnasium's own vector environments by the tap, as a training script would."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.tap.api import tap_with
from isoscope.core.tap.session import TapSession
from tests.data.recipe.make_autoreset import ACTIONS, SEED, TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


class Counting(gym.Env[Any, Any]):
    """Ends after a number of steps, as it is told; what it shows is what it was at.

    The observation is (episode, step); the reward is the step's number.
    """

    def __init__(self, length: int, ends: tuple[bool, bool] = (True, False)) -> None:
        self.observation_space = gym.spaces.Box(-1e6, 1e6, (2,), np.float64)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.length, self.ends = length, ends
        self.episode = self.at = 0

    def reset(self, **kwargs: Any) -> Any:
        super().reset(**kwargs)
        self.episode, self.at = self.episode + 1, 0
        return self.seen(), {}

    def step(self, action: Any) -> Any:
        self.at += 1
        over = self.at >= self.length
        terminated, truncated = (over and end for end in self.ends)
        return self.seen(), float(self.at), terminated, truncated, {}

    def seen(self) -> Any:
        return np.array([self.episode, self.at], np.float64)


def counting(lengths: Sequence[int], mode: AutoresetMode) -> Any:
    return SyncVectorEnv(
        [partial(Counting, length) for length in lengths], autoreset_mode=mode
    )


def record(
    path: Path, env: Any, steps: int, action: Callable[[int], Any], seed: int = 100
) -> None:
    """Step an environment that the tap watches; all of it goes to a file.

    Where nothing resets by itself, what is done is reset by a mask before it goes on.
    """
    session = TapSession(name="trial", snapshots_every=0)
    file = Recorder(path, r.Identity())
    session.recorder = file
    watched = tap_with(session, env, None)
    watched.reset(seed=seed)
    by_hand = env.unwrapped.autoreset_mode is AutoresetMode.DISABLED
    done = np.zeros(env.num_envs, np.bool_)
    for step in range(steps):
        if by_hand and done.any():
            watched.reset(options={"reset_mask": done})
        _, _, terminated, truncated, _ = watched.step(action(step))
        done = terminated | truncated
    assert session.why_off == ""
    file.close()
    watched.close()


def golden(path: Path, table: str, mode: AutoresetMode) -> None:
    """Record what a golden table was made of."""
    limits, steps = TABLES[table]
    env = SyncVectorEnv(
        [partial(gym.make, "CartPole-v1", max_episode_steps=limit) for limit in limits],
        autoreset_mode=mode,
    )
    record(path, env, steps, lambda _: np.array(ACTIONS), SEED)
