"""What is marked across all plots of a stack: tainted rows and findings; no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from isoscope.core.isolation.places import row_of

if TYPE_CHECKING:
    from isoscope.core.analysis import Analysis
    from isoscope.core.isolation.findings import Finding
    from isoscope.widgets.session import Document

Tone = Literal["error", "warning", "note"]
MOST_LIVE = 20  # findings of a run that goes on whose taint is drawn
MOST = 400  # marks of a kind: a picture of more tells nothing


@dataclass(frozen=True, slots=True)
class Notes:
    """What to mark.

    Attributes
    ----------
    spans
        (first row, last row) that are not to be trusted.
    lines
        (row, tone, words) where something is.
    """

    spans: tuple[tuple[int, int], ...] = ()
    lines: tuple[tuple[int, Tone, str], ...] = ()


NO_NOTES = Notes()


def notes_of(document: Document | None) -> Notes:
    """The findings of a document; of the one that is looked at, what it taints."""
    if document is None or document.analysis is None:
        return NO_NOTES
    chosen = document.chosen_finding
    findings = document.findings if chosen is None else [chosen]
    lines = []
    for finding in findings[:MOST]:
        row = row_of(finding)
        if row is not None:
            lines.append((row, finding.severity, finding.id))
    return Notes(_spans(document.analysis, findings), tuple(lines))


def _spans(analysis: Analysis, findings: list[Finding]) -> tuple[tuple[int, int], ...]:
    """What these taint, the worst first."""
    found: dict[tuple[int, int], None] = {}
    for finding in findings[: MOST if analysis.tainted is not None else MOST_LIVE]:
        found.update(
            dict.fromkeys((s.low, s.high) for s in analysis.tainted_by(finding))
        )
        if len(found) >= MOST:
            break
    return tuple(found)[:MOST]
