"""What the timeline shows of each document: its lanes, grown or made anew; no Qt."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from isoscope.core.timeline.chunk_lanes import ChunkLanes
from isoscope.core.timeline.chunk_words import trajectory_lanes
from isoscope.core.timeline.extras import (
    extras_of,
    found_so_far,
    with_divergences,
    with_past_end,
)
from isoscope.core.timeline.growing import GrowingTimeline
from isoscope.core.timeline.lanes import timeline_of
from isoscope.core.timeline.told_lanes import regrouped
from isoscope.widgets.document import Phase

if TYPE_CHECKING:
    from isoscope.core.timeline.model import Timeline, TimelineExtras
    from isoscope.core.timeline.told_lanes import Grouping
    from isoscope.widgets.document import Document

SHARE = 0.05  # of the time that looking at what is tainted may take, live


@dataclass(frozen=True, slots=True)
class _SoFar:
    """What was found of a run that goes on, at how many findings and rows."""

    stage: tuple[int, int]
    extras: TimelineExtras
    not_before_s: float  # when more rows alone are worth another look


class Content:
    """Makes the timelines of documents; remembers what each one's is made of."""

    def __init__(self) -> None:
        self._extras: WeakKeyDictionary[Document, TimelineExtras] = WeakKeyDictionary()
        self._groupings: WeakKeyDictionary[Document, Grouping] = WeakKeyDictionary()
        self._growing: WeakKeyDictionary[Document, GrowingTimeline] = (
            WeakKeyDictionary()
        )
        self._so_far: WeakKeyDictionary[Document, _SoFar] = WeakKeyDictionary()
        self._lanes: WeakKeyDictionary[Document, ChunkLanes] = WeakKeyDictionary()

    def set_extras(self, document: Document, extras: TimelineExtras | None) -> None:
        """What was found out about a document; None takes it away again."""
        if extras is None:
            self._extras.pop(document, None)
        else:
            self._extras[document] = extras

    def grouping(self, document: Document) -> Grouping:
        """What the scrolled lanes are; chunks, where there are any."""
        told = document.told
        if told is None or not len(told.chunks):
            return "steps"
        return self._groupings.get(document, "environments")

    def set_grouping(self, document: Document, grouping: Grouping) -> None:
        """Choose what the scrolled lanes are."""
        self._groupings[document] = grouping

    def behind(self, document: Document) -> bool:
        """Whether a part of a live document has still to be looked at."""
        growing = self._growing.get(document)
        return (
            document.phase is Phase.LIVE
            and growing is not None
            and growing.rows < growing.steps.rows
        )

    def timeline(self, document: Document) -> Timeline:
        """The document's lanes now."""
        made = self._live(document)
        if made is None:
            made = self._whole(document)
        made = replace(made, in_file=min(rows_in_file(document), made.rows))
        return seen(self._with_chosen(made, document), document)

    def _live(self, document: Document) -> Timeline | None:
        if document.phase is not Phase.LIVE:
            self._growing.pop(document, None)
            return None
        steps, told = document.own_steps, document.told
        if steps is None or told is None:
            return None
        growing = self._growing.get(document)
        if growing is None:
            recording = document.source.recording
            growing = self._growing[document] = GrowingTimeline(recording, steps, told)
        return growing.timeline(
            [(mark.row, mark.name) for mark in document.bookmarks],
            document.expected_rows,
            self.grouping(document),
            self._found(document),
        )

    def _found(self, document: Document) -> TimelineExtras | None:
        """What the checks that keep up have found, made anew where it may be new.

        What a finding taints grows with the run: how often that is looked at is
        bounded by what it costs.
        """
        analysis = document.analysis
        if analysis is None or not analysis.findings:
            self._so_far.pop(document, None)
            return None
        stage = (len(analysis.findings), analysis.rows)
        known = self._so_far.get(document)
        now = time.monotonic()
        if known is not None and (
            known.stage == stage
            or (known.stage[0] == stage[0] and now < known.not_before_s)
        ):
            return known.extras
        extras = found_so_far(analysis)
        spent_s = time.monotonic() - now
        made = _SoFar(stage, extras, now + spent_s / SHARE)
        self._so_far[document] = made
        return extras

    def _whole(self, document: Document) -> Timeline:
        extras = self._extras.get(document)
        if extras is None and document.analysis is not None:
            extras = extras_of(document.analysis)
        replayed = document.replayed
        if replayed is not None:
            extras = with_divergences(extras, replayed.name, replayed.report)
            if document.past_end is not None:
                extras = with_past_end(extras, replayed.name, document.past_end)
        made = timeline_of(
            document.recording,
            extras,
            [(mark.row, mark.name) for mark in document.bookmarks],
            document.expected_rows,
        )
        told = document.told
        if told is None or not made.rows:
            return made
        lanes = self._lanes.get(document)
        if lanes is None:
            lanes = self._lanes[document] = ChunkLanes(told.chunks)
        return regrouped(made, told, lanes, self.grouping(document))

    def _with_chosen(self, made: Timeline, document: Document) -> Timeline:
        """With the trajectory's rows below the chunk that is looked at."""
        key, told = document.chunk, document.told
        if key is None or told is None:
            return made
        found = told.chunks.find(key)
        if found is None or self.grouping(document) == "steps":
            return made
        source, at = found
        first = told.chunks.first_env(source)
        names = {f"source:{source.rank}.{source.stage}"}
        names |= {f"env:{first + slot}" for slot in range(source.batch)}
        chosen = {lane.key: at for lane in made.lanes if lane.key in names}
        lanes, after = list(made.lanes), -1
        for place, lane in enumerate(lanes):
            if lane.key in chosen:
                after = place
                if lane.env == document.focus or document.focus is None:
                    break
        if after >= 0:
            lanes[after + 1 : after + 1] = trajectory_lanes(source, at)
        return replace(made, lanes=tuple(lanes), chosen=chosen)


def rows_in_file(document: Document) -> int:
    """How many rows, the oldest first, of a watched run are no longer in memory."""
    live = document.live
    return 0 if live is None or live.memory is None else live.memory.in_file


def seen(timeline: Timeline, document: Document) -> Timeline:
    """The same lanes, saying which environments are shown and looked at."""
    pale = frozenset(document.hidden_envs)
    if (timeline.pale, timeline.focus) == (pale, document.focus):
        return timeline
    return replace(timeline, pale=pale, focus=document.focus)


def latest_s(document: Document) -> float:
    """The latest moment that is known of a document, since the epoch; NaN if none."""
    wall_s = document.recording.wall_s
    last = [wall_s[-1]] if wall_s is not None and len(wall_s) else []
    if document.told is not None:
        for source in document.told.chunks.ordered:
            last += source.times.values[-1:, 1].tolist()
    known = [value for value in last if np.isfinite(value)]
    return float(max(known)) if known else float("nan")
