"""The chunks that collecting is measured with, and what a plain stack of them is.

1024 environments, 64 chunks of 8 actions of 7 numbers, observations of 32: 88 MB.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from isoscope.core.channel.hooks import ChannelContext
from isoscope.core.trajectory.collector import TrajectoryCollector
from isoscope.core.trajectory.env import EnvPart, EnvTransition
from isoscope.core.trajectory.fields import Rows, trajectory_fields
from isoscope.core.trajectory.keys import TrajectoryKey, TrajectorySource
from isoscope.core.trajectory.policy import PolicyOutput, PolicyPart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.trajectory.env import TrajectoryPart
    from isoscope.core.trajectory.trajectory import Trajectory

Tensor = torch.Tensor
ENVS, CHUNK, WIDTH, CHUNKS, NUMBERS = 1024, 8, 7, 64, 32
SEED = 20261130


@dataclass(frozen=True, slots=True)
class Chunk:
    """The tensors of one chunk."""

    obs: Tensor
    next_obs: Tensor
    action: Tensor
    logprobs: Tensor
    versions: Tensor
    values: Tensor
    final_values: Tensor
    rewards: Tensor
    dones: Tensor
    terminations: Tensor
    truncations: Tensor
    no_flags: Tensor

    @classmethod
    def make(cls, generator: torch.Generator) -> Chunk:
        """Make one, all tensors its own."""

        def some(width: int) -> Tensor:
            return torch.rand(ENVS, width, generator=generator)

        def flags(width: int) -> Tensor:
            return torch.zeros(ENVS, width, dtype=torch.bool)

        full = CHUNK * WIDTH
        return cls(
            obs=some(NUMBERS),
            next_obs=some(NUMBERS),
            action=some(full),
            logprobs=some(full),
            versions=some(full),
            values=some(1),
            final_values=some(1),
            rewards=some(CHUNK),
            dones=flags(CHUNK),
            terminations=flags(CHUNK),
            truncations=flags(CHUNK),
            no_flags=flags(full),
        )

    def parts(self, key: TrajectoryKey) -> tuple[PolicyPart, EnvPart]:
        """Both halves of the chunk of this key; they share the tensors."""
        source = [TrajectorySource(key, ENVS)]
        first, last = key.chunk_id == 0, key.chunk_id == CHUNKS - 1
        policy = PolicyPart(
            sources=source,
            obs={"states": self.obs},
            output=PolicyOutput(
                forward_inputs={"action": self.action},
                prev_logprobs=self.logprobs,
                prev_values=self.values,
                versions=self.versions,
            ),
        )
        flags = {
            "dones": self.dones,
            "terminations": self.terminations,
            "truncations": self.truncations,
        }
        env = EnvPart(
            sources=source,
            transition=EnvTransition(rewards=self.rewards, **flags),
            next_obs={"states": self.next_obs},
            final_prev_values=self.final_values if last else None,
            initial_transition=EnvTransition(**flags) if first else None,
        )
        return policy, env


def make_chunks() -> list[Chunk]:
    """All chunks of one trajectory."""
    generator = torch.Generator().manual_seed(SEED)
    return [Chunk.make(generator) for _ in range(CHUNKS)]


def collector() -> TrajectoryCollector:
    """A collector for one source, in rollout mode."""
    made = TrajectoryCollector()
    made.setup(
        ChannelContext(
            "bench",
            cfg={
                "env": {
                    "train": {
                        "total_num_envs": ENVS,
                        "max_episode_steps": CHUNK * CHUNKS,
                        "max_steps_per_rollout_epoch": CHUNK * CHUNKS,
                        "rollout_epoch": 1,
                        "auto_reset": True,
                        "ignore_terminations": False,
                    }
                },
                "rollout": {"pipeline_stage_num": 1, "collect_transitions": True},
                "actor": {"model": {"num_action_chunks": CHUNK, "action_dim": WIDTH}},
            },
        )
    )
    return made


def key_of(step_id: int, chunk_id: int) -> TrajectoryKey:
    """The key of a chunk of the one source."""
    return TrajectoryKey(step_id, 0, 0, 0, chunk_id)


def halves_of(chunks: list[Chunk], step_id: int) -> list[TrajectoryPart]:
    """All halves of one training step, as a producer sends them."""
    return [
        part
        for chunk_id, chunk in enumerate(chunks)
        for part in chunk.parts(key_of(step_id, chunk_id))
    ]


def collect_all(into: TrajectoryCollector, halves: list[TrajectoryPart]) -> Trajectory:
    """Push all halves of a training step; gives the trajectory that comes out."""
    came: list[Any] = []
    for part in halves:
        came += into.collect(part, None)
    ((_, trajectory),) = came
    made: Trajectory = trajectory
    return made


def stack_all(chunks: list[Chunk]) -> list[Tensor]:
    """Stack the same tensors, a field at a time, and nothing else."""
    first, last = chunks[0], chunks[-1]
    columns = [
        [c.action for c in chunks],
        [c.no_flags for c in chunks],
        [c.action for c in chunks],  # forward_inputs hold the action again
        [c.logprobs for c in chunks],
        [c.versions for c in chunks],
        [c.rewards for c in chunks],
        [c.obs for c in chunks],
        [c.next_obs for c in chunks],
        [*(c.values for c in chunks), last.final_values],
        [first.dones, *(c.dones for c in chunks)],
        [first.terminations, *(c.terminations for c in chunks)],
        [first.truncations, *(c.truncations for c in chunks)],
    ]
    return [torch.stack(column) for column in columns]


def tensors_of(trajectory: Trajectory) -> Iterator[Tensor]:
    """All tensors of a trajectory."""
    for item in trajectory_fields():
        if item.rows is Rows.NONE:
            continue
        value = getattr(trajectory, item.name)
        if isinstance(value, dict):
            yield from value.values()
        elif value is not None:
            yield value


def read(tensors: list[Tensor]) -> int:
    """Read every number once; gives how many bytes that was.

    Raises
    ------
    RuntimeError
        If one is not contiguous, or shares its memory with another.
    """
    seen: set[int] = set()
    total = 0
    for tensor in tensors:
        memory = tensor.untyped_storage()
        if not tensor.is_contiguous() or memory.data_ptr() in seen:
            raise RuntimeError("an output is not contiguous, or not its own")
        seen.add(memory.data_ptr())
        kind = torch.int32 if tensor.element_size() == 4 else torch.int8
        tensor.reshape(-1).view(kind).max()
        total += tensor.nbytes
    return total
