"""A small actor-critic: actions, their log-probabilities, and the value of a state.

Two hidden layers of tanh, shared; from them the distribution of a chunk's actions and
one value. Discrete numbers are drawn from a softmax each, others from a normal
distribution with a learned spread.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.policies.base import Policy, chance, states_of
from isoscope.core.trajectory.policy import PolicyOutput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.collection.spaces import ActionSpec
    from isoscope.core.trajectory.keys import TrajectorySource

Tensor = torch.Tensor
HIDDEN = 64
EPSILON = 1e-6  # keeps the inverse of the normal distribution finite


class ActorCritic(nn.Module):
    """The network: states [B, S] to the distribution's parameters and a value.

    Parameters
    ----------
    states
        Numbers in an observation, S.
    spec
        What one environment takes.
    chunk
        Actions in a chunk, C.
    seed
        Of the weights. The global generator is left alone.
    """

    def __init__(self, states: int, spec: ActionSpec, chunk: int, seed: int) -> None:
        super().__init__()
        outputs = (sum(spec.choices) or spec.width) * chunk
        # the last layers begin small: near-even actions, values near 0
        self.body = nn.Sequential(
            _layer(states, HIDDEN, 1.4, seed),
            nn.Tanh(),
            _layer(HIDDEN, HIDDEN, 1.4, seed + 1),
            nn.Tanh(),
        )
        self.actor = _layer(HIDDEN, outputs, 0.01, seed + 2)
        self.critic = _layer(HIDDEN, 1, 1.0, seed + 3)
        self.log_spread = nn.Parameter(torch.zeros(0 if spec.choices else outputs))

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Parameters [B, outputs] and values [B, 1]."""
        inner = self.body(states)
        return self.actor(inner), self.critic(inner)


class MlpPolicy(Policy):
    """Acts and judges by an `ActorCritic`.

    Parameters
    ----------
    states
        Numbers in an observation, S.
    spec
        What one environment takes.
    chunk
        Actions in a chunk, C.
    seed
        Of the weights and of all chance.
    """

    has_values = True

    def __init__(
        self, states: int, spec: ActionSpec, chunk: int, seed: int = 0
    ) -> None:
        self.spec, self.chunk, self.seed = spec, chunk, seed
        self.network = ActorCritic(states, spec, chunk, seed)
        self._states = states

    @torch.no_grad()
    def act(
        self, obs: Mapping[str, Any], sources: Sequence[TrajectorySource]
    ) -> PolicyOutput:
        """Draw actions; see :meth:`Policy.act`."""
        states = self._checked(obs)
        parameters, values = self.network(states)
        batch, width = len(states), self.chunk * self.spec.width
        uniform = chance(self.seed, sources, width, batch)
        if self.spec.choices:
            action, logprobs = self._draw_numbers(parameters, uniform)
        else:
            action, logprobs = self._draw_normal(parameters, uniform)
        return PolicyOutput(
            forward_inputs={"action": action, "states": states},
            prev_logprobs=logprobs,
            prev_values=values,
            versions=torch.full((batch, width), float(self.version)),
        )

    @torch.no_grad()
    def value(self, obs: Mapping[str, Any]) -> Tensor:
        """The critic's value, [B, 1]."""
        values: Tensor = self.network(self._checked(obs))[1]
        return values

    def logprobs(self, states: Tensor, action: Tensor) -> Tensor:
        """Log-probabilities of actions [B, C·A], with gradients, for training."""
        parameters = self.network(states)[0]
        if not self.spec.choices:
            return self._normal_logprobs(parameters, action)
        found = [
            table.gather(1, action[:, at, None].long())
            for at, table in enumerate(self._tables(parameters))
        ]
        return torch.cat(found, dim=1)

    def _checked(self, obs: Mapping[str, Any]) -> Tensor:
        states = states_of(obs)
        if states.shape[1] != self._states:
            raise CollectionError(
                f"inferring: the observation has {states.shape[1]} numbers and the "
                f"policy takes {self._states}"
            )
        return states

    def _tables(self, parameters: Tensor) -> tuple[Tensor, ...]:
        """Log-probabilities of every choice, a table a number."""
        return tuple(
            torch.log_softmax(logits, dim=1)
            for logits in torch.split(
                parameters, list(self.spec.choices * self.chunk), 1
            )
        )

    def _draw_numbers(self, parameters: Tensor, uniform: Tensor) -> tuple[Any, Any]:
        actions, logprobs = [], []
        for at, table in enumerate(self._tables(parameters)):
            below = table.exp().cumsum(dim=1)[:, :-1]
            number = (uniform[:, at, None] >= below).sum(dim=1, keepdim=True)
            actions.append(number.to(torch.float32))
            logprobs.append(table.gather(1, number))
        return torch.cat(actions, dim=1), torch.cat(logprobs, dim=1)

    def _draw_normal(self, parameters: Tensor, uniform: Tensor) -> tuple[Any, Any]:
        noise = torch.special.ndtri(uniform.clamp(EPSILON, 1 - EPSILON))
        action = parameters + noise * self.network.log_spread.exp()
        return action, self._normal_logprobs(parameters, action)

    def _normal_logprobs(self, mean: Tensor, action: Tensor) -> Tensor:
        log_spread = self.network.log_spread
        apart = (action - mean) * torch.exp(-log_spread)
        return -0.5 * apart.square() - log_spread - 0.5 * math.log(2 * math.pi)


def _layer(inputs: int, outputs: int, scale: float, seed: int) -> nn.Linear:
    skip_init: Any = nn.utils.skip_init
    layer: nn.Linear = skip_init(nn.Linear, inputs, outputs)
    generator = torch.Generator().manual_seed(seed)
    nn.init.orthogonal_(layer.weight, scale, generator=generator)
    nn.init.zeros_(layer.bias)
    return layer
