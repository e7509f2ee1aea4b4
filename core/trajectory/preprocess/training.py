"""What both actor paths share, and the path of an actor that got trajectories.

In rollout mode the actor receives trajectories of E epochs and calls
:func:`to_training_batch`, then :func:`~.microbatches.micro_batches`. In pipeline mode
the collector does the same with one epoch at a time, see :mod:`.output`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from isoscope.core.trajectory.errors import TrajectoryValueError
from isoscope.core.trajectory.preprocess.advantages import (
    advantage,
    calculate_adv_and_returns,
)
from isoscope.core.trajectory.preprocess.normalise import (
    masked_stats,
    normalize_from_stats,
)
from isoscope.core.trajectory.preprocess.prepare import preprocess_embodied_batch
from isoscope.core.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.trajectory.preprocess.settings import PreprocessSettings

Batch = dict[str, Any]
log = logging.getLogger(__name__)


def to_training_batch(
    trajectories: Sequence[Trajectory], settings: PreprocessSettings
) -> Batch:
    """Turn the trajectories that an actor received into one training batch.

    Parameters
    ----------
    trajectories
        Of one training step, each of E epochs ``[E*T, b, ...]``.
    settings
        How; `rollout_epoch` is E.

    Returns
    -------
    dict
        Tensors ``[T, E*B, ...]`` (B the environments of all of them, epoch by epoch;
        one more row for dones, terminations, truncations and prev_values), dicts of
        such, and ``advantages``, ``returns`` (gae), ``loss_mask``, ``loss_mask_sum``
        where there are any. Advantages are normalised over all of it.

    Raises
    ------
    TrajectoryValueError
        If there are no trajectories, or something needed is missing or doesn't fit.
    TrajectoryAssertionError
        If the environments don't form whole groups for the reward filter.
    """
    if not trajectories:
        raise TrajectoryValueError(
            "making a training batch: there are no trajectories; collect some first"
        )
    settings.check()
    _tell_of_split_groups(trajectories, settings)
    batch = with_advantages(Trajectory.to_batch(trajectories), settings)
    return normalised([batch], settings)[0]


def _tell_of_split_groups(
    trajectories: Sequence[Trajectory], settings: PreprocessSettings
) -> None:
    """Say where a group reaches from one trajectory into the next; RLinf doesn't."""
    if not (settings.filter_rewards or advantage(settings.adv_type).grouped):
        return
    sizes = [trajectory.batch_size for trajectory in trajectories]
    if any(size % settings.groups for size in sizes[:-1]):
        log.warning(
            "making a training batch: trajectories of %s environments are not whole "
            "groups of algorithm.group_size %d, so groups reach from one into the "
            "next; that is right only for shards of one source, in their order",
            ", ".join(map(str, sizes)),
            settings.groups,
        )


def with_advantages(batch: Mapping[str, Any], settings: PreprocessSettings) -> Batch:
    """Merge epochs, add the masks, then advantages and returns; nothing normalised."""
    merged = preprocess_embodied_batch(
        batch,
        rollout_epoch=settings.rollout_epoch,
        auto_reset=settings.auto_reset,
        ignore_terminations=settings.ignore_terminations,
        reward_type=settings.reward_type,
        filter_rewards=settings.filter_rewards,
        group_size=settings.groups,
        rewards_lower_bound=settings.rewards_lower_bound,
        rewards_upper_bound=settings.rewards_upper_bound,
    )
    for name in ("rewards", "dones"):
        if not isinstance(merged.get(name), Tensor):
            raise TrajectoryValueError(
                f"computing {settings.adv_type} advantages: there are no {name}; "
                "the environment part has to carry them in every chunk"
            )
    found = calculate_adv_and_returns(
        adv_type=settings.adv_type,
        rewards=merged["rewards"],
        dones=merged["dones"],
        values=merged.get("prev_values"),
        loss_mask=merged.get("loss_mask"),
        loss_mask_sum=merged.get("loss_mask_sum"),
        prev_logprobs=merged.get("prev_logprobs"),
        num_action_chunks=settings.num_action_chunks,
        reward_type=settings.reward_type,
        gamma=settings.gamma,
        gae_lambda=settings.gae_lambda,
        group_size=settings.groups,
        normalize_advantages=False,
        advantage_mode=settings.advantage_mode,
    )
    return {**merged, **found}


def normalised(shards: Sequence[Batch], settings: PreprocessSettings) -> list[Batch]:
    """Normalise the advantages of one actor over all its shards, if that is wanted."""
    if not settings.normalize_advantages or not shards:
        return list(shards)
    stats = torch.stack(
        [masked_stats(each["advantages"], each.get("loss_mask")) for each in shards]
    ).sum(dim=0)
    return [
        {**each, "advantages": normalize_from_stats(each["advantages"], stats)}
        for each in shards
    ]
