"""Where a chunk is in the rows, and where an action of it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.positions.resolution import Resolution
from isoscope.core.summary import counted
from isoscope.core.timeline.chunks import OPEN, ChunkKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.errors import PositionError
    from isoscope.core.positions.forms import ChunkPosition
    from isoscope.core.recording.model import Labels
    from isoscope.core.timeline.chunks import Chunks


def resolve_chunk(
    position: ChunkPosition,
    chunks: Chunks | None,
    labels: Labels | None,
    rows: int,
    fail: Callable[[str], PositionError],
) -> Resolution:
    """The native step at which a chunk begins, or at which an action of it ended.

    Raises
    ------
    PositionError
        If there is no such chunk, or no such action of it.
    """
    if chunks is None or not len(chunks):
        raise fail("it holds no chunks: nothing was recorded with their keys")
    key = key_of(position)
    found = chunks.find(key)
    if found is None:
        there = ", ".join(f"{s.rank}.{s.stage}" for s in chunks.ordered[:8])
        raise fail(
            f"it has no such chunk among its {counted(len(chunks), 'chunk')} of the "
            f"sources (rank.stage) {there}"
        )
    source, at = found
    begin = min(int(source.begin.values[at]), max(rows - 1, 0))
    if position.slot is None:
        return Resolution(begin)
    if labels is None:
        raise fail("nothing says which control steps the chunk's actions are")
    stop = int(source.stop.values[at])
    stop = rows if stop >= OPEN else min(stop, rows)
    env = chunks.first_env(source)
    own = np.flatnonzero(np.asarray(labels.env[begin:stop]) == env) + begin
    control = np.asarray(labels.control_step)[own]
    last = np.append(np.diff(control) != 0, True) if len(own) else np.zeros(0, np.bool_)
    ends = own[last & (control > 0)]
    if position.slot >= len(ends):
        raise fail(f"{counted(len(ends), 'action')} of this chunk are in the recording")
    several = source.batch > 1
    said = f"environment {env}, the first of the chunk's, is taken" if several else ""
    return Resolution(int(ends[position.slot]), said)


def key_of(position: ChunkPosition) -> ChunkKey:
    """The key that a position names."""
    return ChunkKey(
        position.step, position.epoch, position.rank, position.stage, position.chunk
    )
