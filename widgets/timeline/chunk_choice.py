"""Which chunk is looked at: chosen by a click, shown in the lanes and on a card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.errors import IsoscopeError
from isoscope.core.recording.labelled.records import ChunkEvent
from isoscope.core.timeline.chunk_words import facts_of
from isoscope.widgets.timeline.chunk_card import ChunkCard
from isoscope.widgets.timeline.content import latest_s

if TYPE_CHECKING:
    from isoscope.core.timeline.chunk_words import ChunkFacts
    from isoscope.widgets.document import Document
    from isoscope.widgets.timeline.panel import TimelinePanel

LAST_ROWS = "rows:T+E, after"
TROUBLE = ("failed", "warning")


class ChunkChoice:
    """Follows the timeline panel's document; the choice itself is the document's."""

    def __init__(self, panel: TimelinePanel) -> None:
        self.panel = panel
        self.card = ChunkCard(panel)
        self.card.closed.connect(self.leave)

    def pick(self, lane_key: str, row: int) -> None:
        """Look at the chunk of this lane that is under the pointer."""
        document, lane = self.panel.document, self.panel.canvas.timeline.lane(lane_key)
        if document is None or lane is None or document.told is None:
            return
        chunks = document.told.chunks
        at = lane.items.at(row)
        if lane.env is not None:
            found = chunks.slot_of(lane.env)
            source = None if found is None else found[0]
            self.panel.session.focus(lane.env)
        else:
            rank, _, stage = lane_key.partition(":")[2].partition(".")
            source = chunks.sources.get((int(rank), int(stage)))
        if source is not None and at is not None:
            document.set_chunk(chunks.key_of(source, at))

    def leave(self) -> None:
        """Look at no chunk."""
        if self.panel.document is not None:
            self.panel.document.set_chunk(None)

    def show(self) -> None:
        """Show which chunk is looked at, with its lane in sight."""
        self.panel.rebuild()
        document, keys = self.panel.document, list(self.panel.canvas.timeline.chosen)
        if document is not None and f"env:{document.focus}" in keys:
            keys = [f"env:{document.focus}"]
        if keys:  # and with the trajectory's rows below it
            self.panel.reveal(LAST_ROWS)
            self.panel.reveal(keys[0])

    def show_card(self) -> None:
        """Say what is known of the chunk that is looked at."""
        document, facts, note = self.panel.document, None, ""
        if document is not None and document.chunk is not None and document.told:
            now_s = latest_s(document)
            facts = facts_of(document.told.chunks, document.chunk, now_s)
            if facts is not None and any(word in facts.state for word in TROUBLE):
                note = _why(document, facts)
        shown = self.card.isVisible()
        self.card.show_facts(facts, note)
        if shown != self.card.isVisible():
            self.panel.place_parts()


def _why(document: Document, facts: ChunkFacts) -> str:
    """What the last event of a chunk says in its own words."""
    labelled = document.recording.labelled
    if labelled is None or not facts.events:
        return ""
    last = facts.events[-1]
    try:
        told = labelled.records("chunks", ChunkEvent, last, last + 1)
    except IsoscopeError:
        return ""
    record = told[0].record if told else None
    if isinstance(record, dict):
        record = record.get("text")
    return record if isinstance(record, str) else ""
