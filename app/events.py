"""The rows of a recording that are worth jumping to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.timeline.lanes import timeline_of

if TYPE_CHECKING:
    from isoscope.widgets.session import Document


def event_rows(document: Document) -> list[int]:
    """Rows of the timeline's events, and those where an actor came or went.

    The first row is none of them: it has a key of its own.
    """
    bookmarks = [(mark.row, mark.name) for mark in document.bookmarks]
    found = timeline_of(document.recording, bookmarks=bookmarks).events.rows
    rows = set(found.tolist())
    for actor in document.recording.actors:
        rows.add(actor.created_native)
        if actor.destroyed_native is not None:
            rows.add(actor.destroyed_native)
    rows.discard(0)
    return sorted(rows)
