"""What is stacked or computed with has to be tensors: looked at before it is stored."""

from __future__ import annotations

from functools import cache
from numbers import Integral
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import torch

from isoscope.core.trajectory.env import EnvTransition
from isoscope.core.trajectory.errors import TrajectoryTypeError
from isoscope.core.trajectory.fields import (
    Owner,
    Rows,
    fields_of,
    on_change,
    trajectory_fields,
)
from isoscope.core.trajectory.policy import PolicyOutput

if TYPE_CHECKING:
    from isoscope.core.trajectory.joiner import JoinedChunk

# What a step is computed from, beside the fields that it takes as they are.
_USED = {
    Owner.POLICY_OUTPUT: ("intervene_flags",),
    Owner.ENV_TRANSITION: (
        "rewards",
        "intervene_actions",
        "intervene_flags",
        "reward_model_output",
    ),
    Owner.ENV_PART: ("bootstrap_values",),
}
# Almost always there is nothing else in these, which is quickly seen.
_IN_TRANSITION: frozenset[type] = frozenset({torch.Tensor, type(None)})
_IN_OUTPUT = _IN_TRANSITION | {dict}  # forward_inputs, and no other


def check_tensors(chunk: JoinedChunk, *, observations: bool) -> None:
    """Refuse a chunk of an inferred policy that holds other things than it should.

    Parameters
    ----------
    chunk
        The chunk.
    observations
        Whether those before and after it are kept, so that they have to be dicts.

    Raises
    ------
    TrajectoryTypeError
        If a value that becomes part of a trajectory is no tensor, an observation no
        dict, or a record of another kind. What is inside of dicts is looked at when it
        is stacked.
    """
    policy, env = chunk.policy, chunk.env
    output: Any = policy.output
    transition: Any = env.transition
    first: Any = env.initial_transition
    if output is None:
        return
    if not isinstance(output, PolicyOutput):
        _refuse(chunk, policy.owner, "output", output, "a PolicyOutput")
    if not isinstance(transition, EnvTransition):
        _refuse(chunk, env.owner, "transition", transition, "an EnvTransition")
    if first is not None and not isinstance(first, EnvTransition):
        _refuse(chunk, env.owner, "initial_transition", first, "an EnvTransition")
    inputs = output.forward_inputs
    if not isinstance(inputs, dict):
        _refuse(chunk, output.owner, "forward_inputs", inputs, "a dict of tensors")
    action = inputs.get("action")
    if action is not None and not isinstance(action, torch.Tensor):
        _refuse(chunk, output.owner, "forward_inputs['action']", action)
    kinds = [*map(type, output.__dict__.values())]
    if kinds.count(dict) != 1 or not _IN_OUTPUT.issuperset(kinds):
        _look(chunk, output)
    if not _IN_TRANSITION.issuperset(map(type, transition.__dict__.values())):
        _look(chunk, transition)
        _look_at_lengths(chunk, transition.reward_assign_lengths)
    if first is not None:
        if not _IN_TRANSITION.issuperset(map(type, first.__dict__.values())):
            _look(chunk, first)
    values = env.__dict__
    for name in _of_env():
        value = values.get(name)
        if value is not None and type(value) is not torch.Tensor:
            _look(chunk, env)
    if not observations:
        return
    for owner, name, obs in (
        (policy.owner, "obs", policy.obs),
        (env.owner, "next_obs", env.next_obs),
        (env.owner, "next_rlt_obs", env.next_rlt_obs),
    ):
        if obs is not None and not isinstance(obs, dict):
            _refuse(chunk, owner, name, obs, "a dict of tensors")


def _look_at_lengths(chunk: JoinedChunk, lengths: Any) -> None:
    whole = isinstance(lengths, torch.Tensor | np.ndarray) and lengths.ndim == 1
    listed = isinstance(lengths, list | tuple) and all(
        isinstance(length, Integral) for length in lengths
    )
    if lengths is not None and not whole and not listed:
        _refuse(
            chunk,
            Owner.ENV_TRANSITION,
            "reward_assign_lengths",
            lengths,
            "a list with a whole number for each environment",
        )


def _look(chunk: JoinedChunk, record: Any) -> None:
    """Refuse what is no tensor in a record that holds something uncommon."""
    for name in _names(record.owner):
        value = record.__dict__.get(name)
        if value is not None and not isinstance(value, torch.Tensor):
            _refuse(chunk, record.owner, name, value)


def _refuse(
    chunk: JoinedChunk, owner: Owner, name: str, value: Any, wanted: str = "a tensor"
) -> NoReturn:
    raise TrajectoryTypeError(
        f"storing {chunk.key}: {owner}.{name} is {type(value).__name__}; give {wanted}"
    )


@cache
def _of_env() -> tuple[str, ...]:
    return _names(Owner.ENV_PART)


@cache
def _names(owner: Owner) -> tuple[str, ...]:
    own = [
        item.name
        for item in fields_of(owner)
        if item.rows is not Rows.NONE and not item.tree
    ]
    if owner is Owner.ENV_PART:
        own += [
            item.extra
            for item in trajectory_fields()
            if item.rows is Rows.T_PLUS_LAST and item.extra is not None
        ]
    return (*own, *_USED.get(owner, ()))


on_change(_names.cache_clear)
on_change(_of_env.cache_clear)
