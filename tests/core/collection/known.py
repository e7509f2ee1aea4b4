"""What the tests of collecting share: environments whose every step is known."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from isoscope.core.collection.policies.base import Policy
from isoscope.core.trajectory.policy import PolicyOutput


class Counting(gymnasium.Env[Any, Any]):
    """Ends after so many steps; the observation is (episode, step), the reward 1.

    It truncates instead of terminating in every other episode.
    """

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = spaces.Box(-10, 10, (1,), np.float32)

    def __init__(self, length: int = 3) -> None:
        self.length = length
        self.episode = -1
        self.steps = 0
        self.actions: list[float] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.episode += 1
        self.steps = 0
        return self._observation(), {}

    def step(self, action: Any) -> Any:
        self.actions.append(float(action[0]))
        self.steps += 1
        over = self.steps >= self.length
        cut = over and self.episode % 2 == 1
        info = {"success": over, "step": self.steps}
        return self._observation(), 1.0, over and not cut, cut, info

    def _observation(self) -> Any:
        return np.array([self.episode, self.steps], dtype=np.float32)


class NativeCounting(VectorEnv[Any, Any, Any]):
    """The same without a reset by mask, resetting in the next step."""

    def __init__(self, lengths: list[int], mode: AutoresetMode) -> None:
        self.num_envs = len(lengths)
        self.metadata = {"autoreset_mode": mode}
        self.inside = counting_envs(lengths, mode)
        self.single_action_space = self.inside.single_action_space
        self.action_space = self.inside.action_space
        self.single_observation_space = self.inside.single_observation_space
        self.observation_space = self.inside.observation_space

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        assert not options
        return self.inside.reset(seed=seed)

    def step(self, actions: Any) -> Any:
        return self.inside.step(actions)


def counting_envs(
    lengths: list[int], mode: AutoresetMode = AutoresetMode.DISABLED
) -> SyncVectorEnv[Any, Any]:
    """A vector of counting environments."""
    return SyncVectorEnv(
        [lambda length=length: Counting(length) for length in lengths],  # type: ignore[misc]  # mypy sees no default
        autoreset_mode=mode,
    )


class Numbered(Policy):
    """Acts with the numbers of its inferences; values are the state's second number."""

    has_values = True

    def __init__(self, width: int = 1) -> None:
        self.width = width
        self.acted: list[dict[str, Any]] = []
        self.valued: list[dict[str, Any]] = []

    def act(self, obs: Any, sources: Any) -> PolicyOutput:
        self.acted.append(obs)
        batch = len(obs["states"])
        action = torch.full((batch, self.width), float(len(self.acted)))
        return PolicyOutput(
            forward_inputs={"action": action},
            prev_logprobs=torch.zeros(batch, self.width),
            prev_values=obs["states"][:, 1:2],
            versions=torch.full((batch, self.width), float(self.version)),
        )

    def value(self, obs: Any) -> torch.Tensor:
        self.valued.append(obs)
        values: torch.Tensor = obs["states"][:, 1:2]
        return values
