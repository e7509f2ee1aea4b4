"""What an environment asks a policy: an observation, and the previous chunk's half."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from isoscope.core.trajectory.errors import TrajectoryValueError
from isoscope.core.trajectory.fields import Field, Merge, Owner, fields_of
from isoscope.core.trajectory.keys import TrajectorySource
from isoscope.core.trajectory.policy import described
from isoscope.core.trajectory.record import Record, Tensor, Tree, merge_field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.trajectory.env import EnvPart

BATCH_FROM = ("states", "main_images", "task_descriptions")


@dataclass(init=False, eq=False, repr=False)
class PolicyInput(Record):
    """A request for actions. Section 1.5 of the contract; never reaches the collector.

    Keyword-only. B environments, C actions in a chunk, A numbers in each, D = C·A.

    Attributes
    ----------
    obs
        What to act on, leaves [B, ...].
    rlt_switch_flags
        [B] or [B, C].
    intervene_flags
        bool [B, C].
    sources
        Whose rows these are; empty in the message that closes an epoch.
    env_parts
        The *previous* chunk's environment half, or None: one entry in a producer's
        request, one for each of them after a merge.
    request_sizes
        Rows of each merged request.
    is_last
        Whether this closes an epoch and wants no action.
    external_actions
        float [B, C, A] or [B, D]: use these instead of inferring.
    """

    owner: ClassVar[Owner] = Owner.POLICY_INPUT

    obs: Tree
    rlt_switch_flags: Tensor | None = None
    intervene_flags: Tensor | None = None
    sources: list[TrajectorySource] = field(default_factory=list)
    env_parts: list[EnvPart | None] = field(default_factory=list)
    request_sizes: list[int] = field(default_factory=list)
    is_last: bool = False
    external_actions: Tensor | None = None

    @property
    def requires_inference(self) -> bool:
        """Whether the policy has to find the actions."""
        return self.external_actions is None

    def split(self, split_sizes: Sequence[int]) -> list[PolicyInput]:
        """Cut a producer's request along the batch.

        Raises
        ------
        TrajectoryValueError
            If it is a merged request, with several environment halves.
        """
        if len(self.env_parts) > 1:
            raise TrajectoryValueError(
                f"splitting a PolicyInput of {described(self.sources)}: it holds "
                f"{len(self.env_parts)} env_parts; split a producer's request, "
                "before merging"
            )
        sources = TrajectorySource.split(self.sources, split_sizes)
        previous = self.env_parts[0] if self.env_parts else None
        parts: Sequence[EnvPart | None] = (
            [None] * len(split_sizes)
            if previous is None
            else previous.split(split_sizes)
        )
        return [
            PolicyInput(
                sources=sources[at],
                env_parts=[parts[at]],
                request_sizes=[size],
                is_last=self.is_last,
                **shard,
            )
            for at, (size, shard) in enumerate(
                zip(split_sizes, self._split_fields(split_sizes), strict=True)
            )
        ]

    @classmethod
    def merge(cls, policy_inputs: Sequence[PolicyInput]) -> PolicyInput:
        """Put requests together to infer them at once.

        `is_last` is the first request's. Flags that only some requests have become
        zeros in the others.

        Raises
        ------
        TrajectoryValueError
            If there are none, some want inference and some bring external actions, or
            zeros are needed for a request whose number of rows can't be told.
        """
        if not policy_inputs:
            raise TrajectoryValueError("merging PolicyInputs: there are none")
        if len({request.requires_inference for request in policy_inputs}) > 1:
            raise TrajectoryValueError(
                f"merging PolicyInputs of {described(policy_inputs[0].sources)}: some "
                "want inference and some bring external actions; merge one kind"
            )
        zeroed = {
            item.name: _zero_filled(item, policy_inputs)
            for item in fields_of(cls.owner)
            if item.merge is Merge.ZERO_WHERE_ABSENT
        }
        return cls(
            sources=TrajectorySource.merge(r.sources for r in policy_inputs),
            env_parts=[part for r in policy_inputs for part in r.env_parts],
            request_sizes=[size for r in policy_inputs for size in r.request_sizes],
            is_last=policy_inputs[0].is_last,
            **zeroed,
            **cls._merge_fields(policy_inputs, leave=frozenset(zeroed)),
        )


def _zero_filled(item: Field, requests: Sequence[PolicyInput]) -> Any:
    values = [request.__dict__.get(item.name) for request in requests]
    like = next((value for value in values if value is not None), None)
    if like is None:
        return None
    filled = [
        like.new_zeros((_rows(request), *like.shape[1:])) if value is None else value
        for value, request in zip(values, requests, strict=True)
    ]
    return merge_field(item, filled, Owner.POLICY_INPUT)


def _rows(request: PolicyInput) -> int:
    for name in BATCH_FROM:
        value = request.obs.get(name)
        if isinstance(value, (torch.Tensor, np.ndarray, list)):
            return len(value)
    raise TrajectoryValueError(
        f"merging PolicyInputs of {described(request.sources)}: zeros are needed for "
        f"its flags, and none of {', '.join(BATCH_FROM)} in obs tells for how many "
        "rows; give the flags in every request or in none"
    )
