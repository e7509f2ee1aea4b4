"""What a rollout stores of each control step: rows of the environments it watches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Array: TypeAlias = np.ndarray[Any, Any]
Unit: TypeAlias = Literal["s", "ms"]
STEP_ENTRY = "control step"


@dataclass(frozen=True, slots=True)
class InfoValues:
    """One key of the infos.

    Attributes
    ----------
    values, present
        What stands there [W], and which environments gave it, bool [W].
    ends
        Gives what SAME_STEP tells apart, of rows that ended [W]; it means nothing in
        others. None where nothing is told apart.
    """

    values: Array
    present: Array
    ends: Callable[[], Array] | None = None


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """Where time went: `parent` contains it, ``""`` for the whole."""

    name: str
    value: float
    unit: Unit
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """What a sensor of an environment saw.

    Attributes
    ----------
    number
        The sensor's own count, from 0 in every episode's beginning.
    taken_s, read_s
        On the episode's clock of control, [s].
    data
        Places of the bodies, float64 [bodies, 3], m.
    """

    env: int
    episode: int
    number: int
    taken_s: float
    read_s: float
    data: Array


@dataclass(frozen=True, slots=True)
class EpisodeReturn:
    """What an episode was worth: a sum of rewards, one a control step.

    Attributes
    ----------
    value
        Sum of the rewards of `length` control steps.
    per
        What one reward is of; returns are comparable at the same frequency only.
    """

    env: int
    episode: int
    length: int
    value: float
    control_hz: float
    complete: bool
    per: Literal["control step", "second"] = "control step"


@dataclass(slots=True)
class StoredRows:
    """W rows that one round of steps left: what a trainer learns from.

    Attributes
    ----------
    env, episode, control_step
        int64 [W]. In a row that only reset, `control_step` is 0.
    transition
        bool [W]: rows that are stored as transitions.
    usable
        bool [W]: those of them whose state was valid.
    obs, next_obs
        float32 [W, O].
    action
        float32 [W, A]: as the policy gave it.
    reward
        float64 [W].
    info
        By key.
    fields
        Native fields that were asked for, float64 [W, n]; NaN where there is none.
    policy_state
        What the policy carries on, [W, n], as it was before it acted; None for one that
        carries nothing.
    action_seeded
        bool [W]: whether the action was drawn from a space that somebody seeded; None
        where none was drawn.
    began
        bool [W]: rows after which a new episode begins.
    """

    env: Array
    episode: Array
    control_step: Array
    transition: Array
    usable: Array
    obs: Array
    action: Array
    reward: Array
    terminated: Array
    truncated: Array
    next_obs: Array
    began: Array
    info: dict[str, InfoValues] = field(default_factory=dict)
    fields: dict[str, Array] = field(default_factory=dict)
    policy_state: Array | None = None
    action_seeded: Array | None = None

    def at(self, env: int, episode: int, control_step: int) -> int | None:
        """The row of a control step, None if it is not here."""
        found = np.flatnonzero(
            (self.env == env)
            & (self.episode == episode)
            & (self.control_step == control_step)
        )
        return int(found[0]) if found.size else None
