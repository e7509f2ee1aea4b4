"""Where a fault that is wanted now will happen: the next place that suits its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gymnasium.vector import AutoresetMode

from isoscope.core.envs.faults.order import FaultOrder, Place
from isoscope.core.envs.faults.registry import all_faults
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from isoscope.core.envs.rollout.rollout import Rollout


def next_order(name: str, env: int, rollout: Rollout) -> FaultOrder:
    """Order a fault for the next control step of an environment, or its next reset.

    Call it between two rounds, in the thread that takes them.

    Raises
    ------
    UsageError
        If there is no such fault, or nothing is known of where the environment is.
    """
    kind = all_faults().get(name)
    if kind is None:
        raise UsageError(
            f"putting {name} in: there is no such fault; see isoscope demo "
            "--list-faults"
        )
    at = np.flatnonzero(rollout.source.watched == env)
    if not len(at):
        raise UsageError(
            f"putting {name} in: environment {env} is not watched, so nobody knows "
            "where it is; take one that is shown"
        )
    episode = int(rollout.episode[at[0]])
    count = int(rollout.count[at[0]])
    if _over(rollout, int(at[0])):
        episode, count = episode + 1, 0
    if kind.WHEN == "reset":
        return FaultOrder(name, Place(env, episode + (1 if count else 0), 0))
    if kind.WHEN == "start":
        return FaultOrder(name, Place(env, 1, 0))
    return FaultOrder(name, Place(env, episode, count + 1))


def _over(rollout: Rollout, at: int) -> bool:
    """Whether the next round resets this environment."""
    answer = rollout.answer
    if answer is None or rollout.source.mode is not AutoresetMode.NEXT_STEP:
        return False
    done = answer.terminated[at] or answer.truncated[at]
    return bool(done and answer.transition[at])
