"""Seeds of the environments, from what `reset` was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from isoscope.core.envs.vector.errors import VectorEnvError

SeedExpansion = Literal["once", "twice"]
Seed = int | None
DOING = "resetting the environments"


def expanded(
    seed: Any, num_envs: int, per_worker: int, expansion: SeedExpansion = "once"
) -> tuple[Seed, ...]:
    """Give every environment its seed.

    Parameters
    ----------
    seed
        None: no environment is seeded. An integer s: environment g gets s + g. A list
        or an array of N: each its own; None leaves a generator as it is.
    num_envs, per_worker
        N and K.
    expansion
        ``"twice"`` gives environment j of worker p the seed s + p + j, so that some get
        the same one. SuperDex Lab 1.0.0 does so; for diagnosis only. A list is not
        expanded.

    Raises
    ------
    VectorEnvError
        If it is none of these.
    """
    if seed is None:
        return (None,) * num_envs
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
        first = _checked(seed, "the seed")
        if expansion == "twice":
            return tuple(first + sum(divmod(g, per_worker)) for g in range(num_envs))
        return tuple(first + g for g in range(num_envs))
    if isinstance(seed, np.ndarray) and seed.ndim == 1:
        seed = list(seed)
    if isinstance(seed, Sequence) and not isinstance(seed, (str, bytes)):
        if len(seed) != num_envs:
            raise VectorEnvError(
                f"{DOING}: there are {len(seed)} seeds and {num_envs} environments; "
                "give one for each, None to leave a generator as it is"
            )
        return tuple(
            None if one is None else _checked(one, f"seed {at}")
            for at, one in enumerate(seed)
        )
    raise VectorEnvError(
        f"{DOING}: the seed is a {type(seed).__name__}; give an integer, a list of "
        f"{num_envs} integers or None, or None"
    )


def _checked(seed: Any, name: str) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise VectorEnvError(
            f"{DOING}: {name} is a {type(seed).__name__}; give an integer"
        )
    if seed < 0:
        raise VectorEnvError(f"{DOING}: {name} is {seed}; give one from 0 upward")
    return int(seed)
