"""The lanes of a recording that grows: each row is looked at once, whatever the length.

What is appended to stays from one picture to the next, and a lane that is out of sight
catches up when it is first looked at. All is there but what only an analysis of the
whole says: residuals, arcs, taint. `timeline_of` makes the lanes of a recording that is
complete.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.scenes import scenes_of
from isoscope.core.timeline.chunk_lanes import ChunkLanes
from isoscope.core.timeline.growing_pieces import (
    GrowingBits,
    GrowingItems,
    GrowingMarks,
)
from isoscope.core.timeline.lanes import (
    actor_lanes,
    bookmark_marks,
    events_lane,
    finding_marks,
    gravity_marks,
    problem_marks,
    with_findings,
)
from isoscope.core.timeline.model import Lane, Timeline, TimelineExtras
from isoscope.core.timeline.owners import (
    border_text,
    environment_lane,
    own_content,
    owner_bits,
    ribbon,
)
from isoscope.core.timeline.pieces import Items, Marks, Shape
from isoscope.core.timeline.steps import (
    bars,
    odd_steps,
    say_odd,
    step_levels,
    step_looks,
    typical_h,
)
from isoscope.core.timeline.told_lanes import chunked, run_marks, with_told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.core.following.own_steps import OwnSteps
    from isoscope.core.following.told import Told
    from isoscope.core.recording.model import Labels, Recording
    from isoscope.core.recording.spill import Spill
    from isoscope.core.recording.tracks import Array
    from isoscope.core.timeline.told_lanes import Grouping

AT_ONCE = 1 << 16  # rows looked at in one go
SETTLED = 4096  # rows by which the usual h is known well enough


class _EnvLane:
    """The control steps of one environment, appended to."""

    def __init__(self, spill: Spill | None) -> None:
        self._items = GrowingItems(spill)
        self._borders = GrowingMarks(self._text, spill)
        self._labels: Labels | None = None
        self._taken = 0  # own rows up to the last item's begin
        self._marked = -1  # the last row with a border

    def content(self, steps: OwnSteps, labels: Labels, env: int) -> tuple[Items, Marks]:
        """What lies on the lane now."""
        self._labels = labels
        own = steps.rows_of(env)
        own = own[: int(np.searchsorted(own, len(labels)))]
        if len(own) > self._taken:
            # The last item may not have been over: it is made again.
            items, marks = own_content(own[self._taken :], labels)
            self._items.go_on(items)
            self._note(marks, np.flatnonzero(marks.rows > self._marked))
            self._taken = int(np.searchsorted(own, self._items.begin_of_last))
        return self._items.items(), self._borders.marks()

    def _note(self, marks: Marks, kept: Array) -> None:
        if not len(kept):
            return
        self._borders.append(marks.rows[kept], marks.shapes[kept])
        self._marked = int(marks.rows[kept][-1])

    def _text(self, index: int) -> str:
        assert self._labels is not None, "there is a mark"
        row = int(self._borders.rows[index])
        return border_text(self._borders.shapes[index], self._labels.episode[row])


class GrowingTimeline:
    """Makes the timeline of a recording again and again as it grows."""

    def __init__(self, recording: Recording, steps: OwnSteps, told: Told) -> None:
        self.recording, self.steps, self.told = recording, steps, told
        self.chunk_lanes = ChunkLanes(told.chunks)
        self._begin()

    def _begin(self) -> None:
        self._rows = 0
        self._usual_s = float("nan")
        spill = self.recording.steps.spill
        self._owners = GrowingBits(np.dtype(np.uint16), spill)
        self._steps = GrowingBits(np.dtype(np.uint8), spill)
        self._odd = GrowingMarks(self._say_odd, spill)
        self._gravity: list[Marks] = []
        self._lanes: dict[int, _EnvLane] = {}

    @property
    def rows(self) -> int:
        """Rows that were looked at; the recording may have more."""
        return self._rows

    def timeline(
        self,
        bookmarks: Iterable[tuple[int, str]] = (),
        expected: int = 0,
        grouping: Grouping = "steps",
        extras: TimelineExtras | None = None,
    ) -> Timeline:
        """The lanes as far as the recording is now, or as it could be looked at.

        Parameters
        ----------
        bookmarks
            (row, name) each.
        expected
            Rows that there may be in the end.
        grouping
            What the scrolled lanes are: environments with their control steps, or with
            their chunks, or sources with theirs.
        extras
            What was found so far: of it the findings, and what they taint.
        """
        extras = extras or TimelineExtras()
        recording = self.recording
        self._take(min(len(recording), self.steps.rows or len(recording)))
        rows = self._rows
        labels = _first(recording.labels, rows)
        lanes: list[Lane] = []
        if labels is not None:
            scenes = scenes_of(recording, len(self.steps.environments))
            lanes.append(ribbon(self._owners.rows(), scenes))
        row_is = recording.row_is
        lanes.append(bars(self._steps.rows(), self._odd.marks(), row_is))
        events = Marks.merged(
            [
                *self._gravity,
                problem_marks(list(recording.problems), recording.steps.event[:rows]),
                bookmark_marks(bookmarks, rows),
                run_marks(self.told, rows),
                finding_marks(extras.findings, rows),
            ]
        )
        if len(events):
            lanes.append(events_lane(events))
        scrolled = self._scrolled(labels, grouping)
        if extras.findings:
            scrolled = [with_findings(lane, extras, rows) for lane in scrolled]
        lanes += scrolled
        lanes += actor_lanes(recording, rows)
        return Timeline(
            rows=rows,
            expected=max(expected, rows),
            lanes=tuple(lanes),
            labels=labels,
            extras=extras,
            typical_h_s=self._usual_s,
            row_is=row_is,
        )

    def _lane(self, env: int) -> _EnvLane:
        if env not in self._lanes:
            self._lanes[env] = _EnvLane(self.recording.steps.spill)
        return self._lanes[env]

    def _scrolled(self, labels: Labels | None, grouping: Grouping) -> list[Lane]:
        environments = self.steps.environments
        if grouping != "steps" and len(self.told.chunks):
            return chunked(self.chunk_lanes, self.told, grouping, set(environments))
        if labels is None:
            return []
        return [
            with_told(
                environment_lane(
                    env,
                    partial(self._lane(env).content, self.steps, labels, env),
                ),
                self.told,
            )
            for env in environments
        ]

    # -- rows --------------------------------------------------------------------------

    def _take(self, upto: int) -> None:
        if self._rows and self._rows < SETTLED and upto > self._rows:
            # The usual h is not sure yet, and all heights hang on it.
            usual = typical_h(self.recording.steps.h_s[: min(upto, SETTLED)])
            if usual != self._usual_s and not (
                np.isnan(usual) and np.isnan(self._usual_s)
            ):
                lanes = self._lanes
                self._begin()
                self._lanes = lanes
        upto = min(upto, self._rows + AT_ONCE)
        first = self._rows
        if upto <= first:
            return
        steps = self.recording.steps
        h_s = steps.h_s[first:upto]
        if first == 0:
            self._usual_s = typical_h(steps.h_s[: min(upto, SETTLED)])
        looks = step_looks(h_s, self._usual_s)
        self._steps.append(looks, step_levels(h_s, self._usual_s))
        rows, shapes = odd_steps(looks)
        self._odd.append(rows + first, shapes)
        labels = self.recording.labels
        if labels is not None and len(labels) >= upto:
            self._owners.append(owner_bits(np.asarray(labels.env[first:upto])))
        self._take_gravity(steps.gravity[max(first - 1, 0) : upto], max(first - 1, 0))
        self._rows = upto

    def _take_gravity(self, gravity: Array, first: int) -> None:
        found = gravity_marks(gravity)
        if len(found):
            self._gravity.append(Marks(found.rows + first, found.shapes, found.text))

    def _say_odd(self, index: int) -> str:
        return say_odd(Shape(int(self._odd.shapes[index])))


def _first(labels: Labels | None, rows: int) -> Labels | None:
    if labels is None or rows == 0 or len(labels) < rows:
        return None
    return type(labels)(
        labels.env[:rows],
        labels.episode[:rows],
        labels.control_step[:rows],
        labels.substep[:rows],
        labels.kind[:rows],
    )
