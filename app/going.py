"""Going to a position of a document, as soon as all is known that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.errors import IsoscopeError
from isoscope.core.isolation.places import row_of
from isoscope.core.positions import (
    ChunkPosition,
    ControlPosition,
    EventPosition,
    FindingPosition,
    NativePosition,
    TimePosition,
    parse_position,
    resolve_position,
)
from isoscope.core.positions.chunks import key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.positions import Position, Resolution
    from isoscope.core.positions.resolving import Times
    from isoscope.widgets.session import Document, Session


class Going:
    """Remembers where each document is to go, and goes there once it can.

    Parameters
    ----------
    session
        Whose clock is moved.
    grows, unanalysed
        Whether rows, or an analysis of all rows, are still to come for a document.
    """

    def __init__(
        self,
        session: Session,
        grows: Callable[[Document], bool],
        unanalysed: Callable[[Document], bool],
    ) -> None:
        self.session = session
        self._grows, self._unanalysed = grows, unanalysed
        self._wanted: dict[Document, str] = {}

    def __len__(self) -> int:
        """How many documents have still to go somewhere."""
        return len(self._wanted)

    def to(self, document: Document, position: str) -> None:
        """Go to a position like ``native:120``, now or as soon as that can be told."""
        if position:
            self._wanted[document] = position
            self.look(document)

    def forget(self, document: Document) -> None:
        """Go nowhere any more."""
        self._wanted.pop(document, None)

    def look(self, document: Document) -> None:
        """Go where the document is to go, if it can be told by now."""
        text = self._wanted.get(document)
        if text is None:
            return
        final = not (self._grows(document) or self._unanalysed(document))
        try:
            position = parse_position(text)
            if not final and not self._can_tell(document, position):
                return
            if self._show_finding(document, position):
                return
            found = resolve(document, position)
        except IsoscopeError as error:
            if final:
                del self._wanted[document]
                self.session.say("error", str(error))
            return
        del self._wanted[document]
        if isinstance(position, ChunkPosition):
            document.set_chunk(key_of(position))
        if found.said:
            self.session.say("note", found.said)
        document.cursor = found.row
        if document is not self.session.active:
            return
        analysis = document.analysis
        if isinstance(position, ControlPosition) and analysis is not None:
            if analysis.shared:
                self.session.focus(analysis.owner(found.row))
        self.session.clock.seek(found.row)

    def _can_tell(self, document: Document, position: Position) -> bool:
        """Whether a position can be looked up before all is indexed and analysed."""
        if isinstance(position, NativePosition | EventPosition):
            return len(document.source.recording) > 0
        if isinstance(position, ChunkPosition):
            told = document.told
            return told is not None and told.chunks.find(key_of(position)) is not None
        # The nearest time, say, may lie in rows that aren't there yet.
        if isinstance(position, TimePosition) and position.clock == "recording":
            return not self._grows(document)
        return False

    def _show_finding(self, document: Document, position: Position) -> bool:
        """Show the finding that is gone to, which may have no place; whether it is."""
        if not isinstance(position, FindingPosition):
            return False
        if not 1 <= position.number <= len(document.findings):
            return False
        del self._wanted[document]
        self.session.activate(document)
        self.session.show_finding(position.number - 1)
        return True


def resolve(document: Document, position: Position) -> Resolution:
    """The row of a document that a position names, by all that is known of it.

    Where the position leaves the environment open, the one that is looked at is taken
    first, then the others that are shown.

    Raises
    ------
    PositionError
        If there is no such row, or nothing that tells.
    """
    analysis = document.analysis
    chunks = None if document.told is None else document.told.chunks
    if analysis is None:
        return resolve_position(document.recording, position, chunks=chunks)
    times: Times = {
        "scene": analysis.attribution.scene_time_s,
        "control": analysis.control_s,
    }
    rows = None
    if analysis.audit is not None:
        rows = [row_of(finding) for finding in analysis.findings]
    shown = document.shown_envs
    if document.focus is not None:
        shown = (document.focus, *shown)
    return resolve_position(
        document.recording,
        position,
        labels=analysis.labels,
        times=times,
        findings=rows,
        shown=shown,
        chunks=chunks,
    )
