"""Random rows for W environments, drawn on the host ahead of time, used on the device.

Each environment's row k is the k-th draw of its own stream, however many are drawn
ahead and whichever environments draw at a time. So a resident batch that uploads rows
for many episodes at once sees the same numbers as an environment that draws when it
needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from isoscope.core.envs.streams import clone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.envs.streams import Purpose, Streams
    from isoscope.core.scene import Scene


class Drawer(Protocol):
    """Draws k rows at once: the same numbers as k draws of one row."""

    def __call__(
        self, generator: np.random.Generator, k: int
    ) -> np.ndarray[Any, np.dtype[np.float64]]:
        """[k, d] float64."""
        ...


class Pool:
    """Rows [d] for each of W environments, by purpose.

    Parameters
    ----------
    scene
        What tells the crossing to its ledger.
    streams
        One a world. A stream's generator always stands before the first row that was
        not taken yet, so capturing the streams after `settle` needs nothing of the
        pool.
    ahead
        Rows drawn ahead; 1 draws when asked.
    """

    def __init__(
        self,
        scene: Scene,
        streams: Sequence[Streams],
        purpose: Purpose,
        draw: Drawer,
        ahead: int = 1,
    ) -> None:
        self._scene = scene
        self._streams = streams
        self._purpose: Purpose = purpose
        self._draw = draw
        self._ahead = ahead
        self._cause = f"{purpose} draws"
        self._index = scene.to_device(np.arange(len(streams)), self._cause)
        self._host: Any = None  # [ahead, W, d]: what the device has
        self._rows: Any = None  # the same on the device
        self._next: Any = None  # int64 [W] on the device: the row to take next
        self._further: list[np.random.Generator] = []  # after the last row drawn
        self._takes = 0

    def take(self, worlds: Any = None) -> Any:
        """The next row of each world [W, d]; only those of `worlds` are used up.

        Rows of other worlds are theirs still and mean nothing here.
        """
        if self._ahead == 1:
            return self._drawn_now(worlds)
        if self._rows is None or self._takes >= self._ahead:
            self._refill()
        rows = self._rows[self._next, self._index]
        step = 1 if worlds is None else worlds
        # a world that takes the last row points past the end until the refill
        self._next = (self._next + step).clip(0, self._ahead)
        self._takes += 1
        return rows

    def settle(self) -> None:
        """Move the streams to where they would stand if nothing were drawn ahead.

        To be called before streams are captured, restored or replaced.
        """
        if self._rows is not None:
            self._use_up()
            self._rows = self._host = None

    def _drawn_now(self, worlds: Any) -> Any:
        host = None if worlds is None else self._scene.to_host(worlds, self._cause)
        taking = [True] * len(self._streams) if host is None else host.tolist()
        drawn = [
            self._draw(s[self._purpose], 1)[0] if takes else None
            for s, takes in zip(self._streams, taking, strict=True)
        ]
        blank = np.zeros_like(next((row for row in drawn if row is not None), 0.0))
        rows = np.stack([blank if row is None else row for row in drawn])
        return self._scene.to_device(rows, self._cause)

    def _use_up(self) -> list[tuple[int, int]]:
        """Move the streams past what was taken; the worlds that took, and how much."""
        taken = self._scene.to_host(self._next, self._cause)
        found = [(int(w), int(taken[w])) for w in np.flatnonzero(taken)]
        for world, k in found:
            self._draw(self._streams[world][self._purpose], k)
        return found

    def _refill(self) -> None:
        if self._rows is None:
            self._further = [clone(s[self._purpose]) for s in self._streams]
            drawn = [self._draw(g, self._ahead) for g in self._further]
            self._host = np.stack(drawn, 1)
        else:
            for world, k in self._use_up():
                row = self._host[:, world]
                row[: self._ahead - k] = row[k:].copy()
                row[self._ahead - k :] = self._draw(self._further[world], k)
        self._rows = self._scene.to_device(self._host, self._cause)
        self._next = self._index * 0
        self._takes = 0
