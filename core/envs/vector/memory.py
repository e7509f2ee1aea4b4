"""The memory that this process and its workers share: a batch's arrays in one block.

The block's name is removed as soon as all workers have it, so that nothing is left
behind, whoever is killed afterwards. Arrays lie one after the other, each at a multiple
of 64 bytes; both sides compute the same places from the same description.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np

from isoscope.core.envs.vector.errors import VectorEnvError
from isoscope.core.envs.vector.layout import Batch, Tree, allocated, mapped
from isoscope.core.errors import one_line

Array = np.ndarray[Any, Any]
ALIGNMENT = 64  # bytes, a line of the cache: workers don't write into each other's
IDLE = -1
SHARED = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class MemorySpec:
    """What a batch holds: the leaves of both spaces, N and the number of workers."""

    actions: Tree
    observations: Tree
    num_envs: int
    num_workers: int

    @property
    def nbytes(self) -> int:
        """Bytes that the block needs."""
        places = _Places(None)
        _arrays(self, places)
        return max(places.used, 1)


@dataclass(slots=True)
class Memory:
    """A batch's arrays. N environments.

    Attributes
    ----------
    actions, observations
        Batches of the spaces' leaves, [N, …].
    finals
        Last observations of episodes that ended in this step (SAME_STEP), [N, …].
    has_final
        bool [N]: where `finals` was written in this step.
    rewards
        float64 [N].
    terminated, truncated
        bool [N].
    at
        int64 [P, 8]. The first of each row is the lane that a worker is in, or -1; the
        second is 1 when it can be asked where it is. The rest keeps workers off each
        other's line of the cache.
    """

    actions: Batch
    observations: Batch
    finals: Batch
    has_final: Array
    rewards: Array
    terminated: Array
    truncated: Array
    at: Array

    @classmethod
    def over(cls, spec: MemorySpec, buffer: Any) -> Memory:
        """Lay the arrays over a writable buffer."""
        return _arrays(spec, _Places(buffer))

    def lanes(self, worker: int, rows: slice) -> Memory:
        """Give a worker's own rows of everything."""

        def cut(array: Array) -> Array:
            return array[rows]

        return Memory(
            mapped(self.actions, cut),
            mapped(self.observations, cut),
            mapped(self.finals, cut),
            self.has_final[rows],
            self.rewards[rows],
            self.terminated[rows],
            self.truncated[rows],
            self.at[worker : worker + 1],
        )


class _Places:
    """Gives out the buffer's bytes; without a buffer, it only counts them."""

    def __init__(self, buffer: Any) -> None:
        self.buffer = buffer
        self.used = 0

    def __call__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        offset = self.used
        size = int(np.prod(shape)) * dtype.itemsize
        self.used += -(-size // ALIGNMENT) * ALIGNMENT
        if self.buffer is None or size == 0:
            return np.empty((0,) if size else shape, dtype)
        return np.ndarray(shape, dtype, buffer=self.buffer, offset=offset)


def _arrays(spec: MemorySpec, places: _Places) -> Memory:
    n = spec.num_envs
    flag = np.dtype(np.bool_)
    return Memory(
        actions=allocated(spec.actions, n, places),
        observations=allocated(spec.observations, n, places),
        finals=allocated(spec.observations, n, places),
        has_final=places((n,), flag),
        rewards=places((n,), np.dtype(np.float64)),
        terminated=places((n,), flag),
        truncated=places((n,), flag),
        at=places((max(spec.num_workers, 1), 8), np.dtype(np.int64)),
    )


class Block(SharedMemory):
    """A block of shared memory that can be given up while arrays lie over it.

    The system takes the memory back with the last array.
    """

    def close(self) -> None:
        """Give it up; again and again without harm."""
        with suppress(BufferError):
            super().close()

    @property
    def bytes(self) -> memoryview:
        """What arrays are laid over."""
        assert self.buf is not None
        return self.buf


def new_block(size: int) -> Block:
    """Make a block, with all of its memory set aside.

    Raises
    ------
    VectorEnvError
        If there is not as much shared memory.
    """
    block: Block | None = None
    try:
        block = Block(create=True, size=size)
        place = SHARED / block.name
        if place.exists():  # else the first to write where there is none left is killed
            with place.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        if block is not None:
            block.close()
            block.unlink()
        raise VectorEnvError(
            f"sharing memory with the workers: {size / 2**20:.1f} MiB can't be had "
            f"({one_line(error)}); take fewer environments, or make {SHARED} larger"
        ) from error
    return block


def own_memory(spec: MemorySpec) -> Memory:
    """Give the arrays in this process's own memory."""
    memory = Memory.over(spec, bytearray(spec.nbytes))
    memory.at[:, 0] = IDLE
    return memory
