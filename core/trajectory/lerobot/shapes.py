"""The forms in which a chunk's data may come, and the one that is worked with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.trajectory.errors import (
    TrajectoryAssertionError,
    TrajectoryRuntimeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.lerobot.values import to_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def steps(value: Any, count: int) -> tuple[Any, ...]:
    """Give one value a step: a list as it is, anything else `count` times."""
    return tuple(value) if isinstance(value, list | tuple) else (value,) * count


def actions(
    value: Any, name: str, num_envs: int, slots: int, action_dim: int
) -> NDArray[Any] | None:
    """Give actions as ``[B, C, A]``; ``[B, A]`` is a chunk of one slot.

    Three axes are taken as they are. Raises :class:`TrajectoryValueError` for any
    other shape.
    """
    if value is None:
        return None
    array = to_numpy(value)
    shaped: NDArray[Any] | None = None
    if array.ndim == 3:
        shaped = array
    elif array.ndim == 2 and array.shape[1] == slots * action_dim:
        shaped = array.reshape(len(array), slots, action_dim)
    elif array.ndim == 2 and array.shape[1] == action_dim:
        shaped = array[:, None, :]
    if shaped is None or len(shaped) != num_envs or not shaped.shape[1]:
        raise TrajectoryValueError(
            f"decoding a chunk: {name} is {list(array.shape)}; it must be "
            f"[{num_envs}, {slots}, {action_dim}], [{num_envs}, {slots * action_dim}] "
            f"or [{num_envs}, {action_dim}]"
        )
    return shaped


def flags(value: Any, num_envs: int, slots: int) -> NDArray[Any] | None:
    """Give the policy's intervention flags as ``[B, C]``."""
    if value is None:
        return None
    array = to_numpy(value)
    if array.size != num_envs * slots:
        raise TrajectoryValueError(
            f"decoding a chunk: the policy's intervene_flags are {list(array.shape)}; "
            f"they must be [{num_envs}, {slots}]"
        )
    return array.reshape(num_envs, slots)


def check_ends(ends: NDArray[Any], num_envs: int, steps: int) -> None:
    """Refuse terminations or truncations that don't tell every step.

    They are ``[B, C]`` with C at least the number of steps, ``[B]`` or a scalar.
    """
    if ends.size == 1 and ends.ndim < 2:
        return
    fits = ends.ndim in (1, 2) and len(ends) == num_envs
    if not fits or (ends.ndim == 2 and ends.shape[1] < steps):
        raise TrajectoryValueError(
            f"decoding a chunk: terminations or truncations are {list(ends.shape)} for "
            f"{num_envs} environments and {steps} steps; they must be "
            f"[{num_envs}, {steps}], [{num_envs}] or one flag"
        )


def mask(
    value: Any, ends: tuple[NDArray[Any], NDArray[Any]], num_envs: int, steps: int
) -> NDArray[np.bool_] | None:
    """Give the mask of executed slots as bool ``[B, S]``.

    Raises
    ------
    TrajectoryAssertionError
        If terminations and truncations are not of its shape.
    TrajectoryValueError
        If it is not of the chunk's size, or an executed slot follows one that wasn't.
    """
    if value is None:
        return None
    executed: NDArray[np.bool_] = to_numpy(value).astype(bool)
    for flag in ends:
        if flag.ndim != 2 or flag.shape != executed.shape:
            raise TrajectoryAssertionError(
                f"decoding a chunk: terminations or truncations are {list(flag.shape)} "
                f"and the mask is {list(executed.shape)}; with a mask both are of its "
                "shape"
            )
    if executed.shape != (num_envs, steps):
        raise TrajectoryValueError(
            f"decoding a chunk: the mask is {list(executed.shape)}; it must be "
            f"[{num_envs}, {steps}], environments and steps"
        )
    holes = (executed[:, 1:] & ~executed[:, :-1]).any(axis=1)
    if holes.any():
        env = int(np.argmax(holes))
        row = executed[env].astype(int).tolist()
        raise TrajectoryValueError(
            f"decoding a chunk: the mask of environment {env} is {row}; the executed "
            "slots must be a contiguous prefix, ones and then zeros"
        )
    return executed


def executed_mask(counts: Sequence[int | None], slots: int) -> NDArray[np.bool_]:
    """Make the mask of a chunk from how many of its actions each environment executed.

    Parameters
    ----------
    counts
        One an environment; None: all of them.
    slots
        C.

    Returns
    -------
    array
        bool ``[B, C]``.

    Raises
    ------
    TrajectoryRuntimeError
        If a count is below 0 or above C.
    """
    for env, count in enumerate(counts):
        if count is not None and not 0 <= count <= slots:
            raise TrajectoryRuntimeError(
                f"masking a chunk: environment {env} says that it executed {count} of "
                f"{slots} actions; executed_action_count goes from 0 to {slots}"
            )
    lengths = [slots if count is None else count for count in counts]
    mask: NDArray[np.bool_] = np.arange(slots)[None] < np.array(lengths)[:, None]
    return mask
