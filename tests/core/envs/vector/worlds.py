"""Environments that the tests of vector environments make in workers."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces

if TYPE_CHECKING:
    from isoscope.core.envs.vector import EnvIndex


class Limit(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Truncates after `limit` steps, which can be changed while it runs."""

    def __init__(self, env: gymnasium.Env[Any, Any], limit: int) -> None:
        super().__init__(env)
        self.limit = limit
        self.steps = 0

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        self.steps = 0
        return self.env.reset(**arguments)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.steps += 1
        return obs, reward, terminated, truncated or self.steps >= self.limit, info


def cartpole(limit: int = 500) -> gymnasium.Env[Any, Any]:
    return Limit(gymnasium.make("CartPole-v1", max_episode_steps=100_000), limit)


class Counting(gymnasium.Env[Any, Any]):
    """Counts episodes and steps; ends as its lengths say, the last one for ever.

    Odd lengths terminate, even ones truncate. The reward is the action. Its info has a
    key only in odd steps, a nested one, and an array.
    """

    def __init__(
        self, lengths: tuple[int, ...] = (3,), *, nested: bool = False
    ) -> None:
        self.lengths = lengths
        self.nested = nested
        self.episode = -1
        self.steps = 0
        self.seeds: list[int | None] = []
        self.options: list[Any] = []
        self.actions: list[Any] = []
        self.closed = 0
        box = spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.observation_space: Any = (
            spaces.Dict({"b": box, "a": spaces.Dict({"n": spaces.Discrete(100)})})
            if nested
            else box
        )
        self.action_space = spaces.Box(-10, 10, (1,), np.float32)

    def _observation(self) -> Any:
        box = np.array([self.episode, self.steps], dtype=np.float64)
        return {"a": {"n": np.int64(self.steps)}, "b": box} if self.nested else box

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.options.append(options)
        if options is not None:
            options["mine"] = True
        self.episode += 1
        self.steps = 0
        return self._observation(), {"episode": self.episode}

    def step(self, action: Any) -> Any:
        self.actions.append(action)
        self.steps += 1
        length = self.lengths[min(self.episode, len(self.lengths) - 1)]
        over = self.steps >= length
        info: dict[str, Any] = {"steps": self.steps}
        if self.steps % 2:
            info |= {"odd": 0.5, "inner": {"flag": True, "deep": {"n": 7}}}
            info |= {"array": np.arange(3), "text": "odd"}
        return (
            self._observation(),
            float(action[0]),
            over and length % 2 == 1,
            over and length % 2 == 0,
            info,
        )

    def close(self) -> None:
        self.closed += 1


class Faulty(Counting):
    """Does something bad at a time that a test chooses.

    `what`: raise, exit, kill, segfault, hang, or wrong. `when`: make, reset, step or
    close. A file in `folder` says which environments were closed.
    """

    def __init__(
        self, index: EnvIndex, where: int, what: str, when: str, folder: str
    ) -> None:
        super().__init__((1000,))
        self.index = index
        self.where = where
        self.what = what
        self.when = when
        self.folder = folder
        self.bad = self.index.global_index == where and not index.probe
        self._perhaps("make")

    def _perhaps(self, when: str) -> None:
        if not self.bad or when != self.when:
            return
        sys.stderr.write(f"about to {self.what}\n")
        match self.what:
            case "raise":
                raise ValueError("the pole is gone")
            case "exit":
                sys.exit(3)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "segfault":
                ctypes.string_at(0)
            case "hang":
                time.sleep(1000)

    def reset(self, **arguments: Any) -> Any:
        self._perhaps("reset")
        return super().reset(**arguments)

    def step(self, action: Any) -> Any:
        self._perhaps("step")
        if self.bad and (self.what, self.when) == ("wrong", "step"):
            return np.zeros(3), 0.0, False, False, {}
        return super().step(action)

    def close(self) -> None:
        self._perhaps("close")
        kind = "probe" if self.index.probe else str(self.index.global_index)
        (Path(self.folder) / f"closed-{kind}").touch()
        super().close()


def faulty(
    where: int, what: str, when: str, folder: str, index: EnvIndex
) -> gymnasium.Env[Any, Any]:
    return Faulty(index, where, what, when, folder)


class Knowing(Counting):
    """Knows who it is."""

    def __init__(self, index: EnvIndex) -> None:
        super().__init__()
        self.index = index


class Named(gymnasium.Env[Any, Any]):
    """Has whatever spaces it is given, and answers with what fits in neither."""

    def __init__(self, observation: Any, action: Any) -> None:
        self.observation_space = observation
        self.action_space = action

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), action
        return self.observation_space.sample(), 0.0, False, False, {"took": str(action)}


class Loose(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Writes much to standard error."""

    def step(self, action: Any) -> Any:
        sys.stderr.write("x" * 200_000 + "\n")
        warnings.warn("this env warns", stacklevel=1)
        return self.env.step(action)


def loud() -> gymnasium.Env[Any, Any]:
    return Loose(Counting())


def add_to_steps(envs: list[Any], lane: int, amount: int) -> int:
    """Do what a fault would: change one environment from outside."""
    envs[lane].steps += amount
    return os.getpid()


def unpicklable(envs: list[Any]) -> Any:
    return lambda: envs
