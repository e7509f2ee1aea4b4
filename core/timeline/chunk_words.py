"""What there is to say about one chunk: its fragments, what it waits for, its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.timeline.chunk_lanes import words_of
from isoscope.core.timeline.chunks import OPEN, ChunkKey, State
from isoscope.core.timeline.model import Lane, LaneKind
from isoscope.core.timeline.pieces import Items, Look, Marks, Shape

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array, Int64Array
    from isoscope.core.timeline.chunks import Chunks, SourceChunks

MOST_FRAGMENTS = 12
HALVES = ((State.POLICY, "policy part"), (State.ENV, "env part"))
SAYS = {
    State.POLICY: "policy part",
    State.ENV: "env part",
    State.JOINED: "joined",
    State.FLUSHED: "flushed",
    State.FAILED: "failed",
    State.WARNED: "warned",
}


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """One chunk in words.

    Attributes
    ----------
    title
        Which.
    state
        How far it is.
    waits
        What it waits for, and how long by now; empty for nothing.
    fragments
        What came, one line each: what, which slots, when after the first.
    rows
        Its rows in the trajectory.
    events
        Numbers of its events in the recording's table.
    """

    title: str
    state: str
    waits: str
    fragments: tuple[str, ...]
    rows: tuple[str, ...]
    events: tuple[int, ...]


def facts_of(chunks: Chunks, key: ChunkKey, now_s: float) -> ChunkFacts | None:
    """All that is known of a chunk; None where there is no such chunk.

    Parameters
    ----------
    now_s
        The latest moment that the recording knows, seconds since the epoch; NaN where
        none.
    """
    found = chunks.find(key)
    if found is None:
        return None
    source, at = found
    of = source.events_of(at)
    told, slots = source.told.values[of], source.slots.values[of]
    first_env = chunks.first_env(source)
    batch = source.batch
    envs = (
        f"env {first_env}"
        if batch == 1
        else f"env {first_env} to {first_env + batch - 1}"
    )
    return ChunkFacts(
        title=f"chunk {key.chunk} of step {key.step}, epoch {key.epoch} · source "
        f"{key.rank}.{key.stage}" + (f" ({envs})" if batch else ""),
        state=words_of(int(source.state.values[at])),
        waits=_waits(source, at, of, now_s),
        fragments=_fragments(told, slots, _since(source, of)),
        rows=trajectory_rows(source, at),
        events=tuple(source.numbers.values[of].tolist()),
    )


def missing(
    told: Array, slots: Array, half: State, batch: int
) -> list[tuple[int, int]]:
    """Slots of a batch, half open, that no fragment of this half brought."""
    there = np.zeros(max(batch, 0), np.bool_)
    for first, stop in slots[(told & half) > 0].tolist():
        there[max(first, 0) : stop if first >= 0 else batch] = True
    edges = np.flatnonzero(np.diff(np.concatenate([[True], there, [True]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _waits(source: SourceChunks, at: int, of: Int64Array, now_s: float) -> str:
    state = int(source.state.values[at])
    if state & (State.FLUSHED | State.FAILED):
        return ""
    told, slots = source.told.values[of], source.slots.values[of]
    if state & State.JOINED:
        wanted, since = ["the rest of its scope"], _last(source, of, State.JOINED)
    else:
        wanted = []
        for half, name in HALVES:
            lacks = missing(told, slots, half, source.batch)
            if not source.batch and not state & half:
                wanted.append(f"the {name}")
            elif lacks:
                wanted.append(f"the {name} of {_slots(lacks)}")
        since = _last(source, of, State.POLICY | State.ENV)
    if not wanted:
        wanted = ["being joined"]
    lasts = now_s - since
    known = np.isfinite(lasts) and lasts >= 0
    return " and ".join(wanted) + (f", for {_lasting(lasts)} so far" if known else "")


def _last(source: SourceChunks, of: Int64Array, state: State) -> float:
    wall_s = source.times.values[of, 1]
    wall_s = wall_s[((source.told.values[of] & int(state)) > 0) & np.isfinite(wall_s)]
    return float(wall_s[-1]) if len(wall_s) else float("nan")


def _since(source: SourceChunks, of: Int64Array) -> Array:
    """Seconds after the chunk's first event, by whichever clock knows."""
    times = source.times.values[of]
    best = times[:, 0] if np.isfinite(times[:, 0]).all() else times[:, 1]
    return np.asarray(best - best[:1])


def _fragments(told: Array, slots: Array, since_s: Array) -> tuple[str, ...]:
    lines: list[str] = []
    joined = False
    for state, (first, stop), after in zip(
        told.tolist(), slots.tolist(), since_s.tolist(), strict=True
    ):
        word = SAYS.get(State(state), "told of")
        if state == State.JOINED:  # what is joined is then stored in its scope
            word, joined = "stored in its scope" if joined else word, True
        which = "all slots" if first < 0 else _slots([(first, stop)])
        when = f"+{_lasting(after)}" if np.isfinite(after) else "at an unknown time"
        lines.append(f"{word}: {which}, {when}")
    if len(lines) > MOST_FRAGMENTS:
        left = len(lines) - MOST_FRAGMENTS + 1
        lines = [*lines[: MOST_FRAGMENTS - 1], f"and {left:,} more"]
    return tuple(lines)


def _lasting(seconds: float) -> str:
    """``"478 ms"``, ``"1.41 s"``, ``"1,234 s"``."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:,.0f} s"


def _slots(ranges: list[tuple[int, int]]) -> str:
    said = [str(a) if b == a + 1 else f"{a} to {b - 1}" for a, b in ranges[:4]]
    more = ", …" if len(ranges) > 4 else ""
    one = len(ranges) == 1 and ranges[0][1] == ranges[0][0] + 1
    return f"slot{'' if one else 's'} {', '.join(said)}{more}"


# -- the trajectory's rows ------------------------------------------------------------


def siblings(source: SourceChunks, at: int) -> Int64Array:
    """int64 [n]: chunks of the same training step, by epoch and chunk."""
    key = source.key.values
    same = np.flatnonzero(key[:, 0] == key[at, 0])
    return same[np.lexsort((key[same, 2], key[same, 1]))].astype(np.int64)


def trajectory_rows(source: SourceChunks, at: int) -> tuple[str, ...]:
    """Where the chunk stands in fields of T and of T+E rows, of its source's batch."""
    key = source.key.values
    epoch, chunk = int(key[at, 1]), int(key[at, 2])
    same = siblings(source, at)
    before = int(np.count_nonzero(key[same, 1] < epoch))
    row = before + chunk
    return (
        f"T: row {row} (actions, rewards, …)",
        f"T+E, boundary first: row {row + epoch + 1}; the boundary before epoch "
        f"{epoch} is row {before + epoch}",
        f"T+E, final value last: row {row + epoch}; the value after it is row "
        f"{row + epoch + 1}",
    )


def trajectory_lanes(source: SourceChunks, at: int) -> list[Lane]:
    """The rows of the trajectory that a chunk is in, each over its chunk.

    One lane with T rows; one with T+E of which an epoch's first is the boundary before
    it; one with T+E of which the last is the final value after it.
    """
    same = siblings(source, at)
    epoch = source.key.values[same, 1]
    start, stop = source.begin.values[same], source.stop.values[same]
    order = np.argsort(start, kind="stable")
    number = np.arange(len(same))
    epochs = epoch.astype(np.int64)
    first = np.flatnonzero(np.diff(epochs, prepend=-1) != 0)
    last = np.append(first[1:], len(same)) - 1
    ends = np.where(stop[last] >= OPEN, start[last], stop[last])

    def lane(name: str, about: str, shift: Array, marks: Marks) -> Lane:
        items = Items(
            start[order],
            np.maximum(stop[order], start[order] + 1),
            np.maximum(stop[order], start[order] + 1),
            np.full(len(order), Look.SOLID, np.uint8),
            (number + shift)[order].astype(np.int32),
        )
        return Lane(
            key=f"rows:{name}",
            label=name,
            about=about,
            kind=LaneKind.ITEMS,
            make=lambda: (items, marks),
        )

    def boundary(i: int) -> str:
        e = int(epochs[first[i]])
        return f"row {int(first[i]) + e}: the boundary before epoch {e}"

    def final(i: int) -> str:
        e = int(epochs[last[i]])
        return f"row {int(last[i]) + e + 1}: the final value of epoch {e}"

    shapes = np.full(len(first), Shape.EPISODE, np.uint8)
    return [
        lane(
            "T", "rows of actions, rewards and the like", np.zeros_like(epochs), Marks()
        ),
        lane(
            "T+E, before",
            "rows of dones and the like: each epoch has the boundary before it first",
            epochs + 1,
            Marks(start[first], shapes, boundary),
        ),
        lane(
            "T+E, after",
            "rows of values: each epoch has the final value after it last",
            epochs,
            Marks(np.maximum.accumulate(ends), shapes, final),
        ),
    ]
