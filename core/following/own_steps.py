"""Whose each native step is, by the labels alone, for a recording that grows.

Nothing is worked out anew as rows come: each environment's rows are appended to, and
the analysis that views look at is the same object in a longer state. What only looking
at the states can tell (missed restores, rewinds, findings) comes when the run is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.analysis import NO_ROWS, Analysis, Timings
from isoscope.core.attribution.result import Attribution, Reason
from isoscope.core.controltime import control_time_s
from isoscope.core.isolation.audit import together
from isoscope.core.isolation.stretches import stretches
from isoscope.core.recording.model import Labels, StepKind
from isoscope.core.recording.tracks import Track
from isoscope.core.timeline.steps import typical_h
from isoscope.core.turns import BREAK, Turns

if TYPE_CHECKING:
    from isoscope.core.isolation.findings import Audit, Finding
    from isoscope.core.isolation.stretches import Stretch
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.spill import Spill
    from isoscope.core.recording.tracks import Array, Int64Array

LOOK_AGAIN = 1.05
_INT, _REAL = np.dtype(np.int64), np.dtype(np.float64)


class GrowingTurns(Turns):
    """The rows of one environment, with breaks between episodes; appended to."""

    def __init__(self, spill: Spill | None = None) -> None:
        self._sequence, self._place = (Track(_INT, (), spill=spill) for _ in range(2))
        self._taken = 0
        self._last = -1  # the episode of the last row

    @property
    def sequence(self) -> Int64Array:
        """Native steps, ascending, and breaks between them."""
        return self._sequence.values

    @property
    def place(self) -> Int64Array:
        """The same, a break having the number of the row after it."""
        return self._place.values

    def catch_up(self, own: Int64Array, episode: Array) -> None:
        """Take in the rows that are new; `episode` is of all rows of the recording."""
        rows = own[self._taken :]
        if not len(rows):
            return
        of = episode[rows]
        broken = np.diff(of, prepend=of[:1] if not self._taken else self._last) != 0
        at = np.flatnonzero(broken)
        self._taken, self._last = len(own), int(of[-1])
        self._sequence.append(np.insert(rows, at, BREAK))
        self._place.append(np.insert(rows, at, rows[at]))


class OwnSteps:
    """Each environment's rows, and what views ask of an attribution; grows.

    Parameters
    ----------
    recording
        With labels; its rows only ever grow.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.rows = 0
        self._own: dict[int, Track] = {}
        self._turns: dict[int, GrowingTurns] = {}
        self._usual_s: float | None = None
        self._control = Track(_REAL, ())
        self._episodes = 0
        self._last_episode: dict[int, int] = {}
        self._attribution: Attribution | None = None
        self._stretches: dict[int, tuple[int, tuple[Stretch, ...], Finding]] = {}
        self.kept_up: Audit | None = None  # by the checks that keep up
        self.looked: Audit | None = None  # by all of them, when the run was paused last

    @property
    def audit(self) -> Audit | None:
        """What is wrong with what has come, as far as anybody has looked."""
        if self.kept_up is None or self.looked is None:
            return self.kept_up or self.looked
        return together(self.kept_up, self.looked)

    @property
    def environments(self) -> tuple[int, ...]:
        """Those that have a step, ascending."""
        return tuple(sorted(self._own))

    def rows_of(self, env: int) -> Int64Array:
        """int64 [n]: the native steps of one environment, ascending."""
        track = self._own.get(env)
        return NO_ROWS if track is None else track.values

    def tainted_by(self, finding: Finding, labels: Labels) -> tuple[Stretch, ...]:
        """The stretches of `labels` that a finding taints.

        What taints all that follows grows with the run. It is looked at anew when the
        run has grown by a share, so that all looks together stay linear.
        """
        at, found, of = self._stretches.get(id(finding), (-1, (), finding))
        if at < 0 or of is not finding or len(labels) > at * LOOK_AGAIN:
            found = stretches(labels, finding, self.rows_of)
            self._stretches[id(finding)] = len(labels), found, finding
        return found

    def turns_of(self, env: int) -> Turns:
        """The rows of one environment, broken between episodes."""
        found = self._turns.get(env)
        if found is None:
            found = self._turns[env] = GrowingTurns(self.recording.steps.spill)
        labels = self.recording.labels
        if labels is not None:
            found.catch_up(self.rows_of(env), labels.episode)
        return found

    def take(self, upto: int) -> bool:
        """Take in the rows up to this one; whether an environment is new."""
        labels = self.recording.labels
        if labels is None or upto <= self.rows:
            return False
        first, self.rows = self.rows, upto
        spill = self._control.spill = self.recording.steps.spill
        env = np.asarray(labels.env[first:upto])
        order = np.argsort(env, kind="stable")
        grouped = env[order]
        known = len(self._own)
        for part in np.split(order, np.flatnonzero(np.diff(grouped)) + 1):
            whose = int(env[part[0]])
            if whose >= 0:
                rows = part.astype(np.int64) + first
                if whose not in self._own:
                    self._own[whose] = Track(_INT, (), spill=spill)
                self._own[whose].append(rows)
        for whose, turns in self._turns.items():  # somebody draws these
            turns.catch_up(self.rows_of(whose), labels.episode)
        self._take_columns(labels, first, upto)
        return len(self._own) != known

    def _take_columns(self, labels: Labels, first: int, upto: int) -> None:
        part = Labels(
            labels.env[first:upto],
            labels.episode[first:upto],
            labels.control_step[first:upto],
            labels.substep[first:upto],
            labels.kind[first:upto],
        )
        h_s = self.recording.steps.h_s[first:upto]
        stepped = (part.kind == StepKind.SUBSTEP) & (part.substep >= 0)
        if self._usual_s is None and stepped.any():
            self._usual_s = typical_h(h_s[stepped])
        self._control.append(
            control_time_s(part, h_s, self.substeps, self._usual_s or float("nan"))
        )
        begun = (part.env >= 0) & (part.episode >= 0)
        pairs = np.unique(np.stack([part.env[begun], part.episode[begun]]), axis=1)
        for whose, episode in pairs.T.tolist():
            # They count up, and a set of them would grow with the run.
            if episode > self._last_episode.get(whose, -1):
                self._last_episode[whose] = episode
                self._episodes += 1

    @property
    def substeps(self) -> int | None:
        """M, where the recording says it."""
        labelled = self.recording.labelled
        return None if labelled is None else labelled.identity.substeps

    def analysis(self) -> Analysis:
        """What is known now; its attribution is one object that grows."""
        rows, given = self.rows, self.recording.labels
        labels = Labels.unknown(0) if given is None else _cut(given, rows)
        unknown, parent = _every(np.nan, rows), _every(np.int32(-1), rows)
        certain, linked = _every(1.0, rows), _every(np.True_, rows)
        reason = _every(np.int8(Reason.NONE), rows)
        known = self._attribution
        if known is None:
            known = self._attribution = Attribution(
                labels=labels,
                linked=linked,
                residual_m=unknown,
                margin_m=unknown,
                confidence=certain,
                reason=reason,
                parent=parent,
                track=parent,
                scene_time_s=unknown,
                scene_time_since_s=unknown,
                substeps_how="the recording says it",
            )
        known.labels, known.linked = labels, linked
        known.residual_m = known.margin_m = unknown
        known.scene_time_s = self.recording.steps.scene_time_s[:rows]
        known.scene_time_since_s = unknown
        known.confidence, known.reason = certain, reason
        known.parent = known.track = parent
        known.environments, known.episodes = len(self._own), self._episodes
        known.substeps = self.substeps
        control = self._control.values
        return FollowedAnalysis(
            rows, known, control, self.audit, "", Timings(0.0), steps=self
        )


@dataclass(frozen=True, eq=False)
class FollowedAnalysis(Analysis):
    """An analysis by labels; shares what grows with those before and after it."""

    steps: OwnSteps | None = None

    @property
    def _known(self) -> OwnSteps:
        assert self.steps is not None
        return self.steps

    @property
    def by_environment(self) -> Int64Array:
        """int64 [n]: rows whose environment is known, by it, ascending within each."""
        parts = [self.rows_of(env) for env in self.environments]
        return np.concatenate(parts) if parts else NO_ROWS

    @cached_property
    def environments(self) -> tuple[int, ...]:
        """The environments that have a step, ascending."""
        return self._known.environments

    def rows_of(self, env: int) -> Int64Array:
        """int64 [n]: the native steps of one environment, ascending."""
        return self._known.rows_of(env)

    def tainted_by(self, finding: Finding) -> tuple[Stretch, ...]:
        """The stretches that a finding taints; what goes on may end a little early."""
        return self._known.tainted_by(finding, self.labels)

    def turns_of(self, env: int) -> Turns:
        """The rows of one environment, broken between episodes."""
        return self._known.turns_of(env)


def _every(value: Any, rows: int) -> Array:
    """The same value in every row, kept once."""
    return np.broadcast_to(np.asarray(value), rows)


def _cut(labels: Labels, rows: int) -> Labels:
    return Labels(
        labels.env[:rows],
        labels.episode[:rows],
        labels.control_step[:rows],
        labels.substep[:rows],
        labels.kind[:rows],
    )
