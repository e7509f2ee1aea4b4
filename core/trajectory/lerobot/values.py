"""Reading what environments report: tensors, arrays, lists, dicts, numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

NUMBERS = "biuf"  # NumPy's kinds of bool, whole and floating-point numbers


def to_numpy(value: Any) -> NDArray[Any]:
    """Give any tensor, array, list or number as an array; memory may be shared."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    return np.asarray(value)


def env_slice(value: Any, env: int, num_envs: int) -> Any:
    """Pick one environment out of a nested batch.

    Tensors and arrays whose first axis, and lists whose length, is `num_envs` are
    indexed; dicts inside; anything else belongs to all environments. A single number
    out of an array is a plain one.
    """
    if isinstance(value, dict):
        return {key: env_slice(each, env, num_envs) for key, each in value.items()}
    if isinstance(value, Tensor | np.ndarray):
        if not value.ndim or value.shape[0] != num_envs:
            return value
        row = value[env]
        return row.item() if isinstance(row, np.generic) else row
    if isinstance(value, list) and len(value) == num_envs:
        return value[env]
    return value


def truth(value: Any) -> bool:
    """Say whether a flag is set: any of its values, None is not."""
    return value is not None and bool(to_numpy(value).any())
