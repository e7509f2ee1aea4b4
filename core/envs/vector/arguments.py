"""Arguments of vector environments, checked before anything is made or touched."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from isoscope.core.envs.vector.errors import VectorEnvError

Array = np.ndarray[Any, Any]
RESETTING = "resetting the environments"


def mode_of(mode: AutoresetMode | str) -> AutoresetMode:
    """Read an autoreset mode, or its value.

    Raises
    ------
    VectorEnvError
        If there is none like it.
    """
    try:
        return AutoresetMode(mode)
    except ValueError:
        names = ", ".join(repr(one.value) for one in AutoresetMode)
        raise VectorEnvError(
            f"making a vector environment: there is no autoreset mode {mode!r}; there "
            f"are {names}"
        ) from None


def check_arguments(
    num_envs: int,
    workers: int,
    seed_expansion: str,
    threads: int | None,
    timeout_s: float | None,
) -> None:
    """Check the numbers that a vector environment is made with.

    Raises
    ------
    VectorEnvError
        If one is impossible.
    """
    problem = ""
    if num_envs == 0:
        problem = "there are no factories; give one for each environment"
    elif workers < 0 or (workers and num_envs % workers):
        problem = (
            f"{num_envs} environments can't be shared out evenly to {workers} workers; "
            "give a number of workers that divides them, or 0"
        )
    elif seed_expansion not in ("once", "twice"):
        problem = f"seed_expansion is {seed_expansion!r}; give 'once' or 'twice'"
    elif threads is not None and workers == 0:
        problem = "threads_per_worker is for workers, and there are none; leave it out"
    elif threads is not None and threads < 1:
        problem = f"threads_per_worker is {threads}; give 1 or more"
    elif timeout_s is not None and not (timeout_s > 0 and math.isfinite(timeout_s)):
        problem = f"timeout_s is {timeout_s}; give seconds above 0, or None"
    if problem:
        raise VectorEnvError(f"making a vector environment: {problem}")


def reset_mask(
    num_envs: int, options: dict[str, Any] | None
) -> tuple[Array, dict[str, Any] | None]:
    """Take the mask out of a copy of the options; all where there is none.

    Raises
    ------
    VectorEnvError
        If it isn't bool [N] with a True.
    """
    if options is None or "reset_mask" not in options:
        every = np.ones(num_envs, dtype=np.bool_)
        return every, None if options is None else dict(options)
    options = dict(options)
    mask = options.pop("reset_mask")
    if (
        not isinstance(mask, np.ndarray)
        or mask.dtype != np.bool_
        or mask.shape != (num_envs,)
    ):
        given = (
            f"{mask.dtype} {list(mask.shape)}"
            if isinstance(mask, np.ndarray)
            else f"a {type(mask).__name__}"
        )
        raise VectorEnvError(
            f"{RESETTING}: options['reset_mask'] is {given}; give a numpy array "
            f"of bool [{num_envs}]"
        )
    if not mask.any():
        raise VectorEnvError(
            f"{RESETTING}: options['reset_mask'] names no environment; give at "
            "least one True"
        )
    return mask.copy(), options
