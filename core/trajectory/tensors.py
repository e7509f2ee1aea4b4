"""What is stacked or computed with has to be tensors: looked at before it is stored."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from isoscope.core.trajectory.errors import TrajectoryTypeError
from isoscope.core.trajectory.fields import (
    Owner,
    Rows,
    fields_of,
    on_change,
    trajectory_fields,
)

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
_IN_OUTPUT = _IN_TRANSITION | {dict}  # forward_inputs


def check_tensors(chunk: JoinedChunk) -> None:
    """Refuse a chunk of an inferred policy that holds arrays or lists for tensors.

    Raises
    ------
    TrajectoryTypeError
        If a value that becomes part of a trajectory is no tensor, or forward_inputs no
        dict. What is inside of dicts is looked at when it is stacked.
    """
    output, env = chunk.policy.output, chunk.env
    if output is None:
        return
    inputs: Any = output.forward_inputs
    if not isinstance(inputs, dict):
        _refuse(chunk, output.owner, "forward_inputs", inputs, "dict of tensors")
    action = inputs.get("action")
    if action is not None and not isinstance(action, torch.Tensor):
        _refuse(chunk, output.owner, "forward_inputs['action']", action)
    if not _IN_OUTPUT.issuperset(map(type, output.__dict__.values())):
        _look(chunk, output)
    if not _IN_TRANSITION.issuperset(map(type, env.transition.__dict__.values())):
        _look(chunk, env.transition)
    first = env.initial_transition
    if first is not None:
        if not _IN_TRANSITION.issuperset(map(type, first.__dict__.values())):
            _look(chunk, first)
    values = env.__dict__
    for name in _of_env():
        value = values.get(name)
        if value is not None and type(value) is not torch.Tensor:
            _look(chunk, env)


def _look(chunk: JoinedChunk, record: Any) -> None:
    """Refuse what is no tensor in a record that holds something uncommon."""
    for name in _names(record.owner):
        value = record.__dict__.get(name)
        if value is not None and not isinstance(value, torch.Tensor):
            _refuse(chunk, record.owner, name, value)


def _refuse(
    chunk: JoinedChunk, owner: Owner, name: str, value: Any, wanted: str = "tensor"
) -> None:
    raise TrajectoryTypeError(
        f"storing {chunk.key}: {owner}.{name} is a {type(value).__name__}; "
        f"give a {wanted}"
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
