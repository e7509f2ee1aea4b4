"""The policy's side: it answers requests, and publishes both halves of every chunk.

The environment's half of a chunk arrives with the request for the next one, lacking the
value of the state after it. It is completed here and published after that request's own
policy half, so that the collector hears of a source from one producer, in one order::

    request 0 (nothing before)      -> publishes policy 0
    request 1 (environment half 0)  -> publishes policy 1, environment 0
    closing   (environment half 1)  -> publishes environment 1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from isoscope.core.collection.errors import CollectionError
from isoscope.core.trajectory.policy import PolicyPart
from isoscope.core.trajectory.values import split_batch_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.collection.policies.base import Policy
    from isoscope.core.trajectory.env import EnvPart, TrajectoryPart
    from isoscope.core.trajectory.policy_input import PolicyInput

Tensor = torch.Tensor


class RolloutRole:
    """Answers requests with a policy.

    Parameters
    ----------
    policy
        What infers.
    publish
        Where parts go, such as a channel's `put`.
    collect_transitions
        Whether the observation after a chunk is published with it.

    Attributes
    ----------
    inferences
        How often the policy was asked for actions or for values.
    """

    def __init__(
        self,
        policy: Policy,
        publish: Callable[[TrajectoryPart], object],
        *,
        collect_transitions: bool = False,
    ) -> None:
        self.policy = policy
        self.publish = publish
        self.collect_transitions = collect_transitions
        self.inferences = 0

    @torch.no_grad()
    def answer(self, request: PolicyInput) -> Tensor | None:
        """Answer a request, of one producer or merged.

        Returns
        -------
        Tensor
            The actions, [B, C·A] or as external ones came; None for a message that
            closes an epoch.

        Raises
        ------
        CollectionError
            If what the request brings along doesn't fit its rows.
        """
        actions = None if request.is_last else self._act(request)
        for part, obs in self._brought(request):
            self.publish(self._completed(part, obs))
        return actions

    def _act(self, request: PolicyInput) -> Tensor:
        if request.external_actions is not None:
            actions = request.external_actions
            part = PolicyPart(
                sources=request.sources, obs=request.obs, external_actions=actions
            )
        else:
            self.inferences += 1
            output = self.policy.act(request.obs, request.sources)
            actions = output.forward_inputs["action"]
            part = PolicyPart(sources=request.sources, obs=request.obs, output=output)
        self.publish(part)
        return actions

    def _brought(self, request: PolicyInput) -> list[tuple[EnvPart, dict[str, Any]]]:
        """The environment halves, each with its rows of the request's observation."""
        if not any(request.env_parts):
            return []
        if len(request.env_parts) == 1:
            (part,) = request.env_parts
            return [] if part is None else [(part, request.obs)]
        sizes = request.request_sizes
        if len(sizes) != len(request.env_parts):
            raise CollectionError(
                f"answering a merged request: it has {len(sizes)} request_sizes and "
                f"{len(request.env_parts)} env_parts; give one of each per request"
            )
        shards = split_batch_value(request.obs, sizes, name="obs")
        return [
            (part, obs)
            for part, obs in zip(request.env_parts, shards, strict=True)
            if part is not None
        ]

    def _completed(self, part: EnvPart, obs: dict[str, Any]) -> EnvPart:
        next_obs = obs if part.next_obs is None else part.next_obs
        values = None
        if part.requires_inference:
            self.inferences += 1
            values = self.policy.value(next_obs)
        return part.complete(
            next_obs if self.collect_transitions else None,
            self.policy.rlt_features(next_obs),
            values,
        )
