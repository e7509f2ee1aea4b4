"""Which chunk of which producer: the key, and which rows of it a message carries.

No torch in here: the window, the recorder and the command line name chunks too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.core.trajectory.errors import TrajectoryValueError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True, order=True)
class TrajectoryKey:
    """One action chunk of one logical producer.

    Keys sort in the order in which one producer makes them.

    Attributes
    ----------
    step_id
        The training step of the runner, from 0, increasing.
    epoch_id
        The rollout epoch in that step, [0, E).
    env_rank
        The global rank of the environment worker.
    stage_id
        Its pipeline stage.
    chunk_id
        The action chunk within the epoch, [0, n).
    """

    step_id: int
    epoch_id: int
    env_rank: int
    stage_id: int
    chunk_id: int

    @property
    def source(self) -> tuple[int, int]:
        """The logical producer: (env_rank, stage_id)."""
        return self.env_rank, self.stage_id

    def __str__(self) -> str:
        return (
            f"step {self.step_id} epoch {self.epoch_id} "
            f"env_rank {self.env_rank} stage {self.stage_id} chunk {self.chunk_id}"
        )


@dataclass(frozen=True, slots=True)
class TrajectorySource:
    """Some rows of one chunk.

    Attributes
    ----------
    key
        The chunk.
    size
        How many environments these rows are of.
    offset
        The first row, counted in the chunk's whole source batch.
    """

    key: TrajectoryKey
    size: int
    offset: int = 0

    @classmethod
    def split(
        cls, sources: Sequence[TrajectorySource], split_sizes: Sequence[int]
    ) -> list[list[TrajectorySource]]:
        """Divide the rows among shards, in order; a source is cut where a shard fills.

        Parameters
        ----------
        sources
            What there is. With none of them, every shard gets an empty list.
        split_sizes
            How many rows each shard takes.

        Returns
        -------
        list of list of TrajectorySource
            One list a shard. A cut piece keeps its key; its offset is the source's
            own and the rows that went before.

        Raises
        ------
        TrajectoryValueError
            If the sizes don't add up to the rows that there are, or one is negative.
        """
        if not sources:
            return [[] for _ in split_sizes]
        if min(split_sizes, default=0) < 0:
            raise TrajectoryValueError(
                f"splitting rows of {sources[0].key}: the sizes {list(split_sizes)} "
                "are not all 0 or more; give how many rows each shard takes"
            )
        have, want = sum(s.size for s in sources), sum(split_sizes)
        if have != want:
            raise TrajectoryValueError(
                f"splitting {have} rows of {sources[0].key}: the sizes "
                f"{list(split_sizes)} add up to {want}; make it {have}"
            )
        shards: list[list[TrajectorySource]] = []
        at, taken = 0, 0  # the source that is being cut, and how much of it is gone
        for size in split_sizes:
            shard, free = [], size
            while free:
                source = sources[at]
                rows = min(free, source.size - taken)
                shard.append(cls(source.key, rows, source.offset + taken))
                free, taken = free - rows, taken + rows
                if taken == source.size:
                    at, taken = at + 1, 0
            shards.append(shard)
        return shards

    @classmethod
    def merge(
        cls, source_groups: Iterable[Iterable[TrajectorySource]]
    ) -> list[TrajectorySource]:
        """Put groups of rows one after another, fusing neighbours that belong together.

        Two neighbours fuse if they are of one key and the second begins where the first
        ends. Nothing is sorted.
        """
        merged: list[TrajectorySource] = []
        for group in source_groups:
            for source in group:
                last = merged[-1] if merged else None
                if (
                    last is not None
                    and last.key == source.key
                    and last.offset + last.size == source.offset
                ):
                    merged[-1] = cls(last.key, last.size + source.size, last.offset)
                else:
                    merged.append(source)
        return merged
