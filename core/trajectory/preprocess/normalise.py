"""Normalise advantages over several shards that never lie in one tensor.

The statistics of a shard are three sums; those of several shards add up.
"""

from __future__ import annotations

import torch
from torch import Tensor

from isoscope.core.trajectory.errors import TrajectoryAssertionError

EPSILON = 1e-5


def masked_stats(values: Tensor, mask: Tensor | None) -> Tensor:
    """Count, sum and sum of squares of the masked entries: float64 ``[3]``.

    Raises :class:`TrajectoryAssertionError` if the mask has another shape.
    """
    wide = values.detach().to(torch.float64)
    if mask is None:
        counted = wide.reshape(-1)
    else:
        if mask.shape != values.shape:
            raise TrajectoryAssertionError(
                f"normalising: the loss mask is {list(mask.shape)} and the advantages "
                f"are {list(values.shape)}; a reward filter without a loss mask needs "
                "algorithm.reward_type chunk_level"
            )
        counted = wide[mask.bool()]
    count = torch.tensor(counted.numel(), dtype=torch.float64)
    return torch.stack([count, counted.sum(), (counted * counted).sum()])


def normalize_from_stats(values: Tensor, stats: Tensor) -> Tensor:
    """Subtract the mean and divide by the deviation that `stats` tells, as float32.

    ``(x - mean) / sqrt(variance + 1e-5)``, with the population variance; applied to
    every entry, also to those the mask left out. `stats` is what :func:`masked_stats`
    gave, or a sum of several such.
    """
    count = stats[0].clamp(min=1.0)
    mean = stats[1] / count
    variance = (stats[2] / count - mean * mean).clamp(min=0.0)
    wide = values.to(torch.float64)
    return ((wide - mean) / torch.sqrt(variance + EPSILON)).to(torch.float32)
