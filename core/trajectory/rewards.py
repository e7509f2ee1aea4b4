"""Rewards as training sees them: weighted, completed where an episode was cut, spread.

Formulas of sections 2.3 and 2.4 of the trajectory contract.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.core.trajectory.errors import (
    TrajectoryIndexError,
    TrajectoryRuntimeError,
    TrajectoryTypeError,
    TrajectoryValueError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.trajectory.env import EnvTransition
    from isoscope.core.trajectory.steps import TrajectoryStep

Tensor = torch.Tensor
STANDARD = "standard"  # bootstrap what was cut; any other type: whatever ended


def compute(
    transition: EnvTransition,
    bootstrap_values: Tensor | None,
    *,
    env_reward_weight: float,
    reward_weight: float,
    auto_reset: bool,
    bootstrap_type: str,
    gamma: float,
    fresh: bool = True,
) -> Tensor | None:
    """Compose the rewards of one chunk; fresh storage.

    ``r = w_e·rewards + w_m·model``, or the plain rewards where there is no model output
    (w_e is not applied then). Where auto-reset cut an episode in the last slot,
    ``r[:, C-1] += gamma·V``: the state that it would have gone on from is not seen.

    Parameters
    ----------
    transition
        Rewards [B, C] or None, and the flags.
    bootstrap_values
        V, float [B, 1] or [B]; None where nothing is to be completed.
    env_reward_weight, reward_weight
        w_e and w_m.
    auto_reset
        Whether ended environments went on from a reset in the same chunk.
    bootstrap_type
        ``"standard"``: complete truncations; anything else: everything done.
    gamma
        Discount of the value.
    fresh
        False where nobody will write into the result: then rewards in which nothing
        changes are the transition's own, not a copy.

    Returns
    -------
    Tensor or None
        [B, C]; None if the transition has no rewards.

    Raises
    ------
    TrajectoryRuntimeError
        If the model's output doesn't fit the rewards; if a value is needed, and the
        rewards are whole numbers or the values not one a row.
    TrajectoryIndexError
        If the flags are not [B, C], or the values of other environments.
    TrajectoryTypeError
        If the values are no tensor.
    """
    plain = transition.rewards
    if plain is None:
        return None
    model = transition.reward_model_output
    if model is None:
        rewards = plain.clone() if fresh else plain
    else:
        _check_model(model, plain)
        rewards = env_reward_weight * plain + reward_weight * model.to(plain.dtype)
    if bootstrap_values is None or not auto_reset or transition.dones is None:
        return rewards
    standard = bootstrap_type == STANDARD
    ended = transition.truncations if standard else transition.dones
    if ended is None:
        return rewards
    if ended.ndim != 2 or ended.shape[:1] != rewards.shape[:1] or not ended.shape[1]:
        raise TrajectoryIndexError(
            f"completing cut rewards: flags are {list(ended.shape)} and rewards "
            f"{list(rewards.shape)}; give both as [B, C]"
        )
    rows = ended[:, -1].bool()
    if not rows.any():
        return rewards
    if rewards.ndim != 2:
        raise TrajectoryIndexError(
            f"completing cut rewards: they are {list(rewards.shape)}; give [B, C]"
        )
    if not rewards.is_floating_point():
        raise TrajectoryRuntimeError(
            f"completing cut rewards: they are {rewards.dtype}, which can't take "
            "a value; give floating-point rewards"
        )
    given: Any = bootstrap_values  # a record keeps whatever it was given
    if not isinstance(given, Tensor):
        raise TrajectoryTypeError(
            f"completing cut rewards: the bootstrap values are a "
            f"{type(given).__name__}; give a tensor [B, 1]"
        )
    if bootstrap_values.shape[:1] != rows.shape:
        raise TrajectoryIndexError(
            f"completing cut rewards: bootstrap values {list(bootstrap_values.shape)} "
            f"are not of {len(rows)} environments; give [B, 1]"
        )
    if bootstrap_values.numel() != rows.numel():
        raise TrajectoryRuntimeError(
            f"completing cut rewards: bootstrap values {list(bootstrap_values.shape)} "
            f"are not one a row of {list(rewards.shape)}; give [B, 1]"
        )
    if rewards is plain:
        rewards = plain.clone()
    rewards[rows, -1] += gamma * bootstrap_values[rows].flatten()
    return rewards


def _check_model(model: Tensor, plain: Tensor) -> None:
    """Refuse a model's output that doesn't spread over the rewards, as [B, 1] does."""
    pairs = zip(reversed(model.shape), reversed(plain.shape), strict=False)
    if model.ndim > plain.ndim or any(m not in (1, p) for m, p in pairs):
        raise TrajectoryRuntimeError(
            f"composing rewards: reward_model_output is {list(model.shape)} and "
            f"rewards are {list(plain.shape)}; give both as [B, C]"
        )


def check_spread(transition: EnvTransition) -> None:
    """Refuse delayed rewards that can't be spread.

    Raises
    ------
    TrajectoryValueError
        If there are lengths but no model output, or not one length a row.
    """
    lengths, model = transition.reward_assign_lengths, transition.reward_model_output
    if lengths is None:
        return
    if model is None:
        raise TrajectoryValueError(
            "spreading delayed rewards: there are reward_assign_lengths but no "
            "reward_model_output; give both, or no lengths"
        )
    if model.ndim != 2 or len(lengths) != len(model):
        raise TrajectoryValueError(
            f"spreading delayed rewards: {len(lengths)} reward_assign_lengths for "
            f"reward_model_output {list(model.shape)}; give one a row of [B, C]"
        )


def spread(
    transition: EnvTransition, steps: Sequence[TrajectoryStep], reward_weight: float
) -> None:
    """Add a model's reward to the earlier steps that led to it, in place.

    Of the steps that have rewards, the k-th from the end gets ``w_m·model[i]`` in row i
    for k = 2 ... lengths[i]. The last one, k = 1, has it from `compute` already.

    Parameters
    ----------
    transition
        Of the last step; without `reward_assign_lengths` nothing happens.
    steps
        In order, the present one last.
    reward_weight
        w_m.
    """
    check_spread(transition)
    lengths, model = transition.reward_assign_lengths, transition.reward_model_output
    if lengths is None or model is None or not any(length > 1 for length in lengths):
        return
    rewarded = [step for step in steps if step.rewards is not None]
    reach = torch.as_tensor(lengths)
    for back in range(2, min(int(reach.max()), len(rewarded)) + 1):
        rows = (reach >= back).nonzero().flatten()
        rewarded[-back].add_reward(rows, reward_weight * model[rows])


def cut_before_the_end(transition: EnvTransition) -> list[tuple[int, int]]:
    """The truncations that nothing completes: (row, slot) before the last slot.

    Under auto-reset only the last slot's reward is completed by a value; an episode
    that was cut earlier in the chunk ends as if it were worth nothing more.
    """
    cut = transition.truncations
    if cut is None or not _any(cut) or cut.ndim != 2:
        return []
    return [(row, slot) for row, slot in cut[:, :-1].nonzero().tolist()]


def _any(flags: Tensor) -> bool:
    """Whether any is set. Asked of every chunk; NumPy takes half the time of torch."""
    if flags.dtype is torch.bool:
        return bool(np.count_nonzero(flags.numpy()))
    return bool(flags.any())
