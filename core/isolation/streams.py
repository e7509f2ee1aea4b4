"""Samples of sensors as columns, without their data."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.labelled_context import At
from isoscope.core.isolation.labelled_tables import Table

if TYPE_CHECKING:
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Int64Array


class Streams(Table):
    """Samples of sensors; a stream is a name and an environment."""

    NAME = "streams"

    capture_id = property(lambda self: self.column("capture_id"), doc="int64 [n].")
    capture_time_s = property(
        lambda self: self.column("capture_time_s"), doc="float64 [n], seconds."
    )
    row = property(lambda self: self.column("row"), doc="int64 [n].")
    wall_ns = property(lambda self: self.column("wall_ns"), doc="int64 [n].")
    digest = property(lambda self: self.key("digest"), doc="uint64 [n].")

    def name(self, index: int) -> str:
        """The stream's name."""
        return self.text("name", index)

    @cached_property
    def stream(self) -> Int64Array:
        """int64 [n]: a number for each stream, a name of an environment."""
        names = self.column("name").astype(np.int64)
        found: Int64Array = (names << 32) | (self.env.astype(np.int64) & 0xFFFFFFFF)
        return found

    def before(self) -> Int64Array:
        """int64 [n]: index of the same stream's sample before; -1 none."""
        order = np.argsort(self.stream, kind="stable")
        out = np.full(len(order), -1, np.int64)
        same = np.flatnonzero(self.stream[order[1:]] == self.stream[order[:-1]]) + 1
        out[order[same]] = order[same - 1]
        return out

    def place(self, window: LabelledContext, index: int) -> At:
        """Where its environment was, by the wall's clock; None where unknown."""
        table = window.transitions
        own = table.of(int(self.env[index]))
        wall = table.wall_ns[own]
        if not len(own) or self.wall_ns[index] < 0 or (wall < 0).any():
            return At(None, None)
        at = int(np.searchsorted(wall, self.wall_ns[index], "right")) - 1
        if at < 0:
            return At(None, None)
        episode, k = (int(c[own[at]]) for c in (table.episode, table.control_step))
        return At(episode if episode >= 0 else None, k if k >= 0 else None)
