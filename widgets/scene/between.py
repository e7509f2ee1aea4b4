"""Where between two recorded states the cursor is, while it plays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.between import Between, goes_on_to

if TYPE_CHECKING:
    from isoscope.widgets.session import Document, Session


def between_of(session: Session, document: Document | None, row: int) -> Between | None:
    """Between which recorded states what is shown lies; None for on one of them.

    Parameters
    ----------
    row
        The native row that is shown.
    """
    analysis = None if document is None else document.analysis
    if analysis is None or not session.interpolate:
        return None
    after = goes_on_to(analysis, row)
    if after is None:
        return None
    clock = session.clock
    begin, end = clock.begins_s(row), clock.begins_s(after)
    part = (clock.played_s - begin) / (end - begin) if end > begin else 0.0
    return Between(row, after, part) if 0 < part < 1 else None
