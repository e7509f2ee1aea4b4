"""Acts at random, evenly over what the environment takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from isoscope.core.collection.policies.base import Policy, chance, states_of
from isoscope.core.trajectory.policy import PolicyOutput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.collection.spaces import ActionSpec
    from isoscope.core.trajectory.keys import TrajectorySource

UNBOUNDED = 1.0  # where a box has no bound, numbers from -1 to 1 are taken


class RandomPolicy(Policy):
    """Uniform actions, with their log-probabilities; it has no values.

    Parameters
    ----------
    spec
        What one environment takes.
    chunk
        Actions in a chunk.
    seed
        Of all chance.
    """

    def __init__(self, spec: ActionSpec, chunk: int, seed: int = 0) -> None:
        self.spec, self.chunk, self.seed = spec, chunk, seed
        if spec.choices:
            self._counts = torch.tensor(spec.choices * chunk, dtype=torch.float32)
            logprobs = -torch.log(self._counts)
        else:
            low = torch.tensor(spec.low * chunk, dtype=torch.float32)
            high = torch.tensor(spec.high * chunk, dtype=torch.float32)
            self._low = torch.where(torch.isfinite(low), low, -UNBOUNDED)
            self._span = torch.where(torch.isfinite(high), high, UNBOUNDED) - self._low
            logprobs = -torch.log(self._span)
        self._logprobs = logprobs

    def act(
        self, obs: Mapping[str, Any], sources: Sequence[TrajectorySource]
    ) -> PolicyOutput:
        """Choose actions at random."""
        batch = len(states_of(obs))
        width = self.chunk * self.spec.width
        uniform = chance(self.seed, sources, width, batch)
        if self.spec.choices:
            # float32 numbers below 1 times a count may round up to it
            action = torch.minimum((uniform * self._counts).floor(), self._counts - 1)
        else:
            action = self._low + uniform * self._span
        logprobs = self._logprobs.expand(batch, width)
        return PolicyOutput(
            forward_inputs={"action": action},
            prev_logprobs=logprobs,
            versions=torch.full((batch, width), float(self.version)),
        )
