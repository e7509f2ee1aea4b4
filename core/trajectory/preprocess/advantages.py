"""Advantages, by name: one function each, and what each needs.

Sources: generalised advantage estimation, Schulman et al. 2016 (arXiv:1506.02438);
group relative advantages, Shao et al. 2024 (arXiv:2402.03300), here over the return of
each environment's first episode.

Inside, everything lies in time: rewards and mask ``[S, b]``, dones and values
``[S+1, b]``, row t+1 being the state after step t. Trace of ``gae`` with g = 0.9 and
l = 0.8, one environment, no dones::

    rewards      1       2      3
    values      .5      .4     .3     .2
    delta     0.86    1.87   2.88            r + g * V(next) - V
    advantage 3.699392 3.9436 2.88           delta + g * l * advantage(next)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from isoscope.core.trajectory.errors import TrajectoryValueError
from isoscope.core.trajectory.preprocess.prepare import CHUNK_LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable

GROUP_EPSILON = 1e-6
RAW_EPSILON = 1e-5


@dataclass(frozen=True, slots=True)
class Inputs:
    """What an advantage is computed from; shapes as the module says."""

    rewards: Tensor
    dones: Tensor
    values: Tensor | None
    mask: Tensor | None
    gamma: float
    gae_lambda: float
    group_size: int
    normalize: bool
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Advantage:
    """One way to compute advantages.

    Attributes
    ----------
    compute
        Gives advantages ``[S, b]``, and returns ``[S, b]`` or None.
    needs_values, needs_mask
        What it can't be computed without.
    grouped
        Whether environments must form whole groups.
    """

    compute: Callable[[Inputs], tuple[Tensor, Tensor | None]]
    needs_values: bool = False
    needs_mask: bool = False
    grouped: bool = False


def _gae(given: Inputs) -> tuple[Tensor, Tensor | None]:
    rewards, values = given.rewards, given.values
    assert values is not None
    going_on = ~given.dones
    following = torch.zeros_like(rewards[0])
    returns = torch.empty_like(rewards)
    for step in reversed(range(rewards.shape[0])):
        on = going_on[step + 1]
        delta = rewards[step] + given.gamma * values[step + 1] * on - values[step]
        following = delta + given.gamma * given.gae_lambda * on * following
        returns[step] = following + values[step]
    advantages = returns - values[:-1]
    if given.normalize:
        advantages = _standardised(advantages, given.mask)
    return advantages, returns


def _first_return(given: Inputs) -> Tensor:
    """Sum each environment's rewards up to its first done: float32 ``[b]``."""
    total = torch.zeros(given.rewards.shape[1], dtype=torch.float32)
    for step in reversed(range(given.rewards.shape[0])):
        total = total * ~given.dones[step + 1] + given.rewards[step]
    return total.to(torch.float32)


def _grpo(given: Inputs) -> tuple[Tensor, Tensor | None]:
    assert given.mask is not None
    scores = _first_return(given).reshape(-1, given.group_size)
    mean, deviation = scores.mean(-1, keepdim=True), _deviation(scores, (-1,))
    relative = (scores - mean) / (deviation + GROUP_EPSILON)
    return relative.reshape(1, -1) * given.mask, None


def _grpo_video(given: Inputs) -> tuple[Tensor, Tensor | None]:
    modes = {"frame": (2,), "video": (0, 2)}
    mode = given.options.get("advantage_mode")
    if mode not in modes:
        raise TrajectoryValueError(
            f"computing grpo_video advantages: advantage_mode is {mode!r}; it must be "
            + " or ".join(modes)
        )
    assert given.mask is not None
    grouped = given.rewards.reshape(len(given.rewards), -1, given.group_size)
    mean = grouped.mean(modes[mode], keepdim=True)
    relative = (grouped - mean) / (_deviation(grouped, modes[mode]) + GROUP_EPSILON)
    return relative.reshape(given.rewards.shape) * given.mask, None


def _raw(given: Inputs) -> tuple[Tensor, Tensor | None]:
    assert given.mask is not None
    advantages = _first_return(given)[None] * given.mask
    if given.normalize:
        advantages = _standardised(advantages, given.mask)
    return advantages, None


def _deviation(values: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Unbiased deviation; that of a single value is NaN, without torch's warning."""
    count = 1
    for dim in dims:
        count *= values.shape[dim]
    if count < 2:
        return torch.full_like(values.sum(dims, keepdim=True), float("nan"))
    return values.std(dims, keepdim=True)


def _standardised(values: Tensor, mask: Tensor | None) -> Tensor:
    """Subtract the masked mean and divide by the unbiased masked deviation + 1e-5."""
    counted = values.reshape(-1) if mask is None else values[mask.bool()]
    if counted.numel() == 0:
        return values
    return (values - counted.mean()) / (_deviation(counted, (0,)) + RAW_EPSILON)


ADVANTAGES: dict[str, Advantage] = {
    "gae": Advantage(_gae, needs_values=True),
    "grpo": Advantage(_grpo, needs_mask=True, grouped=True),
    "grpo_video": Advantage(_grpo_video, needs_mask=True, grouped=True),
    "raw": Advantage(_raw, needs_mask=True),
}

# Names that are known and refused, with the reason.
REFUSED: dict[str, str] = {
    "reinpp": "it is written for token sequences and does not fit chunks of actions",
    "grpo_dynamic": "it needs turns of an agent's conversation",
    "opd": "the teacher's log-probabilities exist on the actors only",
}


def advantage(adv_type: str) -> Advantage:
    """Return the advantage of this name.

    Raises
    ------
    TrajectoryValueError
        If there is none, or it is one of those that can't work on chunks; the message
        lists what there is. Names are matched exactly.
    """
    if adv_type in ADVANTAGES:
        return ADVANTAGES[adv_type]
    why = f": {REFUSED[adv_type]}" if adv_type in REFUSED else ""
    raise TrajectoryValueError(
        f"algorithm.adv_type {adv_type!r} is not supported{why}; there is "
        + ", ".join(ADVANTAGES)
    )


def calculate_adv_and_returns(
    *,
    adv_type: str,
    rewards: Tensor,
    dones: Tensor,
    values: Tensor | None = None,
    loss_mask: Tensor | None = None,
    reward_type: str = CHUNK_LEVEL,
    gamma: float = 1.0,
    gae_lambda: float = 1.0,
    group_size: int = 8,
    normalize_advantages: bool = True,
    task_type: str = "embodied",
    prev_logprobs: Tensor | None = None,
    num_action_chunks: int | None = None,
    loss_mask_sum: Tensor | None = None,
    **options: Any,
) -> dict[str, Tensor]:
    """Compute advantages, and returns where the kind has them.

    Parameters
    ----------
    adv_type
        One of :data:`ADVANTAGES`.
    rewards
        Float ``[T, b, C]``.
    dones
        Bool ``[T+1, b, C]``.
    values
        Float ``[T+1, b, c]``; c is 1 for chunk-level rewards and C otherwise.
    loss_mask
        Bool ``[T, b, c]`` or ``[T, b, C]``, or None.
    reward_type
        ``"chunk_level"``: the rewards of a chunk are summed first (c = 1).
    gamma, gae_lambda
        Of ``gae``, per step (so per chunk for chunk-level rewards).
    group_size
        Consecutive environments of a group.
    normalize_advantages
        Standardise ``gae`` and ``raw`` within this batch. The pipeline passes False and
        normalises over all of an actor's shards instead.
    task_type
        ``"embodied"``; nothing else is supported.
    prev_logprobs, num_action_chunks, loss_mask_sum
        Not used by any kind there is; accepted, since callers pass them.
    **options
        ``advantage_mode`` of ``grpo_video``: ``"frame"`` or ``"video"``.

    Returns
    -------
    dict
        ``advantages`` and maybe ``returns``, float ``[T, b, c]``.

    Raises
    ------
    TrajectoryValueError
        For an unknown kind, or where something that it needs is missing or has another
        shape.
    """
    if task_type != "embodied":
        raise TrajectoryValueError(
            f"runner.task_type {task_type!r} is not supported; there is embodied"
        )
    kind = advantage(adv_type)
    doing = f"computing {adv_type} advantages"
    rewards = rewards if rewards.is_floating_point() else rewards.to(torch.float32)
    dones = dones.bool()
    for what, value in (("rewards", rewards), ("dones", dones)):
        if value.dim() != 3:
            raise TrajectoryValueError(
                f"{doing}: {what} is {list(value.shape)}; give [T, b, C] rewards and "
                "[T+1, b, C] dones"
            )
    if reward_type == CHUNK_LEVEL:
        rewards = rewards.sum(dim=-1, keepdim=True)
        dones = dones.any(dim=-1, keepdim=True)
        if loss_mask is not None:
            loss_mask = loss_mask.amax(dim=-1, keepdim=True)
    chunks, batch, slots = rewards.shape
    steps = chunks * slots
    _fits(doing, "dones", dones, (chunks + 1, batch, slots))
    if loss_mask is not None:
        _fits(doing, "the loss mask", loss_mask, (chunks, batch, slots))
    elif kind.needs_mask:
        raise TrajectoryValueError(
            f"{doing}: there is no loss mask; it needs env.train.auto_reset and "
            "ignore_terminations off, or algorithm.filter_rewards on"
        )
    if kind.needs_values:
        if values is None:
            raise TrajectoryValueError(
                f"{doing}: there are no values; set rollout.collect_prev_infos to True "
                "and let the policy give prev_values"
            )
        _fits(doing, "values", values, (chunks + 1, batch, slots))
    if kind.grouped and (group_size <= 0 or batch % group_size):
        raise TrajectoryValueError(
            f"{doing}: {batch} environments don't form groups of {group_size}; change "
            "algorithm.group_size or the environments of an actor"
        )
    given = Inputs(
        rewards=_in_time(rewards),
        dones=_in_time(dones)[-(steps + 1) :],
        values=_in_time(values)[: steps + 1]
        if kind.needs_values and values is not None
        else None,
        mask=None if loss_mask is None else _in_time(loss_mask),
        gamma=gamma,
        gae_lambda=gae_lambda,
        group_size=group_size,
        normalize=normalize_advantages,
        options=options,
    )
    advantages, returns = kind.compute(given)
    result = {"advantages": advantages, "returns": returns}
    return {
        key: value.reshape(chunks, slots, batch).transpose(1, 2).contiguous()
        for key, value in result.items()
        if value is not None
    }


def _in_time(values: Tensor) -> Tensor:
    """``[rows, b, c]`` in the order of time: ``[rows * c, b]``."""
    return values.transpose(1, 2).reshape(-1, values.shape[1])


def _fits(doing: str, what: str, value: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(value.shape) != shape:
        raise TrajectoryValueError(
            f"{doing}: {what} is {list(value.shape)} and must be {list(shape)}; "
            "values and mask have one column for chunk-level rewards and one for each "
            "action slot otherwise"
        )
