"""Where an expert took over: whose action is kept, and what is flagged.

Section 2.5 of the trajectory contract. Flags come as [B, C], one a slot, or as [B] or
[B, 1] for the whole chunk; how many slots they cut an action into is read from them, so
that [B, D] flags single numbers. Actions are flat, [B, D].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from isoscope.core.trajectory.errors import (
    TrajectoryRuntimeError,
    TrajectoryTypeError,
    TrajectoryValueError,
)

if TYPE_CHECKING:
    from isoscope.core.trajectory.steps import TrajectoryStep

Tensor = torch.Tensor
MODEL_ACTION = "model_action"  # the model's own, which no longer is what was done


def apply(step: TrajectoryStep, expert: Tensor, flags: Tensor | None) -> None:
    """Replace the policy's numbers by the expert's where they are flagged, in place.

    The numbers are chosen, not blended, so that whatever stands in an expert's
    unflagged slots (NaN often) does no harm. `prev_logprobs` stay those of the policy.

    Parameters
    ----------
    step
        Its actions [B, D], flags and forward_inputs are replaced, and model_action is
        taken out of these. Without actions nothing happens.
    expert
        [B, D].
    flags
        [B, C], [B, 1] or [B].

    Raises
    ------
    TrajectoryValueError
        If there are no flags, or the ranks are others.
    TrajectoryRuntimeError
        If the widths don't fit.
    """
    policy = step.actions
    if policy is None:
        return
    if flags is None:
        raise TrajectoryValueError(
            "applying an intervention: there are intervene_actions without "
            "intervene_flags; say with flags [B, C] which slots are the expert's"
        )
    if policy.ndim != 2 or expert.ndim != 2:
        raise TrajectoryValueError(
            f"applying an intervention: actions are {list(policy.shape)} and "
            f"intervene_actions {list(expert.shape)}; flatten both to [B, D]"
        )
    chosen = spread_flags(flags, policy)
    if expert.shape != policy.shape:
        raise TrajectoryRuntimeError(
            f"applying an intervention: intervene_actions are {list(expert.shape)} and "
            f"the policy's {list(policy.shape)}; give both in one shape"
        )
    # where() promotes two dtypes to the wider, as adding them would
    actions = torch.where(chosen, expert, policy)
    step.actions, step.intervene_flags = actions, chosen
    step.env_side = chosen
    inputs = step.forward_inputs
    if "action" in inputs:
        inputs["action"] = actions
    if inputs.pop(MODEL_ACTION, None) is not None:
        step.taken_out = frozenset({MODEL_ACTION})


def spread_flags(flags: Tensor, actions: Tensor) -> Tensor:
    """Repeat flags over the numbers of their slots: bool [B, D].

    Parameters
    ----------
    flags
        [B, C], [B, 1] or [B], of any dtype; what isn't zero counts.
    actions
        [B, D] or [B, C, A].
    """
    if flags.ndim == 1:
        flags = flags[:, None]
    if flags.ndim != 2:
        raise TrajectoryValueError(
            f"reading intervention flags: they are {list(flags.shape)}; "
            "give [B, C], or [B] for the whole chunk"
        )
    rows, slots = flags.shape
    width = actions[0].numel() if actions.ndim and len(actions) else 0
    if actions.shape[:1] != (rows,) or slots == 0 or width % slots:
        raise TrajectoryRuntimeError(
            f"reading intervention flags: {list(flags.shape)} don't fit actions "
            f"{list(actions.shape)}; the slots must divide an action's numbers"
        )
    per_slot = flags.bool()[:, :, None].expand(rows, slots, width // slots)
    return per_slot.reshape(rows, width)


def mark(step: TrajectoryStep, flags: Tensor, *, overwrite: bool) -> None:
    """Take in the policy side's flags, in place.

    Parameters
    ----------
    step
        Without actions nothing happens.
    flags
        [B, C], [B, 1] or [B].
    overwrite
        Whether they replace the environment's; otherwise a number is flagged if either
        side flagged it, and the step keeps what each of them said.
    """
    if step.actions is None:
        return
    spread = spread_flags(flags, step.actions)
    step.policy_side = spread
    if step.env_side is None or overwrite:
        step.intervene_flags, step.env_side = spread, None
    else:
        step.intervene_flags = step.env_side | spread


def reference_chunk(reference: Any, expert: Tensor, flags: Tensor) -> Tensor:
    """Replace the flagged slots of an RLT reference chunk by the expert's.

    Parameters
    ----------
    reference
        [B, L·A] or [B, L, A], at least as long as the chunk; only its first C slots can
        change.
    expert
        [B, C·A].
    flags
        [B, C], [B, 1] or [B].

    Raises
    ------
    TrajectoryRuntimeError
        If the reference is shorter than the chunk.
    TrajectoryTypeError
        If it is no tensor.
    """
    if not isinstance(reference, torch.Tensor):
        raise TrajectoryTypeError(
            f"replacing a reference chunk: ref_chunk is {type(reference).__name__}; "
            "give a tensor"
        )
    chosen = spread_flags(flags, expert)
    width = expert[0].numel() if len(expert) else 0
    fits = reference.ndim in (2, 3) and len(reference) == len(chosen)
    flat = reference.flatten(1) if fits else None
    if flat is None or flat.shape[1] < width:
        raise TrajectoryRuntimeError(
            f"replacing a reference chunk: ref_chunk is {list(reference.shape)} and "
            f"the expert's {list(expert.shape)}; it must be as long as the chunk"
        )
    replaced = flat.clone()
    head = torch.where(chosen, expert.reshape(chosen.shape), flat[:, :width])
    replaced[:, :width] = head
    return replaced.reshape(reference.shape)
