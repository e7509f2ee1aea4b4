"""What the scene says where there is nothing to draw, and why; no Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.widgets.document import Phase

if TYPE_CHECKING:
    from isoscope.widgets.document import Document

NO_STEPS = "This recording has no step, so there is nothing to draw."
NO_POSITIONS = "{who} not tell any positions, so there is nothing to draw."


def nothing_to_draw(document: Document | None) -> str:
    """Why the picture is empty; empty where it isn't, or may not stay so."""
    if document is None:
        return "Nothing is open"
    recording = document.recording
    if not document.rows:
        return NO_STEPS if document.phase is Phase.READY else ""
    if recording.actors:
        return ""
    if recording.row_is == "control step":
        analysis = document.analysis
        several = analysis is not None and len(analysis.environments) > 1
        who = "These environments do" if several else "This environment does"
        return NO_POSITIONS.format(who=who)
    if document.phase in (Phase.LIVE, Phase.INDEXING, Phase.OPENING):
        return ""
    return NO_POSITIONS.format(who="This recording does")
