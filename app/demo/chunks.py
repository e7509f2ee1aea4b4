"""A demo's action chunks: their halves go to a collector, as a trainer's would.

The environments that are watched are one or two sources. Of an environment whose
episode ends inside a chunk, the environment's half is complete at once and goes off as
a fragment of its own; the others follow when the chunk is over. The second source's
policy half comes a control step after that, as from a policy that publishes when it has
acted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.core.channel.hooks import ChannelContext
from isoscope.core.collection.settings import CollectSettings, PolicyName
from isoscope.core.trajectory.collector import TrajectoryCollector
from isoscope.core.trajectory.env import EnvPart, EnvTransition
from isoscope.core.trajectory.keys import TrajectoryKey, TrajectorySource
from isoscope.core.trajectory.policy import PolicyOutput, PolicyPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isoscope.core.envs.rollout.records import Array, StoredRows
    from isoscope.core.envs.rollout.rollout import Rollout
    from isoscope.core.trajectory.env import TrajectoryPart
    from isoscope.core.trajectory.events import ChunkEvent

CHUNKS = 4  # of an epoch; a training step is one epoch


@dataclass(slots=True)
class _Chunk:
    """What has come of the chunk that is under way; B rows, C slots."""

    obs: Array
    actions: Array
    rewards: Array
    ended: Array
    truncated: Array
    sent: Array
    slot: int = 0
    held: list[PolicyPart] = field(default_factory=list)


class ChunkTeller:
    """Takes a rollout's rounds as chunks to a collector, and tells its events.

    Parameters
    ----------
    rollout
        Whose rows are told; it has to act by a `ChunkedPolicy` that calls `planned`.
    size
        Actions in a chunk, C.
    tell
        Called with each event of the collector.

    Attributes
    ----------
    flushed
        Outputs that the collector gave.
    """

    def __init__(
        self, rollout: Rollout, size: int, tell: Callable[[ChunkEvent], object]
    ) -> None:
        watched = len(rollout.source.watched)
        self._rollout, self._size, self._tell = rollout, size, tell
        self._sources = 2 if watched > 1 and watched % 2 == 0 else 1
        self._rows = watched // self._sources
        settings = CollectSettings(
            env=rollout.task.name,
            envs=watched,
            chunk=size,
            steps=size * CHUNKS,
            policy=PolicyName.RANDOM,
            workers=self._sources,
            horizon=size * CHUNKS,
        )
        cfg = settings.cfg(rollout.task.action.size, rollout.task.timing.max_steps)
        # Nobody computes log-probabilities here.
        cfg["rollout"]["collect_prev_infos"] = False
        self.collector = TrajectoryCollector(env_world_size=self._sources)
        self.collector.setup(ChannelContext("demo", cfg))
        self._events = self.collector.events.listen()
        self._count = 0
        self._chunk: _Chunk | None = None
        self._held: list[PolicyPart] = []
        self.flushed = 0
        rollout.stored.connect(self._on_stored)

    def planned(self, observation: Array, actions: Sequence[Array]) -> None:
        """A chunk was chosen: the first half of what is told of it."""
        down = self._rollout.source.down
        obs = np.array(down(observation), np.float32)
        chosen = np.stack([np.array(down(a), np.float32) for a in actions], axis=1)
        rows, shape = len(obs), (len(obs), self._size)
        held, self._held = self._held, []
        self._chunk = _Chunk(
            obs,
            chosen,
            np.zeros(shape, np.float32),
            np.zeros(rows, np.bool_),
            np.zeros(rows, np.bool_),
            np.zeros(rows, np.bool_),
            held=held,
        )
        for rank in range(self._sources):
            part = self._policy_part(rank, self._chunk)
            if rank:
                self._held.append(part)
            else:
                self._put(part)

    def _on_stored(self, _: Rollout, rows: StoredRows) -> None:
        chunk = self._chunk
        if chunk is None:
            return
        held, chunk.held = chunk.held, []
        for half in held:
            self._put(half)
        counts = rows.transition & ~chunk.ended
        chunk.rewards[counts, chunk.slot] = rows.reward[counts]
        over = counts & (rows.terminated | rows.truncated)
        chunk.truncated |= over & ~rows.terminated
        chunk.ended |= over
        chunk.slot += 1
        last = chunk.slot == self._size
        for part in self._env_parts(chunk, ~chunk.sent if last else over):
            self._put(part)
        chunk.sent |= over
        if last:
            self._count += 1
            self._chunk = None

    # -- parts -------------------------------------------------------------------------

    def _key(self, rank: int) -> TrajectoryKey:
        step, chunk = divmod(self._count, CHUNKS)
        return TrajectoryKey(step, 0, rank, 0, chunk)

    def _policy_part(self, rank: int, chunk: _Chunk) -> PolicyPart:
        own = slice(rank * self._rows, (rank + 1) * self._rows)
        action = torch.from_numpy(chunk.actions[own].reshape(self._rows, -1))
        return PolicyPart(
            sources=[TrajectorySource(self._key(rank), self._rows)],
            obs={"states": torch.from_numpy(chunk.obs[own])},
            output=PolicyOutput(forward_inputs={"action": action}),
        )

    def _env_parts(self, chunk: _Chunk, ready: Array) -> Iterator[EnvPart]:
        for rank in range(self._sources):
            first = rank * self._rows
            for start, stop in _runs(ready[first : first + self._rows]):
                yield self._env_part(chunk, rank, start, stop)

    def _env_part(self, chunk: _Chunk, rank: int, start: int, stop: int) -> EnvPart:
        rows = slice(rank * self._rows + start, rank * self._rows + stop)
        flags = {
            name: torch.zeros(stop - start, self._size, dtype=torch.bool)
            for name in ("terminations", "truncations", "dones")
        }
        # As training reads it: an end inside a chunk is told in its last slot.
        cut = chunk.truncated[rows]
        flags["truncations"][:, -1] = torch.from_numpy(cut)
        flags["terminations"][:, -1] = torch.from_numpy(chunk.ended[rows] & ~cut)
        flags["dones"][:, -1] = torch.from_numpy(chunk.ended[rows].copy())
        key = self._key(rank)
        first = None
        if key.chunk_id == 0:
            none = torch.zeros(stop - start, self._size, dtype=torch.bool)
            first = EnvTransition(
                dones=none, terminations=none.clone(), truncations=none.clone()
            )
        rewards = torch.from_numpy(chunk.rewards[rows].copy())
        return EnvPart(
            sources=[TrajectorySource(key, stop - start, start)],
            transition=EnvTransition(rewards=rewards, **flags),
            initial_transition=first,
        )

    def _put(self, part: TrajectoryPart) -> None:
        self.flushed += sum(1 for _ in self.collector.collect(part))
        for event in self._events.take():
            self._tell(event)


def _runs(mask: Array) -> list[tuple[int, int]]:
    """Stretches of True, [start, stop)."""
    edges: Any = np.flatnonzero(np.diff(np.concatenate([[0], mask, [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
