"""The rows of a recording that are worth jumping to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoscope.widgets.session import Document


def event_rows(document: Document) -> list[int]:
    """Rows where an actor came or went after the start, and the bookmarked ones."""
    rows = {mark.row for mark in document.bookmarks}
    for actor in document.recording.actors:
        rows.add(actor.created_native)
        if actor.destroyed_native is not None:
            rows.add(actor.destroyed_native)
    rows.discard(0)  # the start has a key of its own
    return sorted(rows)
