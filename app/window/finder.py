"""What the command palette finds: commands, recordings, actors, fields, places."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from isoscope.app.going import resolve
from isoscope.app.links import is_link
from isoscope.app.settings import PAUSE_ON, THEME_CHOICES
from isoscope.core.errors import IsoscopeError
from isoscope.core.positions import parse_position
from isoscope.core.summary import counted
from isoscope.widgets.keys import ACTIONS
from isoscope.widgets.keys_page import key_text
from isoscope.widgets.palette import Entry
from isoscope.widgets.session import FieldRef

if TYPE_CHECKING:
    from isoscope.app.window.window import Window
    from isoscope.core.recording.model import Actor, Recording
    from isoscope.core.recording.tracks import FieldTable
    from isoscope.widgets.session import Document

# So many fields are searched at each key without a pause that is felt.
FIELDS_AT_MOST = 4000
ACTORS_AT_MOST = 4000
FINDINGS_AT_MOST = 1000
ENVS_AT_MOST = 1000
NUMBERS = "fiub"  # kinds of dtype that can be plotted
PLACES = ("native", "control", "time", "chunk", "event", "finding")


class Finder:
    """Makes the palette's entries from what is open now."""

    def __init__(self, window: Window) -> None:
        self.window = window

    def ask_everything(self) -> None:
        """Open the palette on everything; closes it if it is open."""
        palette = self.window.frame.palette_card
        if palette.isVisible():
            palette.close_card()
            return
        note = self._cut_note()
        palette.ask(
            [
                *self._commands(),
                *self._documents(),
                *self._bookmarks(),
                *self._findings(),
                *self._environments(),
                *self._things(),
            ],
            "Find a command, recording, actor, field or bookmark; or type native:120",
            self._typed,
            note,
        )

    def ask_things(self) -> None:
        """Open the palette on actors and fields."""
        self.window.frame.palette_card.ask(
            self._things(), "Find an actor or field", None, self._cut_note()
        )

    # -- entries -----------------------------------------------------------------------

    def _commands(self) -> list[Entry]:
        window = self.window
        entries = []
        for row in ACTIONS:
            if row.id not in window.actions_by_id or row.id == "view.palette":
                continue
            action = window.actions_by_id[row.id]
            if action.isEnabled():
                keys = key_text(row.keys[0]) if row.keys else ""
                text = row.text.removesuffix("…")
                kind = "command" if row.scope == "everywhere" else row.scope
                entries.append(Entry(text, kind, action.trigger, keys))
        for layout in window.arrangement.layouts:
            entries.append(
                Entry(
                    f"Layout: {layout.title}",
                    "command",
                    partial(window.set_layout, layout.key),
                )
            )
        entries += [
            Entry(f"Theme: {choice}", "command", partial(window.set_theme, choice))
            for choice in THEME_CHOICES
        ]
        entries += [
            Entry(
                f"Pause a watched run at findings: {choice}",
                "command",
                partial(window.workspace.pausing.choose, choice),
            )
            for choice in PAUSE_ON
        ]
        memory = window.workspace.memory
        entries += [
            Entry(
                f"Memory for a watched run: {mb:,} MiB",
                "command",
                partial(memory.choose, mb),
            )
            for mb in memory.choices
        ]
        for key, dock in window.docks.docks.items():
            entries.append(
                Entry(
                    f"Show {dock.panel.title}",
                    "panel",
                    partial(window.docks.raise_panel, key),
                )
            )
        return entries

    def _documents(self) -> list[Entry]:
        session = self.window.session
        entries = []
        for document in session.documents:
            path = document.source.recording.path
            folder = str(path.parent) if path is not None else ""
            entries.append(
                Entry(
                    document.name,
                    "recording",
                    partial(session.activate, document),
                    detail=folder,
                )
            )
        return entries

    def _bookmarks(self) -> list[Entry]:
        document = self.window.session.active
        if document is None:
            return []
        clock = self.window.session.clock
        return [
            Entry(
                mark.name,
                "bookmark",
                partial(clock.seek, mark.row),
                detail=f"native step {mark.row:,}  {' '.join(mark.note.split())}",
            )
            for mark in document.bookmarks
        ]

    def _findings(self) -> list[Entry]:
        """What is wrong with the active recording, to look at."""
        document = self.window.session.active
        if document is None:
            return []
        return [
            Entry(
                finding.headline,
                finding.severity,
                partial(self.window.show_finding, at),
                detail=f"finding:{at + 1}  {finding.id}",
            )
            for at, finding in enumerate(document.findings[:FINDINGS_AT_MOST])
        ]

    def _environments(self) -> list[Entry]:
        """The environments of a shared scene, to look at one or at the scene."""
        document, session = self.window.session.active, self.window.session
        analysis = document.analysis if document is not None else None
        if analysis is None or not analysis.shared:
            return []
        entries = [
            Entry(f"Look at env {env}", "environment", partial(session.focus, env))
            for env in analysis.environments[:ENVS_AT_MOST]
        ]
        every = Entry(
            "Look at the scene itself", "environment", partial(session.focus, None)
        )
        return [*entries, every]

    def _things(self) -> list[Entry]:
        """Actors to select and fields to plot, of the active recording."""
        document = self.window.session.active
        if document is None:
            return []
        recording = document.recording
        entries = [
            Entry(
                actor.name,
                "actor",
                partial(self.window.session.select, actor.index),
                detail=_actor_detail(actor),
            )
            for actor in recording.actors[:ACTORS_AT_MOST]
        ]
        entries += self._fields(document, None, "step", recording.scene)
        for actor in self._actors_with_fields(recording):
            entries += self._fields(document, actor.index, actor.name, actor.fields)
        return entries

    def _fields(
        self, document: Document, actor: int | None, owner: str, table: FieldTable
    ) -> list[Entry]:
        return [
            self._field_entry(document, actor, owner, name)
            for name, track in table.tracks.items()
            if track.dtype.kind in NUMBERS
        ]

    def _actors_with_fields(self, recording: Recording) -> list[Actor]:
        """All actors, or the selected one alone where there are too many fields."""
        if not self._too_many(recording):
            return recording.actors
        document = self.window.session.active
        chosen = document.actor(document.selection.actor) if document else None
        return [chosen] if chosen is not None else []

    def _too_many(self, recording: Recording) -> bool:
        fields = 0
        for actor in recording.actors:
            fields += len(actor.fields.tracks)
            if fields > FIELDS_AT_MOST:
                return True
        return False

    def _cut_note(self) -> str:
        document = self.window.session.active
        if document is None or not self._too_many(document.recording):
            return ""
        number = counted(len(document.recording.actors), "actor")
        return f"Of {number}, only the selected one's fields are listed."

    def _field_entry(
        self, document: Document, actor: int | None, owner: str, field: str
    ) -> Entry:
        def plot() -> None:
            self.window.session.select(actor, field)
            document.add_plot(FieldRef(actor, field))

        return Entry(f"{owner} · {field}", "plot field", plot)

    # -- what is typed -----------------------------------------------------------------

    def _typed(self, text: str) -> list[Entry]:
        """A link, or a position in the active recording."""
        text = text.strip()
        if is_link(text):
            return [
                Entry("Open this link", "link", lambda: self.window.open_link(text))
            ]
        head, colon, rest = text.partition(":")
        if not colon or head not in PLACES or not rest:
            return []
        document = self.window.session.active
        if document is None:
            return []
        try:
            found = resolve(document, parse_position(text))
        except IsoscopeError as error:
            return [Entry(str(error), "position", None)]
        return [
            Entry(
                f"Go to native step {found.row:,}",
                "position",
                lambda: self.window.workspace.go_to(document, text),
                detail=found.said,
            )
        ]


def _actor_detail(actor: Actor) -> str:
    """Its type, and its life where that isn't the whole recording."""
    words = [actor.type.lower()]
    if actor.static:
        words.append("static")
    if actor.created_native:
        words.append(f"from step {actor.created_native:,}")
    if actor.destroyed_native is not None:
        words.append(f"until step {actor.destroyed_native:,}")
    return ", ".join(words)
