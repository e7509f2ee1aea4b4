"""The environment's side: it asks for actions, and says what became of the last ones.

A role is one logical source, (env_rank, stage_id). Its run is a generator of requests:
whoever drives it sends back the actions, in this thread or from another process, which
is all that the synchronous, the asynchronous and the decoupled loop differ in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

from isoscope.core.collection.episode_data import episode_data
from isoscope.core.collection.interventions import interventions
from isoscope.core.collection.slots import ChunkRun, SlotRunner
from isoscope.core.collection.spaces import as_observation, chunk_of, replaced_rows
from isoscope.core.trajectory.env import EnvPart, EnvTransition
from isoscope.core.trajectory.keys import TrajectoryKey, TrajectorySource
from isoscope.core.trajectory.policy_input import PolicyInput

if TYPE_CHECKING:
    from collections.abc import Generator

    from gymnasium.vector import VectorEnv

Tensor = torch.Tensor


class External(Protocol):
    """Where actions come from that no policy infers: a person, a script, a file."""

    def __call__(self, key: TrajectoryKey, obs: dict[str, Any]) -> Tensor | None:
        """Actions [B, C, A] for this chunk; None to ask the policy."""


@dataclass(frozen=True, slots=True)
class EnvLayout:
    """What every environment role of a run has in common.

    Attributes
    ----------
    chunk
        Actions in a chunk, C.
    chunks
        Chunks in an epoch.
    epochs
        Rollout epochs in a training step, E.
    auto_reset
        Whether environments go on with new episodes; otherwise each epoch begins with
        a reset of all.
    wants_values
        Whether the value of the state after an epoch, or an episode, is asked for.
    records_episodes
        Whether the frames of every slot go along, for online LeRobot.
    decoupled
        Whether an epoch's last half travels with the next epoch's first request,
        instead of in a message of its own.
    task
        The task's text, one of the observation; empty for none.
    """

    chunk: int
    chunks: int
    epochs: int = 1
    auto_reset: bool = True
    wants_values: bool = True
    records_episodes: bool = False
    decoupled: bool = False
    task: str = ""


class EnvRole:
    """A vector environment that asks for its actions.

    Parameters
    ----------
    envs
        The environments, B of them; any Gymnasium vector environment.
    layout
        How the run is laid out.
    env_rank, stage_id
        Which source this is.
    seed
        Of the first reset; the environments count on from it.
    external
        Actions that no policy infers.

    Attributes
    ----------
    slots
        What steps the environments; it counts their episodes.
    transitions
        Slots that counted, over all environments.
    """

    def __init__(
        self,
        envs: VectorEnv[Any, Any, Any],
        layout: EnvLayout,
        *,
        env_rank: int = 0,
        stage_id: int = 0,
        seed: int | None = None,
        external: External | None = None,
    ) -> None:
        self.layout = layout
        self.source = env_rank, stage_id
        self.slots = SlotRunner(envs, auto_reset=layout.auto_reset)
        self.transitions = 0
        self._seed = seed
        self._external = external
        self._next: Any = None  # the raw observation to go on from
        self._carried: EnvPart | None = None
        batch = self.slots.num_envs
        self._tasks = [layout.task] * batch if layout.task else None
        self._first = {
            name: torch.zeros(batch, layout.chunk, dtype=torch.bool)
            for name in ("dones", "terminations", "truncations")
        }

    def step(self, step_id: int) -> Generator[PolicyInput, Tensor | None, None]:
        """One training step's requests: a chunk each, and what closes an epoch."""
        for epoch_id in range(self.layout.epochs):
            yield from self._epoch(step_id, epoch_id)

    def close(self) -> Generator[PolicyInput, Tensor | None, None]:
        """What is left to say after the last step: a half that has not travelled."""
        if self._carried is not None:
            carried, self._carried = self._carried, None
            yield self._closing(carried)

    def _epoch(
        self, step_id: int, epoch_id: int
    ) -> Generator[PolicyInput, Tensor | None, None]:
        if self._next is None or not self.layout.auto_reset:
            self._next = self.slots.reset(self._seed)
            self._seed = None  # later resets go on with the environments' own numbers
        previous, self._carried = self._carried, None
        for chunk_id in range(self.layout.chunks):
            key = TrajectoryKey(step_id, epoch_id, *self.source, chunk_id)
            source = TrajectorySource(key, self.slots.num_envs)
            obs = as_observation(self._next, self._tasks)
            actions = yield PolicyInput(
                obs=obs,
                sources=[source],
                env_parts=[previous],
                request_sizes=[source.size],
                external_actions=self._external(key, obs) if self._external else None,
            )
            previous = self._act(source, actions)
        if self.layout.decoupled:
            self._carried = previous
        elif previous is not None:
            yield self._closing(previous)

    def _closing(self, part: EnvPart) -> PolicyInput:
        return PolicyInput(
            obs=as_observation(self._next, self._tasks),
            env_parts=[part],
            request_sizes=[self.slots.num_envs],
            is_last=True,
        )

    def _act(self, source: TrajectorySource, actions: Any) -> EnvPart:
        """Execute a chunk; gives the environment's half of it."""
        layout, spec = self.layout, self.slots.spec
        chunk = chunk_of(actions, layout.chunk, spec)
        run = self.slots.run(chunk)
        self.transitions += int(run.valid.sum())
        last = source.key.chunk_id == layout.chunks - 1
        cut = run.ended | run.void
        override = cut.any() or (layout.decoupled and last)
        next_obs = replaced_rows(run.next, cut, run.last) if override else None
        self._next = run.next
        first = source.key.chunk_id == 0
        return EnvPart(
            sources=[source],
            transition=self._transition(run, chunk),
            next_obs=None
            if next_obs is None
            else as_observation(next_obs, self._tasks),
            requires_inference=layout.wants_values
            and not layout.records_episodes
            and bool(last or cut.any()),
            initial_transition=EnvTransition(**self._first) if first else None,
        )

    def _transition(self, run: ChunkRun, chunk: np.ndarray[Any, Any]) -> EnvTransition:
        terminations, truncations = self._flags(run)
        frames = None
        if self.layout.records_episodes:
            frames = episode_data(run, chunk, self._tasks)
        return EnvTransition(
            rewards=torch.from_numpy(run.rewards),
            dones=torch.from_numpy(terminations | truncations),
            terminations=torch.from_numpy(terminations),
            truncations=torch.from_numpy(truncations),
            episode_data=frames,
            **interventions(run, chunk.shape),
        )

    def _flags(self, run: ChunkRun) -> tuple[Any, Any]:
        """How episodes ended, as training reads it.

        An end that is both counts as termination: nothing follows it. A void chunk is
        cut where it began: its reward is completed by the value of its own state, so
        that nothing is learned from it. With `auto_reset`, an end is told in the
        chunk's last slot, since only that one's reward is completed by a value; no slot
        between the two counts, and they have no rewards.
        """
        terminations = run.terminated
        truncations = run.truncated & ~run.terminated
        if not self.layout.auto_reset:
            return terminations, truncations
        at_end = np.zeros_like(terminations), np.zeros_like(truncations)
        at_end[0][:, -1] = terminations.any(axis=1)
        at_end[1][:, -1] = truncations.any(axis=1) | run.void
        return at_end
