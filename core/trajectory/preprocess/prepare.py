"""What an actor does to a batch first: merge epochs, mask, filter.

Trace of the merge, E=2 epochs of m=2 chunks, B=2 environments; a letter is a row of one
environment, in the order collected::

    [E*m, B]   a0 b0              [m, E*B]   a0 b0 a2 b2
               a1 b1     ->                  a1 b1 a3 b3
               a2 b2
               a3 b3
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from isoscope.core.trajectory.errors import (
    TrajectoryAssertionError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.preprocess.loss_mask import compute_loss_mask

if TYPE_CHECKING:
    from collections.abc import Mapping

CHUNK_LEVEL = "chunk_level"


def preprocess_embodied_batch(
    batch: Mapping[str, Any],
    *,
    rollout_epoch: int,
    auto_reset: bool,
    ignore_terminations: bool,
    reward_type: str,
    filter_rewards: bool = False,
    group_size: int = 1,
    rewards_lower_bound: float | None = None,
    rewards_upper_bound: float | None = None,
) -> dict[str, Any]:
    """Merge the epochs of a batch, and say which slots count.

    Parameters
    ----------
    batch
        Tensors ``[E*T, B, ...]`` (dones, terminations, truncations and prev_values have
        E more rows), and dicts of such.
    rollout_epoch
        E, the epochs that lie one after the other in time.
    auto_reset, ignore_terminations
        Of the environments: only if both are off is there a loss mask.
    reward_type
        ``"chunk_level"``: the mask and its sum get one column; otherwise one a slot.
    filter_rewards, group_size, rewards_lower_bound, rewards_upper_bound
        Leave out groups of consecutive environments whose mean return is not within the
        bounds, both inclusive.

    Returns
    -------
    dict
        The same keys, ``[T, E*B, ...]``, and ``loss_mask`` (bool) and
        ``loss_mask_sum`` (int64) where there is a mask. The sum is not changed by the
        filter.

    Raises
    ------
    TrajectoryValueError
        If a value is neither a tensor nor a dict, the epochs don't fit, or the filter
        has no bounds.
    TrajectoryAssertionError
        If the environments don't form whole groups.
    """
    merged = merge_rollout_epochs(batch, rollout_epoch)
    mask: Tensor | None = None
    if not auto_reset and not ignore_terminations:
        mask, count = compute_loss_mask(_needed(merged, "dones", "the loss mask"))
        if reward_type == CHUNK_LEVEL:
            mask = mask.any(dim=-1, keepdim=True)
            count = count.amax(dim=-1, keepdim=True)
        merged["loss_mask"], merged["loss_mask_sum"] = mask, count
    if filter_rewards:
        rewards = _needed(merged, "rewards", "the reward filter")
        kept = keep_groups(
            rewards.sum(dim=-1, keepdim=True)
            if reward_type == CHUNK_LEVEL
            else rewards,
            mask,
            group_size,
            rewards_lower_bound,
            rewards_upper_bound,
        )
        merged["loss_mask"] = kept if mask is None else mask & kept
    return merged


def merge_rollout_epochs(
    batch: Mapping[str, Any], rollout_epoch: int
) -> dict[str, Any]:
    """Put epochs side by side: ``[E*m, B, ...]`` becomes ``[m, E*B, ...]``.

    None stays None. Raises :class:`TrajectoryValueError` for a value that is neither a
    tensor nor a dict, and where the rows don't divide into epochs.
    """
    return {key: _merged(key, value, rollout_epoch) for key, value in batch.items()}


def _merged(key: str, value: Any, epochs: int) -> Any:
    if value is None:
        return None
    if isinstance(value, dict):
        return {k: _merged(f"{key}.{k}", v, epochs) for k, v in value.items()}
    if not isinstance(value, Tensor):
        raise TrajectoryValueError(
            f"merging epochs: {key} is {type(value).__name__}; only tensors and dicts "
            "of tensors can be merged, leave it out of the batch"
        )
    if epochs == 1:
        return value
    if value.dim() < 2 or epochs < 1 or value.shape[0] % epochs:
        raise TrajectoryValueError(
            f"merging epochs: {key} is {list(value.shape)}, which does not divide into "
            f"{epochs} epochs of whole rows; check env.train.rollout_epoch"
        )
    apart = value.reshape(epochs, -1, *value.shape[1:]).transpose(0, 1)
    return apart.reshape(apart.shape[0], -1, *value.shape[2:])


def keep_groups(
    rewards: Tensor,
    mask: Tensor | None,
    group_size: int,
    lower: float | None,
    upper: float | None,
) -> Tensor:
    """Keep the groups whose mean return is within the bounds: bool ``[T, b, 1]``.

    `rewards` is ``[T, b, c]``; slots that `mask` (bool, the same shape) leaves out
    don't count. A group is `group_size` consecutive environments.
    """
    if lower is None or upper is None:
        raise TrajectoryValueError(
            "filtering by rewards: algorithm.rewards_lower_bound and "
            "rewards_upper_bound must both be given"
        )
    rows, batch, _ = rewards.shape
    if group_size <= 0 or batch % group_size:
        raise TrajectoryAssertionError(
            f"filtering by rewards: {batch} environments don't form groups of "
            f"{group_size}; change algorithm.group_size or the environments of an actor"
        )
    counted = rewards if mask is None else rewards * mask
    returns = counted.sum(dim=(0, 2)).reshape(-1, group_size)
    means = (
        returns.mean(dim=-1)
        if returns.is_floating_point()
        else returns.float().mean(-1)
    )
    kept = (means >= lower) & (means <= upper)
    columns = kept.repeat_interleave(group_size)
    return columns[None, :, None].expand(rows, batch, 1).contiguous()


def _needed(batch: Mapping[str, Any], key: str, what: str) -> Tensor:
    value = batch.get(key)
    if not isinstance(value, Tensor):
        raise TrajectoryValueError(f"{what} needs {key}, which this batch lacks")
    return value
