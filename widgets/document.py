"""One open recording: its source, how far it is, and what the user did with it. No Qt.

Panels observe its signals and change it by its methods; all of that belongs to the GUI
thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Literal

from psygnal import Signal

from isoscope.core.following.own_steps import OwnSteps
from isoscope.core.following.told import Told
from isoscope.core.growing_axes import GrowingAxes
from isoscope.widgets.times import axes_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from isoscope.core.analysis import Analysis
    from isoscope.core.following.feed import News
    from isoscope.core.isolation.findings import Audit, Finding
    from isoscope.core.recording.model import Actor, Labels, Recording
    from isoscope.core.recording.source import Source
    from isoscope.core.replay.past_end import PastEnd
    from isoscope.core.replay.states import Replayed
    from isoscope.core.series import Measure
    from isoscope.core.timeaxis import TimeAxis
    from isoscope.core.timeline.chunks import ChunkKey
    from isoscope.widgets.curate.curation import Curation
    from isoscope.widgets.live_state import LiveState

    # What is asked of a run, and by what arguments.
    Ask: TypeAlias = Callable[[str, dict[str, Any]], None]

MessageLevel = Literal["error", "warning", "note"]
# Of what was stepped again: a ghost in the scene, a scene beside it, or nothing.
ReplayView = Literal["ghost", "beside", "hidden"]


class Phase(Enum):
    """How far a document has got."""

    OPENING = "opening"
    INDEXING = "indexing"
    LIVE = "live"  # it is a run that goes on; `Document.live` says how it stands
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
    # What can be done about it: the button's words, and what it does.
    action: tuple[str, Callable[[], object]] | None = field(default=None, compare=False)


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
    told_changed = Signal()  # chunks, or what became of environments, are new
    live_changed = Signal()  # how the run stands that is watched
    chunk_changed = Signal()  # which chunk is looked at
    curation_changed = Signal()  # there are episodes to choose from, or why not
    stepping_alone_changed = Signal()  # how far stepping again alone is
    checking_changed = Signal()  # all checks look at a run that goes on, or have
    replayed_changed = Signal()  # something else was stepped again, or is shown of it

    def __init__(self, source: Source, preview: Recording | None = None) -> None:
        self.source = source
        self.preview = preview
        self.phase = Phase.INDEXING
        self.error = ""
        self.progress = (0, source.event_count)
        self.cursor = 0
        self.follows = False  # whether the cursor sticks to the end
        self.selection = Selection()
        self.hidden: set[int] = set()  # actors not drawn, by index
        self.plots: list[FieldRef] = []
        self.bookmarks: list[Bookmark] = []
        self.analysis: Analysis | None = None
        self.analysing: float | None = None  # 0 to 1 while that runs
        self.analysis_error = ""  # why there is no (whole) analysis
        self.stepping_alone: float | None = None  # 0 to 1 while the audit has that done
        self.alone_error = ""  # why that came to nothing
        self.checking = False  # whether all checks look at a run that goes on
        self.checked_rows = 0  # so many they saw last
        self.check_error = ""  # why that came to nothing
        self.focus: int | None = None  # the environment that is looked at
        self.finding: int | None = None  # the finding that is looked at, by its place
        self.hidden_envs: set[int] = set()
        self.twin: Document | None = None  # an independent twin, to compare with
        self.told: Told | None = None  # what a labelled recording tells of its run
        self.own_steps: OwnSteps | None = None  # while it is live
        self.live: LiveState | None = None
        self.ask: Ask | None = None  # asks something of the run that is watched
        # Has `tell_growth` called soon; without it, growth is told as it is taken in.
        self.growth_later: Callable[[], None] | None = None
        self._arrived = 0  # rows of it that were taken in
        self.chunk: ChunkKey | None = None  # the chunk that is looked at
        self.curation: Curation | None = None  # its episodes, and their edits
        self.replayed: Replayed | None = None  # what was stepped again last
        self.replay_view: ReplayView = "ghost"
        self.curation_error = ""  # why there are no episodes
        self.title = ""  # of a run; a file has its name
        self._axes = GrowingAxes()

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
        return self.title or self.source.recording.name

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

    def axes(self) -> list[TimeAxis]:
        """The times that it can be played over; the usual one first."""
        analysis = self.analysis
        if self.phase is not Phase.LIVE or analysis is None:
            return axes_of(self)
        own = None if self.focus is None else analysis.rows_of(self.focus)
        steps = self.recording.steps
        return self._axes.axes(steps, analysis.control_s, self.focus, own)

    def take(self, news: News) -> None:
        """Take in what has come; tells `told_changed`, and of a live one `grown`."""
        if self.told is None:
            self.told = Told(self.source.recording.steps.spill)
        self.told.take(news)
        if self.phase is Phase.LIVE:
            if self.own_steps is None:
                self.own_steps = OwnSteps(self.source.recording)
            new = self.own_steps.take(news.rows)
            self.analysis = self.own_steps.analysis()
            if new:
                self.analysed.emit()
        if not news.empty:
            self.told_changed.emit()
        if self.phase is Phase.LIVE:
            self._arrived = news.rows
            if self.growth_later is None:
                self.tell_growth()
            else:
                self.growth_later()

    def tell_growth(self) -> None:
        """Tell `grown` of a run that goes on, up to what was taken in of it."""
        if self.phase is Phase.LIVE:
            self.set_progress(self._arrived, self._arrived)

    def set_live_audit(self, audit: Audit, *, paused: bool = False) -> None:
        """Take in what is wrong so far with a run that goes on; tells `analysed`.

        `paused` is for the audit of all that came before a pause: what only that could
        find stays until the next pause.
        """
        if self.own_steps is None:
            self.own_steps = OwnSteps(self.source.recording)
        if paused:
            self.own_steps.looked = audit
        else:
            self.own_steps.kept_up = audit
        if self.phase is Phase.LIVE:
            self.set_analysis(self.own_steps.analysis())

    def set_live(self, live: LiveState) -> None:
        """Say how the run stands; tells `live_changed`."""
        if live != self.live:
            self.live = live
            self.live_changed.emit()

    def set_chunk(self, key: ChunkKey | None) -> None:
        """Look at a chunk, or at none; tells `chunk_changed`."""
        if key != self.chunk:
            self.chunk = key
            self.chunk_changed.emit()

    def set_curation(self, curation: Curation | None, error: str = "") -> None:
        """Take in episodes to choose from, or say why there are none."""
        self.curation, self.curation_error = curation, error
        self.curation_changed.emit()

    def set_replayed(self, replayed: Replayed | None) -> None:
        """Look at what was stepped again, or at nothing of that; tells it."""
        if replayed is not self.replayed:
            self.replayed = replayed
            self.replayed_changed.emit()

    @property
    def past_end(self) -> PastEnd | None:
        """What was stepped past its recorded end, if that is looked at."""
        if self.replayed is None or self.replay_view == "hidden":
            return None
        return self.replayed.past_end

    def set_replay_view(self, view: ReplayView) -> None:
        """Choose how it is shown; tells it."""
        if view != self.replay_view:
            self.replay_view = view
            self.replayed_changed.emit()

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
        there = index is not None and 0 <= index < len(actors)
        return actors[index] if there and index is not None else None

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

    def set_stepping_alone(self, share: float | None, error: str = "") -> None:
        """Say how far stepping environments again alone is, or that none is; tells it.

        `error` says why it came to nothing.
        """
        if (share, error) != (self.stepping_alone, self.alone_error):
            self.stepping_alone, self.alone_error = share, error
            self.stepping_alone_changed.emit()

    def set_checking(
        self, checking: bool, *, rows: int | None = None, error: str = ""
    ) -> None:
        """Say whether all checks look at a run that goes on, or how far they saw it."""
        self.checking, self.check_error = checking, error
        if rows is not None:
            self.checked_rows = rows
        self.checking_changed.emit()

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
