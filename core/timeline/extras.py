"""From an analysis to what a timeline shows of it: arcs, marks, taint, residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.isolation.places import row_of
from isoscope.core.timeline.model import Arc, FindingMark, Taint, TimelineExtras

if TYPE_CHECKING:
    from isoscope.core.analysis import Analysis
    from isoscope.core.isolation.findings import Finding

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
    marks, taints = found_so_far(analysis.findings)
    return TimelineExtras(
        labels=attribution.labels,
        arcs=tuple(arcs),
        findings=marks,
        residual=attribution.residual_m,
        tainted=taints,
    )


def found_so_far(
    findings: list[Finding],
) -> tuple[tuple[FindingMark, ...], tuple[Taint, ...]]:
    """Marks of findings and what they taint; of a run that goes on, all there is."""
    marks, taints = [], []
    for finding in findings[:MOST_DRAWN]:
        row = row_of(finding)
        if row is not None:
            marks.append(
                FindingMark(row, finding.severity, _text(finding), finding.env)
            )
        taints += _taints(finding)
    return tuple(marks), tuple(taints)


def _text(finding: Finding) -> str:
    return f"{finding.severity}: {finding.headline}"


def _taints(finding: Finding) -> list[Taint]:
    """The rows that a finding taints, each of the environment that it reaches."""
    reached = {a.native: a.env for a in finding.affected}
    return [
        Taint(
            low,
            high,
            reached.get(low, finding.env),
            f"tainted by {finding.id}: native steps {low} to {high}",
        )
        for low, high in finding.tainted[:MOST_DRAWN]
    ]
