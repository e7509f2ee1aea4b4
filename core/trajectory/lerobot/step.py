"""One low-level step of one environment, taken out of a chunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.core.trajectory.lerobot.values import truth

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(kw_only=True, slots=True, eq=False)
class LeRobotStep:
    """What one environment did in one step.

    Attributes
    ----------
    env_index
        The environment's row in its source batch.
    observation, info
        Of this step; which observation that is, the chunk's pairing says.
    action
        float32 ``[A]``, what the policy wanted; None where nothing was sent.
    terminated, truncated
        Whether the episode ended here.
    reset_observation, reset_info
        What an automatic reset in this step gave; None without one.
    completion_info
        What a shortened chunk told about the episode's end; None unless it ended.
    """

    env_index: int
    observation: Any
    info: Any
    action: NDArray[np.float32] | None = None
    terminated: bool = False
    truncated: bool = False
    reset_observation: Any = None
    reset_info: Any = None
    completion_info: Any = None

    @property
    def done(self) -> bool:
        """Whether the episode ended here, for whatever reason."""
        return self.terminated or self.truncated

    def info_flag(self, key: str) -> bool:
        """Say whether info has this flag set; no, if it says nothing about it."""
        return isinstance(self.info, dict) and truth(self.info.get(key))
