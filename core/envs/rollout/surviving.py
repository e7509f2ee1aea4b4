"""An environment whose failures end its episode instead of the run, as trainers do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from isoscope.core.envs.errors import EnvError
from isoscope.core.errors import IsoscopeError, one_line

if TYPE_CHECKING:
    from isoscope.core.envs.scene_env import SceneEnv


class SurvivingEnv(gym.Wrapper[Any, Any, Any, Any]):
    """What a step raises ends the episode: no reward, truncated, not valid.

    The observation is the last one again. ``info["failed"]`` says what happened. Only
    errors that are meant to be told to people are survived; a reset's are not.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._seen: Any = None
        self._control_step = 0

    @property
    def base(self) -> SceneEnv:
        """The environment inside."""
        found: Any = self.env.unwrapped
        return found  # type: ignore[no-any-return]

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Reset."""
        self._seen, info = self.env.reset(**kwargs)
        self._control_step = 0
        return self._seen, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step, or end the episode."""
        self._control_step += 1
        try:
            answer = self.env.step(action)
        except IsoscopeError as error:
            info = {
                "control_step": self._control_step,
                "valid": False,
                "failed": one_line(error),
                "truncated_reason": "exception",
            }
            return np.array(self._seen), 0.0, False, True, info
        self._seen = answer[0]
        return answer

    def looked(self, row: int, field: str) -> np.ndarray[Any, Any] | None:
        """A native field of its own state, float64; None where there is none."""
        if field not in self.base.scene.rows[row].fields:
            return None
        try:
            return np.asarray(self.base.read(row, field), np.float64)
        except EnvError:
            return None

    def places(self) -> np.ndarray[Any, Any] | None:
        """Where its bodies are, float64 [bodies, 3], m; None where that is unknown."""
        rows = [
            self.looked(row.index, "translation")
            for row in self.base.scene.rows
            if row.actor is not None and "translation" in row.fields
        ]
        known = [row for row in rows if row is not None]
        return np.stack(known) if known and len(known) == len(rows) else None
