"""Everything found out about one recording: whose its steps were, and what is wrong.

An `Analyser` keeps up with a recording that grows, and an `Analysis` is one frozen
answer for the rows that it covers; views and commands look at nothing else. No Qt.

Axis order: time first. Environments, native steps and substeps count from 0, episodes
and control steps from 1.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.align import align
from isoscope.core.attribution.as_told import as_told
from isoscope.core.attribution.attributor import Attributor, attribute
from isoscope.core.controltime import control_time_s
from isoscope.core.errors import CancelledError
from isoscope.core.isolation.audit import audit, together
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.isolation.stretches import stretches
from isoscope.core.isolation.tainting import Tainting
from isoscope.core.turns import Turns

if TYPE_CHECKING:
    from isoscope.core.attribution.align import AlignResult, AlignSegment
    from isoscope.core.attribution.result import Attribution
    from isoscope.core.isolation.findings import Audit, Finding
    from isoscope.core.isolation.stretches import Stretch
    from isoscope.core.isolation.tainting import Tainted
    from isoscope.core.recording.model import Labels, Recording
    from isoscope.core.recording.source import Cancel, Progress
    from isoscope.core.recording.tracks import Array, Int64Array

NO_ROWS: Int64Array = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds that each part took; NaN for one that did not run."""

    attribution_s: float
    audit_s: float = float("nan")
    alignment_s: float = float("nan")


@dataclass(frozen=True, eq=False)
class Analysis:
    """What was found out about the first rows of a recording.

    Attributes
    ----------
    rows
        Native steps that it covers; a recording that grows may have more by now.
    attribution
        Whose each step was.
    control_s
        float64 [rows]: the control time of the step's own environment since its reset;
        NaN where its control step is unknown.
    audit
        The findings; None while the recording still grows.
    reference
        What the independent twin is called that the audit compared with, or empty.
    timings
        How long it took.
    alignment
        How the clocks lie over one another; None until that is worked out.
    tainting
        Works out what the findings taint; None while there is no whole audit.
    """

    rows: int
    attribution: Attribution
    control_s: Array
    audit: Audit | None
    reference: str
    timings: Timings
    alignment: AlignResult | None = None
    tainting: Tainting | None = None

    @property
    def labels(self) -> Labels:
        """Environment, episode, control step, substep, kind of every row."""
        return self.attribution.labels

    @property
    def shared(self) -> bool:
        """Whether several environments step the scene in turn."""
        return len(self.environments) > 1

    @property
    def findings(self) -> list[Finding]:
        """Worst first; empty while there is no audit."""
        return self.audit.findings if self.audit is not None else []

    @property
    def tainted(self) -> Tainted | None:
        """What can't be trusted because of the findings; worked out only once.

        None while there is no audit of the whole recording, so also of a run that goes
        on.
        """
        return None if self.tainting is None else self.tainting.tainted

    def tainted_by(self, finding: Finding) -> tuple[Stretch, ...]:
        """The stretches of native steps that one of the findings taints."""
        of, found = self._stretches.get(id(finding), (None, ()))
        if of is not finding:
            found = stretches(self.labels, finding, self.rows_of)
            self._stretches[id(finding)] = finding, found
        return found

    @cached_property
    def _stretches(self) -> dict[int, tuple[Finding, tuple[Stretch, ...]]]:
        return {}

    @cached_property
    def by_environment(self) -> Int64Array:
        """int64 [n]: rows whose environment is known, by it, ascending within each."""
        env = self.labels.env
        # int16 sorts in linear time; more environments than that are sorted as they are
        small = env.astype(np.int16) if len(env) and env.max() < 2**15 else env
        order = np.argsort(small, kind="stable").astype(np.int64)
        return np.asarray(order[env[order] >= 0])

    @cached_property
    def _own(self) -> dict[int, Int64Array]:
        rows = self.by_environment
        env = self.labels.env[rows]
        parts = np.split(rows, np.flatnonzero(np.diff(env)) + 1) if len(rows) else []
        return {int(self.labels.env[part[0]]): part for part in parts}

    @cached_property
    def environments(self) -> tuple[int, ...]:
        """The environments that have a step, ascending."""
        return tuple(sorted(self._own))

    def rows_of(self, env: int) -> Int64Array:
        """int64 [n]: the native steps of one environment, ascending; empty if none."""
        return self._own.get(env, NO_ROWS)

    def last_row(self, env: int, row: int) -> int:
        """The last native step of an environment at or before `row`; -1 if none."""
        own = self.rows_of(env)
        at = int(np.searchsorted(own, row, "right")) - 1
        return int(own[at]) if at >= 0 else -1

    def next_row(self, env: int, row: int) -> int:
        """The first native step of an environment after `row`; -1 if none."""
        own = self.rows_of(env)
        at = int(np.searchsorted(own, row, "right"))
        return int(own[at]) if at < len(own) else -1

    def owner(self, row: int) -> int:
        """Whose native step a row is; -1 where unknown or not covered."""
        return int(self.labels.env[row]) if 0 <= row < self.rows else -1

    def segment_at(self, row: int) -> AlignSegment | None:
        """The stretch over which all clocks of the row's environment run through."""
        env = self.owner(row)
        starts, segments = self._segments.get(env, (NO_ROWS, []))
        at = int(np.searchsorted(starts, row, "right")) - 1
        return segments[at] if at >= 0 else None

    @cached_property
    def _segments(self) -> dict[int, tuple[Int64Array, list[AlignSegment]]]:
        if self.alignment is None:
            return {}
        found = {}
        for aligned in self.alignment.environments:
            starts = np.array([s.native[0] for s in aligned.segments], np.int64)
            env = -1 if aligned.env is None else aligned.env
            found[env] = (starts, aligned.segments)
        return found

    def turns_of(self, env: int) -> Turns:
        """The rows of one environment, broken where its state broke off."""
        found = self._turns.get(env)
        if found is None:
            own = self.rows_of(env)
            labels, parent = self.labels, self.attribution.parent[own]
            broken = np.zeros(len(own), np.bool_)
            broken[1:] = np.diff(labels.episode[own]) != 0
            broken[1:] |= (parent[1:] >= 0) & (parent[1:] != own[:-1])
            found = self._turns[env] = Turns.of(own, broken)
        return found

    @cached_property
    def _turns(self) -> dict[int, Turns]:
        return {}

    def findings_of(self, env: int) -> list[Finding]:
        """The findings that are about an environment, or that reached it."""
        return self._found.get(env, [])

    @cached_property
    def _found(self) -> dict[int, list[Finding]]:
        found: dict[int, list[Finding]] = {}
        for finding in self.findings:
            for env in {finding.env, *(a.env for a in finding.affected)}:
                if env is not None:
                    found.setdefault(env, []).append(finding)
        return found

    def prepare(self) -> None:
        """Work out now what is otherwise worked out when it is first asked for."""
        _ = self.environments, self._segments, self.tainted


class Analyser:
    """Attributes and audits one recording, which may grow.

    Parameters
    ----------
    recording
        Whose rows only ever grow; read from the thread that calls.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._attributor = Attributor(recording)
        self._spent_s = 0.0

    def run(
        self,
        progress: Progress | None = None,
        cancelled: Cancel | None = None,
        *,
        complete: bool = True,
        reference: Examined | None = None,
    ) -> Analysis:
        """Take in the rows that have come since, and say what is known now.

        Parameters
        ----------
        progress
            Told native steps (done, in all).
        cancelled
            Asked between blocks; the rows taken in until then stay.
        complete
            Whether no more rows come, so that the audit can say what is wrong.
        reference
            An independent twin to compare with.

        Raises
        ------
        CancelledError
            If `cancelled` said so.
        """
        begin = time.perf_counter()
        attribution = None
        if complete and not len(self._attributor):
            attribution = as_told(self.recording, progress, cancelled)
        try:
            if attribution is None:
                self._attributor.update(
                    progress=progress, cancelled=cancelled, upto=len(self.recording)
                )
        finally:
            self._spent_s += time.perf_counter() - begin
        begin = time.perf_counter()
        attribution = attribution or self._attributor.result()
        rows = len(attribution)
        h_s = self.recording.steps.h_s[:rows]
        control_s = control_time_s(attribution.labels, h_s, attribution.substeps)
        spent = self._spent_s + time.perf_counter() - begin
        found = Analysis(rows, attribution, control_s, None, "", Timings(spent))
        found.prepare()
        if not complete:
            return found
        if cancelled is not None and cancelled():
            raise CancelledError(f"auditing {self.recording.name} was stopped")
        return audited(found, self.recording, reference)


def audited(
    analysis: Analysis, recording: Recording, reference: Examined | None = None
) -> Analysis:
    """The same attribution with its findings, perhaps against an independent twin."""
    begin = time.perf_counter()
    subject = Examined(recording, analysis.attribution)
    found = audit(Context(subject, reference))
    made = replace(
        analysis,
        audit=found,
        reference=reference.recording.name if reference is not None else "",
        timings=replace(analysis.timings, audit_s=time.perf_counter() - begin),
        tainting=Tainting(subject, found.findings),
    )
    made.prepare()
    return made


def told_more(analysis: Analysis, recording: Recording, more: Audit) -> Analysis:
    """The same with what some checks found that could not look before."""
    if analysis.audit is None:
        return analysis
    subject = Examined(recording, analysis.attribution)
    found = together(more, analysis.audit)
    made = replace(analysis, audit=found, tainting=Tainting(subject, found.findings))
    made.prepare()
    return made


def audited_so_far(recording: Recording, cancelled: Cancel | None = None) -> Audit:
    """What is wrong with all that a run, which doesn't go on just now, has brought.

    Raises
    ------
    CancelledError
        If `cancelled` said so.
    """
    found = attribute(recording, margins=False, cancelled=cancelled)
    return audit(Context(Examined(recording, found)), cancelled=cancelled)


def aligned(analysis: Analysis, recording: Recording) -> Analysis:
    """The same with its clocks laid over one another."""
    begin = time.perf_counter()
    found = align(recording, analysis.attribution)
    spent = replace(analysis.timings, alignment_s=time.perf_counter() - begin)
    made = replace(analysis, alignment=found, timings=spent)
    made.prepare()
    return made
