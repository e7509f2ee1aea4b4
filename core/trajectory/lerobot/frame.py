"""One frame of an episode, as a LeRobot dataset's writer takes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.trajectory.errors import (
    TrajectoryOverflowError,
    TrajectoryTypeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.lerobot.images import images_of
from isoscope.core.trajectory.lerobot.options import LeRobotOptions, MissingState
from isoscope.core.trajectory.lerobot.values import NUMBERS, to_numpy, truth

if TYPE_CHECKING:
    from numpy.typing import NDArray

STRICT = LeRobotOptions()
STATES = ("states", "state")
TASK = "task_descriptions"
SUCCESS = ("success_once", "success_at_end", "success")
LAST_SEGMENT = 255


@dataclass(kw_only=True, slots=True, eq=False)
class LeRobotFrame:
    """What one environment saw and did in one step.

    Attributes
    ----------
    state
        float32 ``[state_dim]``.
    action
        float32 ``[A]``, what was executed: the expert's where one intervened.
    task
        What the environment was told to do.
    images
        uint8, height x width x channels; keys ``image``, ``wrist_image`` or
        ``wrist_image-k``, ``extra_view_image`` or ``extra_view_image-k``.
    intervene_flag
        Whether `action` is an expert's.
    segment_id
        Which part of the episode this is, 0 to 255.
    step_success
        Whether this step reported success; None where it said nothing.
    """

    state: NDArray[np.float32]
    action: NDArray[np.float32]
    task: str
    images: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    intervene_flag: bool = False
    segment_id: int = 0
    step_success: bool | None = None

    @classmethod
    def from_step(
        cls,
        *,
        observation: Any,
        action: Any,
        info: Any,
        segment_id: int = 0,
        action_dim: int,
        options: LeRobotOptions = STRICT,
    ) -> LeRobotFrame | None:
        """Build a frame from what one environment did in one step.

        Parameters
        ----------
        observation, info
            Of this environment alone.
        action
            ``[A]``, what the policy wanted. None: there is no frame.
        segment_id
            Which part of the episode this is.
        action_dim
            A.
        options
            What is refused.

        Returns
        -------
        LeRobotFrame or None

        Raises
        ------
        TrajectoryValueError
            If the action, the state, the task or a picture can't be recorded.
        """
        if action is None:
            return None
        if to_numpy(action).size != action_dim:
            raise TrajectoryValueError(
                f"recording a frame: the action has {to_numpy(action).size} values; "
                f"actor.model.action_dim is {action_dim}"
            )
        expert = expert_action(info, action_dim)
        return cls.from_values(
            observation=observation,
            action=action if expert is None else expert,
            intervene_flag=expert is not None,
            segment_id=segment_id,
            step_success=cls.success_from_info(info),
            options=options,
        )

    @classmethod
    def from_values(
        cls,
        *,
        observation: Any,
        action: Any,
        task: str | None = None,
        intervene_flag: bool = False,
        segment_id: int = 0,
        step_success: bool | None = None,
        options: LeRobotOptions = STRICT,
    ) -> LeRobotFrame | None:
        """Build a frame of an action that is decided already.

        `task` None takes the observation's. None is returned without an action, and
        without a state where the options say so; errors as in :meth:`from_step`.
        """
        if action is None:
            return None
        state = _first(observation, STATES) if isinstance(observation, dict) else None
        if state is None:
            if options.missing_state is MissingState.DROP:
                return None
            raise TrajectoryValueError(
                "recording a frame: the observation has no state; give it under "
                "'states', or choose missing_state: drop, which leaves the frame out"
            )
        return cls(
            state=_numbers("the state", state),
            action=_numbers("the action", action).reshape(-1),
            task=_task_of(observation, options) if task is None else task,
            images=images_of(observation, options.images),
            intervene_flag=bool(intervene_flag),
            segment_id=segment_id,
            step_success=step_success,
        )

    def to_dict(self, *, episode_success: bool, done: bool) -> dict[str, Any]:
        """Give what the dataset's writer takes.

        ``state`` float32, ``actions`` float32 ``[A]``, ``task`` text, ``is_success``
        (of the whole episode), ``done``, ``intervene_flag`` bool ``[1]``,
        ``segment_id`` uint8 ``[1]``, and the pictures under their own keys.

        Raises
        ------
        TrajectoryOverflowError
            If the segment doesn't fit.
        """
        check_segment(self.segment_id)
        return {
            "state": self.state,
            "actions": self.action,
            "task": self.task,
            "is_success": np.array([episode_success], bool),
            "done": np.array([done], bool),
            "intervene_flag": np.array([self.intervene_flag], bool),
            "segment_id": np.array([self.segment_id], np.uint8),
            **self.images,
        }

    @staticmethod
    def success_from_info(info: Any) -> bool | None:
        """Read whether info reports success; None if it says nothing.

        ``info["episode"]`` is asked first, then info itself; of each the first of
        ``success_once``, ``success_at_end``, ``success`` that is there and not None.
        """
        if not isinstance(info, dict):
            return None
        for place in (info.get("episode"), info):
            if isinstance(place, dict):
                for key in SUCCESS:
                    if place.get(key) is not None:
                        return truth(place[key])
        return None


def expert_action(info: Any, action_dim: int) -> NDArray[np.float32] | None:
    """Read the action of an expert who intervened; None where nobody did.

    Of a whole chunk's actions and flags the last row counts.

    Raises
    ------
    TrajectoryValueError
        If the expert's action is not a whole number of actions.
    """
    if not isinstance(info, dict):
        return None
    action, flag = info.get("intervene_action"), info.get("intervene_flag")
    if action is None or flag is None:
        return None
    rows = expert_rows(action, action_dim)
    if len(rows) > 1:
        flag = flag_rows(flag, len(rows))[-1][:1]
    return rows[-1] if truth(flag) else None


def expert_rows(action: Any, action_dim: int) -> NDArray[np.float32]:
    """Give an expert's action, or the actions of a chunk, as float32 ``[n, A]``."""
    values = _numbers("the expert's action", action).reshape(-1)
    if values.size == 0 or values.size % action_dim:
        raise TrajectoryValueError(
            f"recording a frame: the expert's action has {values.size} values, which "
            f"is not a whole number of actions of {action_dim}; check intervene_action"
        )
    return values.reshape(-1, action_dim)


def flag_rows(flag: Any, count: int) -> NDArray[Any]:
    """Give the flags of `count` actions as ``[count, k]``; one flag is for all."""
    values = to_numpy(flag).reshape(-1)
    if values.size == 1:
        return np.repeat(values, count)[:, None]
    if values.size == 0 or values.size % count:
        raise TrajectoryValueError(
            f"recording a frame: intervene_flag has {values.size} values for {count} "
            "actions of an expert; give one for each"
        )
    return values.reshape(count, -1)


def check_segment(segment_id: int) -> None:
    """Refuse a segment that uint8 can't hold."""
    if not 0 <= segment_id <= LAST_SEGMENT:
        raise TrajectoryOverflowError(
            f"recording a frame: segment {segment_id} of an episode; an episode has at "
            f"most {LAST_SEGMENT + 1} segments, end it earlier"
        )


def _numbers(what: str, value: Any) -> NDArray[np.float32]:
    """Give numbers as float32 of their own memory."""
    array = to_numpy(value)
    if array.dtype.kind not in NUMBERS:
        raise TrajectoryTypeError(
            f"recording a frame: {what} is {array.dtype}; give numbers"
        )
    return np.array(array, np.float32)


def _first(observation: dict[str, Any], names: tuple[str, ...]) -> Any:
    """Give the first of these that is there, even if its value is None."""
    name = next((name for name in names if name in observation), None)
    return None if name is None else observation[name]


def _task_of(observation: dict[str, Any], options: LeRobotOptions) -> str:
    task = observation.get(TASK)
    if isinstance(task, list | tuple):
        task = task[0] if task else None
    if task is None:
        if options.missing_task is not None:
            return options.missing_task
        raise TrajectoryValueError(
            "recording a frame: the observation names no task; give it under "
            f"{TASK!r}, or set missing_task to the text to record instead"
        )
    if not isinstance(task, str | int | float | np.number):
        raise TrajectoryTypeError(
            f"recording a frame: {TASK!r} is {type(task).__name__}; give a text for "
            "each environment"
        )
    return str(task)
