"""How a lane group behaves, and where it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from isoscope.core.envs.randomisation.disturbances import DisturbancePlan
from isoscope.core.envs.randomisation.persistent import PersistentPlan

if TYPE_CHECKING:
    from isoscope.core.envs.randomisation.reset_noise import ResetNoise
    from isoscope.core.scene import Array, Worlds


@dataclass(frozen=True, slots=True)
class LaneOptions:
    """How a lane group behaves, apart from its task.

    Attributes
    ----------
    on_nonfinite
        What an action that is not finite does: ``raise`` refuses it before anything is
        touched; ``invalidate`` leaves the environment where it is, marks the transition
        invalid and ends the episode.
    noise
        Noise at a reset, if other than the task's.
    ahead
        Episodes (and control steps) whose random numbers are drawn ahead.
    """

    on_nonfinite: Literal["raise", "invalidate"] = "raise"
    persistent: PersistentPlan = field(default_factory=PersistentPlan)
    disturbances: DisturbancePlan = field(default_factory=DisturbancePlan)
    noise: ResetNoise | None = None
    ahead: int = 1


@dataclass(frozen=True, slots=True)
class LanePlace:
    """Where a lane group is: what a native step that is recorded now belongs to.

    Attributes
    ----------
    envs
        Environment of each lane.
    worlds
        bool [W]: the lanes that take part; None for all.
    episode, control_step
        int64 [W] on the scene's device, from 1; the reset's control step is 0.
    """

    kind: Literal["reset", "substep"]
    envs: tuple[int, ...]
    worlds: Worlds
    episode: Array
    control_step: Array
    substep: int
