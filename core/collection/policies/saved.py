"""A collection's policy as a checkpoint: weights, connector, and its chance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.policies.mlp import MlpPolicy
from isoscope.core.replay.checkpoint.model import Box, Checkpoint, part
from isoscope.core.replay.checkpoint.networks import MLP, mlp_part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.collection.policies.base import Policy

TAKEN = {"policy", "connector", "rng"}
ACTING = ["body.0", "body.2", "actor"]


def checkpoint_of(
    policy: Policy,
    names: list[str] | None = None,
    about: Mapping[str, Any] | None = None,
) -> Checkpoint:
    """Put all that acted into a checkpoint.

    Parameters
    ----------
    names
        Of the action's components.
    about
        Plain values: the run that it acted in.

    Raises
    ------
    CollectionError
        If the policy has no weights to keep, or actions that a saved one can't give.
    """
    if not isinstance(policy, MlpPolicy):
        raise CollectionError(
            f"keeping a {type(policy).__name__}: it has no weights; take --policy mlp"
        )
    spec = policy.spec
    if spec.choices and (len(spec.choices) != 1 or any(spec.start)):
        raise CollectionError(
            "keeping the policy: its actions are several discrete numbers, or don't "
            "count from 0, which a saved policy can't give"
        )
    limited = bool(spec.low) and all(map(math.isfinite, (*spec.low, *spec.high)))
    low, high = list(spec.low), list(spec.high)
    weights = mlp_part(
        {
            name: value
            for name, value in policy.network.state_dict().items()
            if value.numel()
        },
        ACTING,
        chunk=policy.chunk,
        needs=["connector"],
    )
    connector = part("none", {"size": spec.width})
    if limited:
        connector = part("clip", {}, {"low": _floats(low), "high": _floats(high)})
    chance = part("keyed", {"seed": policy.seed, "version": policy.version})
    action = Box(
        size=spec.width,
        low=low if limited else None,
        high=high if limited else None,
        choices=spec.choices[0] if spec.choices else 0,
        names=list(names or []),
    )
    inputs = int(policy.network.get_parameter("body.0.weight").shape[1])
    return Checkpoint(
        {"policy": weights, "connector": connector, "rng": chance},
        Box(size=inputs),
        action,
        dict(about or {}),
    )


def take_weights(policy: MlpPolicy, checkpoint: Checkpoint, file: str) -> None:
    """Give a policy a checkpoint's weights; its chance goes on by its own seed.

    Parameters
    ----------
    policy
        Overwritten, if all of it fits.
    file
        For messages.

    Raises
    ------
    CollectionError
        If the checkpoint is of another kind of policy than `checkpoint_of` keeps, or of
        other sizes, limits or chunks; nothing was changed.
    """
    doing = f"beginning with the weights of {file}"
    kept = checkpoint.parts.get("policy")
    told = {} if kept is None else kept.settings
    if kept is None or kept.kind != MLP or list(told.get("layers", ())) != ACTING:
        raise CollectionError(
            f"{doing}: they are no actor-critic's that isoscope collect kept; run it "
            "by isoscope record --policy"
        )
    if (more := sorted(set(checkpoint.parts) - TAKEN)) != []:
        raise CollectionError(f"{doing}: nothing here takes its {', '.join(more)}")
    if told.get("chunk") != policy.chunk:
        raise CollectionError(
            f"{doing}: they give chunks of {told.get('chunk')} actions, and here are "
            f"{policy.chunk}; give --chunk {told.get('chunk')}"
        )
    own = checkpoint_of(policy).action
    box = checkpoint.action
    if box is None or own is None or _limits(box) != _limits(own):
        raise CollectionError(f"{doing}: the environment's actions are other ones")
    state = policy.network.state_dict()
    given = {name: np.asarray(value) for name, value in kept.tensors.items()}
    wanted = {name: value for name, value in state.items() if value.numel()}
    other = [
        name
        for name in sorted(wanted.keys() | given.keys())
        if name not in wanted
        or name not in given
        or tuple(wanted[name].shape) != given[name].shape
    ]
    if other:
        raise CollectionError(
            f"{doing}: {', '.join(other)} not of the sizes that this environment needs"
        )
    policy.network.load_state_dict(
        {
            name: torch.from_numpy(np.array(given[name])) if name in given else value
            for name, value in state.items()
        }
    )


def _limits(box: Box) -> tuple[Any, ...]:
    return box.size, box.low, box.high, box.choices


def _floats(values: list[float]) -> Any:
    return np.array(values, np.float64)
