"""Captured states of one scene, by handles that are never used again."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import torch

from isoscope.gpu.scene.errors import SnapshotError

if TYPE_CHECKING:
    from isoscope.gpu.scene.state import Layout
    from isoscope.gpu.transfer import Ledger

# A handle is the scene's own random number in the high bits and a count in the low
# ones, so another scene's, or process's, is told from one that was released.
COUNT_BITS = 32


class Snapshots:
    """Whole copies of a scene's block of bytes, on its device.

    They hold what `StateBlock` holds, and so nothing persistent.
    """

    def __init__(self, scene: str, layout: Layout, ledger: Ledger) -> None:
        self._scene = scene
        self._layout = layout
        self._ledger = ledger
        self._number = secrets.randbits(30) | 1 << 30
        self._taken: dict[int, torch.Tensor] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._taken)

    def capture(self, storage: torch.Tensor, cause: str = "capture") -> int:
        """Keep a copy of a block's bytes; returns its handle."""
        kept = torch.empty_like(storage)
        self._ledger.copy(kept, storage, cause)
        return self.adopt(kept)

    def adopt(self, storage: torch.Tensor) -> int:
        """Keep bytes that nobody else holds; returns their handle."""
        self._count += 1
        handle = self._number << COUNT_BITS | self._count
        self._taken[handle] = storage
        return handle

    def bytes_of(self, handle: int, doing: str) -> torch.Tensor:
        """The bytes behind a handle, which nobody may write to.

        Raises
        ------
        SnapshotError
            For a handle that was released, is another scene's or none at all.
        """
        if isinstance(handle, bool) or not isinstance(handle, int):
            raise SnapshotError(
                f"{doing} of scene {self._scene}: {handle!r} is no snapshot's handle"
            )
        storage = self._taken.get(handle)
        if storage is not None:
            return storage
        count = handle & (1 << COUNT_BITS) - 1
        if handle >> COUNT_BITS != self._number:
            problem = "is not one of this scene's; a handle is good where it was made"
        elif 0 < count <= self._count:
            problem = "was released; capture again"
        else:
            problem = "was never given out"
        raise SnapshotError(
            f"{doing} of scene {self._scene}: snapshot {handle} {problem}"
        )

    def release(self, handle: int) -> None:
        """Forget one.

        Raises
        ------
        SnapshotError
            As `bytes_of`.
        """
        self.bytes_of(handle, "releasing a snapshot")
        del self._taken[handle]

    def is_equal(self, a: int, b: int) -> bool:
        """Whether two have the same bits, NaNs too."""
        doing = "comparing snapshots"
        first, second = self.bytes_of(a, doing), self.bytes_of(b, doing)
        if first is second:
            return True
        with self._ledger.copying("d2h", 1, "compare", syncs=1):
            return torch.equal(first, second)

    def clear(self) -> None:
        """Forget all."""
        self._taken.clear()
