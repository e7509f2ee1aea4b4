"""What a policy has to do, and where its chance comes from."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

import torch

from isoscope.core.collection.errors import CollectionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.trajectory.keys import TrajectorySource
    from isoscope.core.trajectory.policy import PolicyOutput

Tensor = torch.Tensor


class Policy(ABC):
    """Chooses the actions of a chunk.

    Attributes
    ----------
    version
        Of the weights: how many training steps they have seen.
    has_values
        Whether it says what a state is worth.
    """

    version: int = 0
    has_values: bool = False

    @abstractmethod
    def act(
        self, obs: Mapping[str, Any], sources: Sequence[TrajectorySource]
    ) -> PolicyOutput:
        """Choose actions.

        Parameters
        ----------
        obs
            Leaves [B, ...].
        sources
            Whose rows these are; what is random depends on them and the seed alone, so
            that it is the same in whatever order requests come.

        Returns
        -------
        PolicyOutput
            With ``forward_inputs["action"]`` [B, C·A].
        """

    def value(self, obs: Mapping[str, Any]) -> Tensor | None:
        """Say what states are worth, [B, 1] or [B, C]; None if it can't."""
        return None

    def rlt_features(self, obs: Mapping[str, Any]) -> dict[str, Tensor] | None:
        """Give the features that the RLT losses want of a state, if it has any."""
        return None


def chance(
    seed: int, sources: Sequence[TrajectorySource], width: int, batch: int
) -> Tensor:
    """Uniform numbers in [0, 1) for some rows, float32 [B, width].

    Every source's rows have a generator of their own, seeded by the seed, the chunk's
    key and the first row.
    """
    if not sources:
        return torch.rand(batch, width, generator=_generator(seed))
    return torch.cat(
        [
            torch.rand(
                source.size,
                width,
                generator=_generator(seed, *astuple(source.key), source.offset),
            )
            for source in sources
        ]
    )


def _generator(*numbers: int) -> torch.Generator:
    """A generator for these numbers, and for no others that are likely to be met."""
    text = ",".join(map(str, numbers)).encode()
    seed = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
    return torch.Generator().manual_seed(seed)


def states_of(obs: Mapping[str, Any]) -> Tensor:
    """All numbers of an observation in a row, float32 [B, S].

    Raises
    ------
    CollectionError
        If there are none.
    """
    rows = [
        value.reshape(len(value), -1).to(torch.float32)
        for value in _leaves(obs)
        if value.dim() >= 1
    ]
    if not rows:
        raise CollectionError("inferring: the observation holds no numbers")
    return torch.cat(rows, dim=1) if len(rows) > 1 else rows[0]


def _leaves(obs: Mapping[str, Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for name in sorted(obs):
        value = obs[name]
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, dict):
            found += _leaves(value)
    return found
