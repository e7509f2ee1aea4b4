"""What is open and what is looked at: the one model that all panels share. No Qt.

A panel gets the session, observes its signals, resolves what it has to draw from
(intent + recording + clock) and never keeps a copy of any of it. Panels change the
session only through its methods. Signals may come from the GUI thread only: whoever
works in another thread hands its results over there first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Literal

from psygnal import Signal

from isoscope.core.clock import Clock
from isoscope.core.isolation.places import row_of
from isoscope.widgets.times import axes_of

if TYPE_CHECKING:
    from isoscope.core.analysis import Analysis
    from isoscope.core.isolation.findings import Finding
    from isoscope.core.recording.model import Actor, Labels, Recording
    from isoscope.core.recording.source import Source
    from isoscope.core.series import Measure

MessageLevel = Literal["error", "warning", "note"]


class Phase(Enum):
    """How far a document has got."""

    OPENING = "opening"
    INDEXING = "indexing"
    READY = "ready"
    STOPPED = "stopped"  # the user cancelled: what was indexed can be used
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class FieldRef:
    """A field that can be plotted: of which actor (None: the step itself), which part.

    `component` is a flat index into a row's values; None means all of them. `measure`
    is what is taken of each row of a ragged field; None means how many it holds.
    """

    actor: int | None
    field: str
    component: int | None = None
    measure: Measure | None = None


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A named row, with a note."""

    row: int
    name: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One line for the message bar, with what can be unfolded below it."""

    level: MessageLevel
    text: str
    details: str = ""


@dataclass(slots=True, eq=False)
class Selection:
    """What is chosen in the active document."""

    actor: int | None = None
    field: str | None = None


class Document:
    """One open recording: its source, how far it is, and what the user did with it."""

    phase_changed = Signal(object)  # the document
    progress_changed = Signal(int, int)  # events done, events in all
    grown = Signal(int)  # rows now
    plots_changed = Signal()
    hidden_changed = Signal()
    bookmarks_changed = Signal()
    analysed = Signal()  # attribution or findings are new
    analysing_changed = Signal()  # how far that is
    hidden_envs_changed = Signal()
    aligned = Signal()  # the analysis now also says how the clocks lie

    def __init__(self, source: Source, preview: Recording | None = None) -> None:
        self.source = source
        self.preview = preview
        self.phase = Phase.INDEXING
        self.error = ""
        self.progress = (0, source.event_count)
        self.cursor = 0
        self.selection = Selection()
        self.hidden: set[int] = set()  # actors not drawn, by index
        self.plots: list[FieldRef] = []
        self.bookmarks: list[Bookmark] = []
        self.analysis: Analysis | None = None
        self.analysing: float | None = None  # 0 to 1 while that runs
        self.analysis_error = ""  # why there is no (whole) analysis
        self.focus: int | None = None  # the environment that is looked at
        self.finding: int | None = None  # the finding that is looked at, by its place
        self.hidden_envs: set[int] = set()
        self.twin: Document | None = None  # an independent twin, to compare with

    @property
    def labels(self) -> Labels | None:
        """Whose each step was: found out, or else as the source itself says."""
        if self.analysis is not None:
            return self.analysis.labels
        return self.recording.labels

    @property
    def findings(self) -> list[Finding]:
        """What is wrong with it, worst first; empty while nobody has looked."""
        return self.analysis.findings if self.analysis is not None else []

    @property
    def chosen_finding(self) -> Finding | None:
        """The finding that is looked at."""
        findings, at = self.findings, self.finding
        return findings[at] if at is not None and at < len(findings) else None

    @property
    def shown_envs(self) -> tuple[int, ...]:
        """The environments that are shown, ascending; none while they are unknown."""
        if self.analysis is None:
            return ()
        return tuple(e for e in self.analysis.environments if e not in self.hidden_envs)

    @property
    def recording(self) -> Recording:
        """The columnar recording, or the preview of one row until it has rows."""
        indexed = self.source.recording
        if len(indexed) == 0 and self.preview is not None:
            return self.preview
        return indexed

    @property
    def name(self) -> str:
        """What to call it in lists."""
        return self.source.recording.name

    @property
    def rows(self) -> int:
        """Native steps that can be shown."""
        return len(self.recording)

    @property
    def expected_rows(self) -> int:
        """Native steps there may be in the end; equals `rows` when indexed."""
        if self.phase is Phase.INDEXING:
            return max(self.source.recording.expected_steps, self.rows)
        return self.rows

    def set_phase(self, phase: Phase, error: str = "") -> None:
        """Move on; tells `phase_changed`."""
        self.phase = phase
        self.error = error
        self.phase_changed.emit(self)

    def set_progress(self, done: int, total: int) -> None:
        """Say how far the index is; tells `progress_changed` and `grown`."""
        self.progress = (done, total)
        self.progress_changed.emit(done, total)
        self.grown.emit(self.rows)

    def actor(self, index: int | None) -> Actor | None:
        """The actor of this index, or None where there is none."""
        actors = self.recording.actors
        return actors[index] if index is not None and index < len(actors) else None

    def set_hidden(self, actor: int, hidden: bool) -> None:
        """Draw an actor or not."""
        if hidden != (actor in self.hidden):
            (self.hidden.add if hidden else self.hidden.discard)(actor)
            self.hidden_changed.emit()

    def add_plot(self, ref: FieldRef) -> None:
        """Plot a field; once."""
        if ref not in self.plots:
            self.plots.append(ref)
            self.plots_changed.emit()

    def remove_plot(self, ref: FieldRef) -> None:
        """Stop plotting a field."""
        if ref in self.plots:
            self.plots.remove(ref)
            self.plots_changed.emit()

    def set_plots(self, refs: list[FieldRef]) -> None:
        """Plot exactly these fields, in this order."""
        if refs != self.plots:
            self.plots = list(dict.fromkeys(refs))
            self.plots_changed.emit()

    def set_analysing(self, share: float | None, error: str = "") -> None:
        """Say how far the analysis is, 0 to 1, or that none runs, and why not."""
        if (share, error) != (self.analysing, self.analysis_error):
            self.analysing, self.analysis_error = share, error
            self.analysing_changed.emit()

    def set_analysis(self, analysis: Analysis | None) -> None:
        """Take in what was found out; tells `analysed`.

        The finding and the environment that are looked at stay so if they are still
        there.
        """
        chosen = self.chosen_finding
        self.analysis = analysis
        self.finding = None
        if chosen is not None:
            places = [f for f, found in enumerate(self.findings) if found == chosen]
            self.finding = places[0] if places else None
        known = analysis.environments if analysis is not None else ()
        if self.focus is not None and self.focus not in known:
            self.focus = None
        self.analysed.emit()

    def set_aligned(self, analysis: Analysis) -> None:
        """Take in the same analysis with its alignment; tells `aligned`."""
        self.analysis = analysis
        self.aligned.emit()

    def set_hidden_envs(self, hidden: set[int]) -> None:
        """Show all environments but these."""
        if hidden != self.hidden_envs:
            self.hidden_envs = set(hidden)
            self.hidden_envs_changed.emit()

    def set_bookmarks(self, bookmarks: list[Bookmark]) -> None:
        """Replace the bookmarks, sorted by row."""
        self.bookmarks = sorted(bookmarks, key=lambda b: (b.row, b.name))
        self.bookmarks_changed.emit()


class Session:
    """Everything that is open, which of it is active, and the one clock."""

    added = Signal(Document)
    removed = Signal(Document)
    active_changed = Signal(object)  # the Document, or None
    selection_changed = Signal()
    focus_changed = Signal()  # which environment of the active document is looked at
    finding_changed = Signal()  # which finding of it
    messaged = Signal(Message)
    theme_changed = Signal(str)  # "dark" or "light"

    def __init__(self) -> None:
        self.clock = Clock()
        self.documents: list[Document] = []
        self.active: Document | None = None
        self.theme = "dark"
        self.clock.changed.connect(self._remember_cursor)

    def add(self, document: Document, *, activate: bool = True) -> None:
        """Take in a document and make it the active one, unless told not to."""
        self.documents.append(document)
        document.grown.connect(self._on_grown)
        document.analysed.connect(self._on_analysed)
        self.added.emit(document)
        if activate:
            self.activate(document)

    def remove(self, document: Document) -> None:
        """Let a document go; the next one becomes active."""
        if document not in self.documents:
            return
        at = self.documents.index(document)
        self.documents.remove(document)
        document.grown.disconnect(self._on_grown)
        document.analysed.disconnect(self._on_analysed)
        self.removed.emit(document)
        if self.active is document:
            left = self.documents
            self.activate(left[min(at, len(left) - 1)] if left else None)

    def activate(self, document: Document | None) -> None:
        """Look at this document: the clock gets its times and its cursor."""
        if document is self.active:
            return
        self.clock.pause()
        self.active = None  # the clock's moves below are not this document's
        if document is None:
            self.clock.set_axes([], keep_cursor=False)
        else:
            self.clock.set_axes(axes_of(document), keep_cursor=False)
            self.clock.seek(document.cursor)
        self.active = document
        self.active_changed.emit(document)

    def select(self, actor: int | None, field: str | None = None) -> None:
        """Choose an actor (and a field of it) in the active document."""
        document = self.active
        if document is None:
            return
        chosen = document.selection
        if (chosen.actor, chosen.field) != (actor, field):
            document.selection = Selection(actor, field)
            self.selection_changed.emit()

    def focus(self, env: int | None) -> None:
        """Look at one environment of the active document, or (None) at the scene."""
        document = self.active
        if document is not None and env != document.focus:
            document.focus = env
            self.clock.set_axes(axes_of(document))
            self.focus_changed.emit()

    def show_finding(self, at: int | None) -> None:
        """Look at a finding of the active document: its environment, its native step.

        None looks at no finding any more, and leaves the rest as it is.
        """
        document = self.active
        if document is None or (at is not None and at >= len(document.findings)):
            return
        changed = at != document.finding
        document.finding = at
        finding = document.chosen_finding
        if finding is not None:
            self.clock.pause()
            if finding.env is not None and _several(document):
                self.focus(finding.env)
            row = row_of(finding)
            if row is not None:
                self.clock.seek(row)
        if changed:
            self.finding_changed.emit()

    def say(self, level: MessageLevel, text: str, details: str = "") -> None:
        """Show one line in the message bar."""
        self.messaged.emit(Message(level, text, details))

    def set_theme(self, theme: str) -> None:
        """Change between ``"dark"`` and ``"light"``."""
        if theme != self.theme:
            self.theme = theme
            self.theme_changed.emit(theme)

    def _on_grown(self, rows: int) -> None:
        document = self.active
        if document is not None and document.rows != self.clock.state.rows:
            self.clock.set_axes(axes_of(document))

    def _on_analysed(self) -> None:
        document = self.active
        if document is not None:
            self.clock.set_axes(axes_of(document))

    def _remember_cursor(self) -> None:
        if self.active is not None:
            self.active.cursor = self.clock.row


def _several(document: Document) -> bool:
    return document.analysis is not None and document.analysis.shared
