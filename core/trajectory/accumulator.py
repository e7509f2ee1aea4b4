"""Steps of one source, one after another, until they become a trajectory."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoscope.core.trajectory.trajectory import Trajectory, equal_spans

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.trajectory.env import EnvTransition
    from isoscope.core.trajectory.steps import TrajectoryStep

log = logging.getLogger(__name__)


@dataclass(slots=True)
class TrajectoryAccumulator:
    """Collects steps in order.

    Attributes
    ----------
    max_episode_length
        Low-level steps of the longest episode.
    steps
        What there is so far.
    tell
        Where to say that something is left out of a trajectory.
    """

    max_episode_length: int = 0
    steps: list[TrajectoryStep] = field(default_factory=list)
    tell: Callable[[str], None] = log.warning

    def append(self, step: TrajectoryStep) -> None:
        """Add a step after the others."""
        self.steps.append(step)

    def assign_history_rewards(
        self, transition: EnvTransition, reward_weight: float
    ) -> None:
        """Spread the last step's delayed reward over those before it, in place.

        Parameters
        ----------
        transition
            Of the last step; without `reward_assign_lengths` nothing happens.
        reward_weight
            Weight of the reward model.
        """
        transition.assign_history_rewards(self.steps, reward_weight)

    def to_trajectory(self) -> Trajectory:
        """Stack the steps."""
        return Trajectory.from_steps(self.steps, self.max_episode_length, self.tell)

    def to_shards(self, shards: int, batch_size: int) -> list[Trajectory]:
        """Stack the steps into trajectories of equally many environments.

        The same as ``to_trajectory().split(shards)``; each number is written once.

        Raises
        ------
        TrajectoryValueError
            If the environments can't be divided like that.
        """
        spans = [None] if shards == 1 else equal_spans(batch_size, shards)
        return Trajectory.shards_from_steps(
            self.steps, self.max_episode_length, spans, self.tell, batch_size
        )

    def clear(self) -> None:
        """Forget the steps."""
        self.steps.clear()
