"""What a labelled recording told, put onto lanes: marks of environments, and chunks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from isoscope.core.timeline.growing_pieces import StackedMarks
from isoscope.core.timeline.lanes import events_lane
from isoscope.core.timeline.model import LaneKind
from isoscope.core.timeline.pieces import Marks

if TYPE_CHECKING:
    from isoscope.core.following.told import Told
    from isoscope.core.timeline.chunk_lanes import ChunkLanes
    from isoscope.core.timeline.model import Lane, Timeline
    from isoscope.core.timeline.pieces import Items

# What the scrolled lanes are: environments with their control steps, or with their
# chunks, or sources with theirs.
Grouping = Literal["steps", "environments", "sources"]
GROUPINGS: dict[Grouping, str] = {
    "steps": "environments, an item for each control step",
    "environments": "environments, an item for each chunk",
    "sources": "sources (rank.stage), an item for each chunk",
}


def with_told(lane: Lane, told: Told) -> Lane:
    """The lane with what was told of its environment upon it."""
    found = None if lane.env is None else told.envs.get(lane.env)
    if found is None or not len(found):
        return lane
    of, make = found, lane.make

    def both() -> tuple[Items, Marks]:
        items, marks = make()
        return items, StackedMarks.of(marks, of.marks)

    return replace(lane, make=both)


def run_marks(told: Told, rows: int) -> Marks:
    """Failures and dropped records, on the rows that there are."""
    if not rows:
        return Marks()
    last = rows - 1
    return Marks.listed([(min(m.row, last), m.shape, m.text) for m in told.marks])


def chunked(
    lanes: ChunkLanes, told: Told, grouping: Grouping, envs: set[int]
) -> list[Lane]:
    """The lanes of chunks; `envs` are those that are there (none: all)."""
    if grouping == "sources":
        return lanes.by_source()
    return [with_told(lane, told) for lane in lanes.by_environment(envs)]


def regrouped(
    timeline: Timeline, told: Told, lanes: ChunkLanes, grouping: Grouping
) -> Timeline:
    """The same timeline with what was told, its environments grouped like that."""
    marks = run_marks(told, timeline.rows)
    kept: list[Lane] = []
    envs = {a.env for a in timeline.lanes if a.env is not None and a.env >= 0}
    chunks = grouping != "steps" and len(told.chunks) > 0
    placed = False
    for lane in timeline.lanes:
        if lane.kind is LaneKind.EVENTS and len(marks):
            kept.append(events_lane(Marks.merged([lane.marks, marks])))
            marks = Marks()
        elif lane.kind is LaneKind.ITEMS and lane.env is not None:
            if not chunks:
                kept.append(with_told(lane, told))
            elif not placed:
                kept += chunked(lanes, told, grouping, envs)
                placed = True
        else:
            kept.append(lane)
    if chunks and not placed:
        kept += chunked(lanes, told, grouping, set())
    if len(marks):
        kept.insert(0, events_lane(marks))
    return replace(timeline, lanes=tuple(kept))
