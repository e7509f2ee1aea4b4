"""A collection's policy as a checkpoint: weights, connector, and its chance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.policies.mlp import MlpPolicy
from isoscope.core.replay.checkpoint.model import Box, Checkpoint, part
from isoscope.core.replay.checkpoint.networks import mlp_part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.collection.policies.base import Policy

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


def _floats(values: list[float]) -> Any:
    return np.array(values, np.float64)
