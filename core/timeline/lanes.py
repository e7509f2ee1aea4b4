"""Every lane of a recording: what the file says, and what was found out about it."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.scenes import came_later, scenes_of
from isoscope.core.timeline.model import Lane, LaneKind, Timeline, TimelineExtras
from isoscope.core.timeline.owners import environment_lanes, owner_lane
from isoscope.core.timeline.pieces import SEVERITY_SHAPES, Items, Marks, RowBits, Shape
from isoscope.core.timeline.steps import steps_lane, typical_h

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.core.recording.model import Labels, Problem, Recording
    from isoscope.core.recording.tracks import Array, Int64Array
    from isoscope.core.timeline.model import FindingMark

_EVENT_PLACE = re.compile(r"/events/(\d+)")


def timeline_of(
    recording: Recording,
    extras: TimelineExtras | None = None,
    bookmarks: Iterable[tuple[int, str]] = (),
    expected: int = 0,
) -> Timeline:
    """All lanes of a recording as far as it is indexed.

    Parameters
    ----------
    recording
        May grow meanwhile: only the rows that there are now are looked at.
    extras
        What is known beyond the file; shorter columns leave the rest unknown.
    bookmarks
        (row, name) each.
    expected
        Rows that there may be in the end.
    """
    extras = extras or TimelineExtras()
    rows = len(recording)
    steps = recording.steps
    h_s = steps.h_s[:rows]
    usual = typical_h(h_s)
    labels = _fitted(extras.labels or recording.labels, rows)
    lanes: list[Lane] = []
    span = None
    if labels is not None:
        count = len(np.unique(labels.env[labels.env >= 0]))
        lanes.append(owner_lane(labels, scenes_of(recording, count)))
    if extras.residual is not None and rows:
        strip, span = residual_lane(extras.residual, rows)
        lanes.append(strip)
    lanes.append(steps_lane(h_s, usual, recording.row_is))
    events = Marks.merged(
        [
            gravity_marks(steps.gravity[:rows]),
            problem_marks(list(recording.problems), steps.event[:rows]),
            finding_marks(extras.findings, rows),
            bookmark_marks(bookmarks, rows),
        ]
    )
    if len(events):
        lanes.append(events_lane(events))
    if labels is not None:
        lanes += [with_findings(a, extras, rows) for a in environment_lanes(labels)]
    lanes += actor_lanes(recording, rows)
    return Timeline(
        rows=rows,
        expected=max(expected, rows),
        lanes=tuple(lanes),
        labels=labels,
        extras=extras,
        typical_h_s=usual,
        residual_span=span,
        row_is=recording.row_is,
    )


def events_lane(marks: Marks) -> Lane:
    """The lane of what is worth finding again."""
    return Lane(
        key="events",
        label="events",
        about="changes of gravity, problems of the file, findings, bookmarks",
        kind=LaneKind.EVENTS,
        make=lambda: (Items.none(), marks),
    )


def gravity_marks(gravity: Array) -> Marks:
    """A mark on the first row under each new gravity.

    Parameters
    ----------
    gravity
        float64 [T, 3]; NaN where unknown. An unknown value is no change: the next
        known one is compared with the last known before it.
    """
    values, known = gravity, np.arange(len(gravity))
    there = np.isfinite(gravity[:, 0])
    for axis in (1, 2):
        there &= np.isfinite(gravity[:, axis])
    if not there.all():
        known = np.flatnonzero(there)
        values = gravity[known]
    # Column by column: a million rows are looked at as a recording grows.
    differs = values[1:, 0] != values[:-1, 0]
    for axis in (1, 2):
        differs |= values[1:, axis] != values[:-1, axis]
    changed = np.flatnonzero(differs) + 1
    before, after = values[changed - 1], values[changed]

    def text(index: int) -> str:
        old, new = _vector(before[index]), _vector(after[index])
        return f"gravity changes from {old} to {new} m/s²"

    shapes = np.full(len(changed), Shape.GRAVITY, np.uint8)
    return Marks(known[changed].astype(np.int64), shapes, text)


def problem_marks(problems: list[Problem], events: Int64Array) -> Marks:
    """A mark where each problem with a place in the file lies (its first place).

    Parameters
    ----------
    events
        int64 [T]: the event number of each row, ascending. A problem between two
        steps is marked on the later one, which it has its effect on.
    """
    marks = []
    for problem in problems:
        place = _EVENT_PLACE.match(problem.where)
        if place is None or not len(events):
            continue
        number = min(int(place.group(1)), int(events[-1]))
        row = int(np.searchsorted(events, number, "left"))
        shape = SEVERITY_SHAPES[problem.severity]
        marks.append((row, shape, str(problem)))
    return Marks.listed(marks)


def finding_marks(findings: Iterable[FindingMark], rows: int) -> Marks:
    """A mark for each finding on the rows that there are."""
    return Marks.listed(
        [
            (found.row, found.shape or SEVERITY_SHAPES[found.severity], found.text)
            for found in findings
            if 0 <= found.row < rows
        ]
    )


def bookmark_marks(bookmarks: Iterable[tuple[int, str]], rows: int) -> Marks:
    """A mark for each bookmark on the rows that there are."""
    return Marks.listed(
        [
            (row, Shape.BOOKMARK, f"bookmark: {name}" if name else "bookmark")
            for row, name in bookmarks
            if 0 <= row < rows
        ]
    )


def actor_lanes(recording: Recording, rows: int) -> list[Lane]:
    """A lifetime bar for each actor that is created or destroyed on the way.

    An articulation's links live as long as it does and get no bar of their own.
    """
    lanes = []
    actors, later = list(recording.actors), came_later(recording)
    spans = {(a.name, a.created_native, a.destroyed_native) for a in actors}
    for actor in actors:
        begin, end = actor.created_native, actor.destroyed_native
        begin = begin if actor.index in later else 0
        if begin <= 0 and end is None:
            continue
        if (actor.parent_name, actor.created_native, end) in spans:
            continue
        stop = rows if end is None else min(end, rows)
        if begin >= stop:
            continue
        born = "there from the beginning" if begin <= 0 else f"created in row {begin}"
        dies = "stays" if end is None else f"gone from row {end}"
        lanes.append(
            Lane(
                key=f"actor:{actor.index}",
                label=actor.name,
                about=f"{actor.name} ({actor.type}): {born}, {dies}",
                kind=LaneKind.ITEMS,
                make=partial(_bar, begin, stop),
                actor=actor.index,
            )
        )
    return lanes


def _bar(begin: int, stop: int) -> tuple[Items, Marks]:
    return Items.bars([(begin, stop)]), Marks()


def residual_lane(residual: Array, rows: int) -> tuple[Lane, tuple[float, float]]:
    """The strip of residuals, and the values that its bottom and top stand for.

    Heights are logarithmic over whole decades; a residual of exactly 0 stands at the
    bottom. Bit 1 says that a row's residual is known, bit 2 that it is not.
    """
    values = np.full(rows, np.nan)
    n = min(rows, len(residual))
    values[:n] = residual[:n]
    known = np.isfinite(values)
    positive = values[known & (values > 0)]
    low, high = 1e-12, 1.0
    if len(positive):
        least, most = np.clip([positive.min(), positive.max()], 1e-300, 1e300)
        low, high = 10.0 ** np.floor(np.log10(least)), 10.0 ** np.ceil(np.log10(most))
    high = max(high, 10 * low)
    level = np.zeros(rows, np.uint8)
    bottom = np.log10(low)
    decades = np.log10(np.maximum(values[known], low)) - bottom
    share = decades / (np.log10(high) - bottom)
    level[known] = np.clip(8 + 92 * share, 8, 100).astype(np.uint8)
    bits = np.where(known, 1, 2).astype(np.uint8)
    lane = Lane(
        key="residual",
        label="residual",
        about=f"distance from the state a step goes on from: {low:.0e} to {high:.0e}",
        kind=LaneKind.RESIDUAL,
        rows=RowBits(bits, level),
    )
    return lane, (float(low), float(high))


def with_findings(lane: Lane, extras: TimelineExtras, rows: int) -> Lane:
    """The lane with the marks of the findings about its environment."""
    own = [found for found in extras.findings if found.env == lane.env]
    if not own or lane.env is None:
        return lane
    marks = finding_marks(own, rows)
    return replace(lane, make=lambda: (lane.items, Marks.merged([lane.marks, marks])))


def _fitted(labels: Labels | None, rows: int) -> Labels | None:
    # Labels may lag behind a recording that grows: the rest is unknown.
    if labels is None or rows == 0:
        return None
    if len(labels) >= rows:
        return type(labels)(
            labels.env[:rows],
            labels.episode[:rows],
            labels.control_step[:rows],
            labels.substep[:rows],
            labels.kind[:rows],
        )
    full = type(labels).unknown(rows)
    n = len(labels)
    for name in ("env", "episode", "control_step", "substep", "kind"):
        getattr(full, name)[:n] = getattr(labels, name)
    return full


def _vector(values: Array) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in values) + ")"
