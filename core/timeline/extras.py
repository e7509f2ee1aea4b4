"""From an analysis to what a timeline shows of it: arcs, marks, taint, residuals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.places import row_of
from isoscope.core.isolation.tainting import row_reasons
from isoscope.core.replay.sentence import where
from isoscope.core.summary import counted
from isoscope.core.timeline.model import Arc, FindingMark, Taint, TimelineExtras
from isoscope.core.timeline.pieces import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.analysis import Analysis
    from isoscope.core.isolation.findings import Finding
    from isoscope.core.recording.model import Labels
    from isoscope.core.recording.tracks import Array, Int64Array
    from isoscope.core.replay.forms import Comparison, Divergence
    from isoscope.core.replay.past_end import PastEnd

# Of a run with thousands of findings the worst are drawn; the list has all of them.
MOST_DRAWN = 5000


def extras_of(analysis: Analysis) -> TimelineExtras:
    """What a timeline shows beside the recording.

    The usual restore of an environment's own snapshot comes before every control step
    and gets no arc; a missed restore and a rewind do.
    """
    attribution = analysis.attribution
    arcs = [
        Arc(
            missed.victim_native,
            missed.native,
            "error",
            f"env {missed.place.env} went on from env {missed.victim.env}'s state",
        )
        for missed in attribution.missed_restores[:MOST_DRAWN]
        if missed.victim_native >= 0  # else it was left before the recording began
    ]
    arcs += [
        Arc(
            max(rewind.to_native, 0),
            rewind.native,
            "note",
            "rewind: an earlier state was restored on purpose",
        )
        for rewind in attribution.rewinds[:MOST_DRAWN]
    ]
    spread = analysis.tainted
    taints: tuple[Taint, ...] = ()
    if spread is not None:
        reasons, findings = spread.row_reason, spread.findings
        taints = taints_of(reasons, findings, attribution.labels, analysis.rows_of)
    return TimelineExtras(
        labels=attribution.labels,
        arcs=tuple(arcs),
        findings=_marks(analysis.findings),
        residual=attribution.residual_m,
        tainted=taints,
    )


def found_so_far(analysis: Analysis) -> TimelineExtras:
    """What the checks that keep up say of a run that goes on: marks and taint."""
    findings, labels = analysis.findings, analysis.labels
    reasons = row_reasons(labels, findings, analysis.rows_of)
    taints = taints_of(reasons, findings, labels, analysis.rows_of)
    return TimelineExtras(findings=_marks(findings), tainted=taints)


def with_divergences(
    extras: TimelineExtras | None, name: str, replayed: Comparison
) -> TimelineExtras:
    """The same with a mark where each environment departs that was stepped again.

    Parameters
    ----------
    name
        What to call what was stepped again.
    """
    marks = tuple(
        FindingMark(
            first.native,
            "error",
            f"{name}: {where(first)}: {first.why}",
            first.env,
            Shape.DIVERGENCE,
        )
        for first in departures(replayed)
        if first.native is not None
    )
    extras = TimelineExtras() if extras is None else extras
    return replace(extras, findings=(*extras.findings, *marks))


def with_past_end(
    extras: TimelineExtras | None, name: str, found: PastEnd
) -> TimelineExtras:
    """The same with a mark where what was stepped again goes on past the recorded end.

    Parameters
    ----------
    name
        What to call what was stepped again.
    """
    steps = counted(len(found), "native step")
    labels = found.recording.labels
    mark = FindingMark(
        found.after,
        "note",
        f"{name} goes on for {steps} past the recorded end",
        None if labels is None else int(labels.env[0]),
        Shape.GOES_ON,
    )
    extras = TimelineExtras() if extras is None else extras
    return replace(extras, findings=(*extras.findings, mark))


def departures(replayed: Comparison) -> list[Divergence]:
    """Where environments depart first: each that was compared, or the first of all."""
    firsts = [pair.first_divergence for pair in replayed.pairs]
    if not firsts:
        firsts = [replayed.first_divergence]
    return [first for first in firsts if first is not None]


def taints_of(
    reasons: Array,
    findings: Sequence[Finding],
    labels: Labels,
    own: Callable[[int], Int64Array],
) -> tuple[Taint, ...]:
    """The tainted rows of each environment as stretches of its own steps.

    While other environments step, an environment waits in the state that its last step
    left; so a stretch goes on through the rows of others, and is broken by a step of
    its own that can be trusted. None of an environment's stretches overlap.

    Parameters
    ----------
    reasons
        int32 [T]: the finding that taints each row; -1 for none.
    findings
        What the reasons are places in.
    labels
        Whose the rows are, T.
    own
        Gives the native steps of an environment, ascending.
    """
    bad = np.flatnonzero(reasons >= 0)
    whose = labels.env[bad]
    order = np.argsort(whose, kind="stable")
    bad, whose = bad[order], whose[order]
    taints = []
    for rows in np.split(bad, np.flatnonzero(np.diff(whose)) + 1):
        if not len(rows):
            continue
        env = int(labels.env[rows[0]])
        place = rows if env < 0 else np.searchsorted(own(env), rows)
        why = reasons[rows]
        begins = np.flatnonzero((np.diff(place) != 1) | (np.diff(why) != 0)) + 1
        ends = np.append(begins, len(rows)) - 1
        for first, last in zip([0, *begins.tolist()], ends.tolist(), strict=True):
            low, high = int(rows[first]), int(rows[last])
            key = findings[int(why[first])].id
            text = f"tainted by {key}: native steps {low} to {high}"
            if env < 0:
                taints.append(Taint(low, high, None, text))
            else:
                taints.append(Taint(low, high, env, f"env {env} is {text}"))
    return tuple(taints)


def _marks(findings: Sequence[Finding]) -> tuple[FindingMark, ...]:
    marks = []
    for finding in findings[:MOST_DRAWN]:
        row = row_of(finding)
        if row is not None:
            text = f"{finding.severity}: {finding.headline}"
            marks.append(FindingMark(row, finding.severity, text, finding.env))
    return tuple(marks)
