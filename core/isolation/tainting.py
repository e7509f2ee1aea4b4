"""Which native steps and transitions can't be trusted, and because of which findings.

The timeline, curation and export all ask this, so that they mark the same. It is a pure
function of the labels, the transitions and the findings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Taint
from isoscope.core.isolation.labelled_tables import Transitions
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isoscope.core.isolation.context import Examined
    from isoscope.core.isolation.findings import Finding
    from isoscope.core.recording.labelled.labelled import LabelledRecording
    from isoscope.core.recording.model import Labels
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array

_NONE: Int64Array = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one environment that a finding taints.

    Attributes
    ----------
    finding
        Its place in `Tainted.findings`.
    env
        Whose; None for whosever the rows are.
    rows
        int64 [k]: its native steps, ascending.
    transitions
        int64 [m]: its transitions, ascending.
    """

    finding: int
    env: int | None
    rows: Array
    transitions: Array


@dataclass(frozen=True, eq=False)
class Tainted:
    """What can't be trusted.

    Attributes
    ----------
    rows
        bool [T]: native steps.
    transitions
        bool [n]: of the table of transitions; empty where the recording has none.
    findings
        Those that were given.
    spans
        What each one taints, in their order.
    """

    rows: BoolArray
    transitions: BoolArray
    findings: tuple[Finding, ...]
    spans: tuple[Span, ...]

    @cached_property
    def row_reason(self) -> Array:
        """int32 [T]: the first finding that taints a native step; -1 for none."""
        return _reasons(len(self.rows), [(s.finding, s.rows) for s in self.spans])

    @cached_property
    def transition_reason(self) -> Array:
        """int32 [n]: the first finding that taints a transition; -1 for none."""
        pairs = [(s.finding, s.transitions) for s in self.spans]
        return _reasons(len(self.transitions), pairs)

    def why_row(self, row: int) -> list[Finding]:
        """All findings that taint a native step, in their order."""
        return self._why(row, "rows")

    def why_transition(self, transition: int) -> list[Finding]:
        """All findings that taint a transition, in their order."""
        return self._why(transition, "transitions")

    def _why(self, number: int, what: str) -> list[Finding]:
        hit = {s.finding for s in self.spans if _holds(getattr(s, what), number)}
        return [self.findings[k] for k in sorted(hit)]


def tainted(examined: Examined, findings: Sequence[Finding]) -> Tainted:
    """Work out what findings taint.

    Parameters
    ----------
    examined
        The recording that they are about, and whose its steps were.
    findings
        In the order in which reasons are to be given; worst first, say.
    """
    table = _Table(examined.attribution.labels, examined.recording.labelled)
    spans = [
        span
        for number, finding in enumerate(findings)
        for span in table.spans(number, finding)
    ]
    rows = np.zeros(table.rows, np.bool_)
    transitions = np.zeros(table.transitions, np.bool_)
    for span in spans:
        rows[span.rows] = True
        transitions[span.transitions] = True
    return Tainted(rows, transitions, tuple(findings), tuple(spans))


def row_reasons(
    labels: Labels,
    findings: Sequence[Finding],
    own: Callable[[int], Int64Array] | None = None,
) -> Array:
    """`Tainted.row_reason` alone, for a run that goes on: no transition is looked at.

    Parameters
    ----------
    labels
        Of the rows there are so far, T.
    findings
        In the order in which reasons are to be given.
    own
        Gives the native steps of an environment, ascending, where they are known
        already; it may give some that came after those of `labels`.

    Returns
    -------
    Array
        int32 [T]: the first finding that taints a native step; -1 for none.
    """
    table = _Table(labels, None, own)
    spans = [
        (span.finding, span.rows)
        for number, finding in enumerate(findings)
        for span in table.spans(number, finding)
    ]
    return _reasons(table.rows, spans)


def spans_of(
    labels: Labels, finding: Finding, own: Callable[[int], Int64Array]
) -> list[Span]:
    """The native steps that one finding taints; no transition is looked at.

    Parameters
    ----------
    labels, own
        As in `row_reasons`.
    """
    return list(_Table(labels, None, own).spans(0, finding))


class Tainting:
    """What the findings of one audit taint, worked out when it is first asked for."""

    def __init__(self, examined: Examined, findings: Sequence[Finding]) -> None:
        self._examined, self._findings = examined, findings

    @cached_property
    def tainted(self) -> Tainted:
        """What can't be trusted."""
        return tainted(self._examined, self._findings)


class _Table:
    """The labels of rows and transitions, by environment."""

    def __init__(
        self,
        labels: Labels,
        labelled: LabelledRecording | None,
        own: Callable[[int], Int64Array] | None = None,
    ) -> None:
        self.rows = len(labels)
        self._labels = labels
        self._known = own
        self._own_rows: dict[int, Int64Array] = {}
        self._table = None if labelled is None else Transitions(labelled)
        self.transitions = 0 if self._table is None else len(self._table)

    def spans(self, number: int, finding: Finding) -> Iterator[Span]:
        for taint in finding.taints or _older(finding):
            rows = self._rows(taint)
            transitions = np.union1d(
                self._took(taint.env, rows), self._transitions(taint)
            )
            if len(rows) or len(transitions):
                yield Span(number, taint.env, rows, transitions)

    def _own(self, env: int | None) -> Int64Array:
        """The native steps of an environment; all of them for None."""
        key = -1 if env is None else env
        found = self._own_rows.get(key)
        if found is None:
            if key < 0:
                found = np.arange(self.rows)
            elif self._known is not None:
                found = self._known(key)
                found = found[: int(np.searchsorted(found, self.rows))]
            else:
                found = np.flatnonzero(self._labels.env == key)
            self._own_rows[key] = found
        return found

    def _rows(self, taint: Taint) -> Int64Array:
        if taint.native is None:
            return _NONE
        first, last = taint.native
        own = self._own(taint.env)
        low = int(np.searchsorted(own, first))
        if last is not None:
            return own[low : int(np.searchsorted(own, last, "right"))]
        if taint.until == "here":
            return own[low : int(np.searchsorted(own, first, "right"))]
        if taint.until == "reset":
            rest = own[low:]
            if taint.between and len(rest) and self._resets(rest[:1])[0]:
                return _NONE
            return own[low : low + self._before_reset(rest)]
        return own[low:]

    def _resets(self, own: Array) -> BoolArray:
        return np.asarray(self._labels.kind[own] == StepKind.RESET)

    def _before_reset(self, own: Array) -> int:
        """How many of these steps are before the next reset after the first one."""
        again = self._resets(own)
        episode = self._labels.episode[own]
        again[1:] |= (np.diff(episode) != 0) & (episode[1:] >= 0)
        at = np.flatnonzero(again[1:])
        return int(at[0]) + 1 if len(at) else len(own)

    def _took(self, env: int | None, rows: Int64Array) -> Int64Array:
        """The transitions whose native steps are among these."""
        table = self._table
        if table is None or not len(rows):
            return _NONE
        every = np.arange(len(table)) if env is None else table.of(env)
        first, last = table.first_row[every], table.last_row[every]
        low = np.searchsorted(rows, first)
        inside = (first >= 0) & (np.searchsorted(rows, last, "right") > low)
        took: Int64Array = every[inside]
        return took

    def _transitions(self, taint: Taint) -> Int64Array:
        table = self._table
        if table is None or taint.transition is None:
            return _NONE
        first, last = taint.transition
        every = np.arange(len(table)) if taint.env is None else table.of(taint.env)
        low = int(np.searchsorted(every, first))
        if last is not None:
            return every[low : int(np.searchsorted(every, last, "right"))]
        if taint.until == "here":
            return every[low : int(np.searchsorted(every, first, "right"))]
        if taint.until == "reset":
            other = np.flatnonzero(np.diff(table.episode[every[low:]]) != 0)
            return every[low : low + int(other[0]) + 1] if len(other) else every[low:]
        return every[low:]


def _older(finding: Finding) -> tuple[Taint, ...]:
    """Taints of a finding that gives ranges of native steps only."""
    reached = {a.native: a.env for a in finding.affected}
    return tuple(
        Taint(env=reached.get(low, finding.env), native=(low, high))
        for low, high in finding.tainted
    )


def _reasons(count: int, spans: list[tuple[int, Array]]) -> Array:
    out = np.full(count, -1, np.int32)
    for finding, numbers in reversed(spans):
        out[numbers] = finding
    return out


def _holds(numbers: Array, number: int) -> bool:
    at = int(np.searchsorted(numbers, number))
    return at < len(numbers) and int(numbers[at]) == number
