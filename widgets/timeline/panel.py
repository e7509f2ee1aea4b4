"""The Timeline panel: lanes of the active document under the one clock."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QMenu, QScrollBar, QToolButton, QToolTip, QWidget

from isoscope.core.isolation.places import row_of
from isoscope.core.timeline.extras import departures
from isoscope.core.timeline.model import Timeline
from isoscope.widgets.look import sheet
from isoscope.widgets.panel import Panel
from isoscope.widgets.session import Phase
from isoscope.widgets.signals.span import Span
from isoscope.widgets.stretch import needs_zoom, stretch_of
from isoscope.widgets.timeline.canvas import NO_AXIS, Canvas
from isoscope.widgets.timeline.chunk_choice import ChunkChoice
from isoscope.widgets.timeline.content import Content, rows_in_file, seen
from isoscope.widgets.timeline.gestures import ZOOM_A_NOTCH, Gestures
from isoscope.widgets.timeline.hints import hint_at
from isoscope.widgets.timeline.layout import SCROLLBAR
from isoscope.widgets.timeline.legend import Legend, kept, legend
from isoscope.widgets.timeline.menus import GroupingButton, context_menu
from isoscope.widgets.timeline.overlay import Pointing, readout
from isoscope.widgets.turns import InTurn

if TYPE_CHECKING:
    from PySide6.QtCore import QObject
    from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QResizeEvent

    from isoscope.core.clock import ClockState
    from isoscope.core.timeline.model import TimelineExtras
    from isoscope.core.timeline.told_lanes import Grouping
    from isoscope.core.timeline.view import View
    from isoscope.widgets.session import Document, Session
    from isoscope.widgets.timeline.legend import Entry

NOTHING_OPEN = (
    "No recording is open.\nOpen one (Ctrl+O) or drop a file here: its native steps, "
    "actors and events appear along this timeline."
)
NO_STEPS = "This recording holds no native step, so there is nothing to move through."
GROW_EVERY_MS = 120
GROWING = (Phase.INDEXING, Phase.LIVE)


class TimelinePanel(Panel):
    """See `isoscope.widgets.timeline`.

    `range_selected` tells a selection of rows, both ends inclusive, once the user has
    let go; `view_changed` that other rows are visible.
    """

    key: ClassVar[str] = "timeline"
    title: ClassVar[str] = "Timeline"
    subtitle_letters: ClassVar[int] = 26

    range_selected = Signal(int, int)
    view_changed = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.setAccessibleName("Timeline")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._document: Document | None = None
        self.content = Content()
        self._views: WeakKeyDictionary[Document, tuple[View, int]] = WeakKeyDictionary()
        self.canvas = Canvas(self)
        self.gestures = Gestures(self.canvas, session.clock)
        self._legend = Legend()
        self._entries: list[tuple[Entry, str]] = []
        self._all = QToolButton()
        self._all.setText("Show all")
        self._all.setProperty("flat", True)
        self._all.setToolTip("Show the whole run (double-click the lanes)")
        self._all.clicked.connect(self.fit)
        self.grouping = GroupingButton()
        self.grouping.chosen.connect(self.set_grouping)
        self.chunks = ChunkChoice(self)
        self.card = self.chunks.card
        self._bar = QScrollBar(Qt.Orientation.Vertical, self)
        self._bar.hide()
        self._bar.valueChanged.connect(self.canvas.set_scroll)
        self._grow = InTurn(self, self._rebuild_calmly, GROW_EVERY_MS)
        self.canvas.installEventFilter(self)
        self.canvas.laid_out.connect(self._place_bar)
        self.canvas.view_changed.connect(self.view_changed)
        self.canvas.view_changed.connect(self._tell)
        self.canvas.pointed.connect(self._tell)
        self.gestures.selected.connect(self.range_selected)
        self.gestures.chosen.connect(self._choose)
        self.gestures.marked.connect(self._choose_finding)
        self.gestures.picked.connect(self.chunks.pick)
        self.observe(session.active_changed, self._activate)
        self.observe(session.clock.changed, self._on_clock)
        self.observe(session.clock.axis_changed, self._on_axis)
        self.observe(session.focus_changed, self._show_environments)
        self.observe(session.finding_changed, self._show_stretch)
        self.apply_theme()
        self._activate(session.active)

    # -- what the rest of the program can ask of it -------------------------------

    def set_extras(self, document: Document, extras: TimelineExtras | None) -> None:
        """Show what was found out about a document: labels, arcs, findings, residual.

        None takes it away again.
        """
        self.content.set_extras(document, extras)
        if document is self._document:
            self.rebuild()

    @property
    def selected_range(self) -> tuple[int, int] | None:
        """The selected rows, both ends inclusive."""
        return self.canvas.pointing.selection

    def select_range(self, low: int, high: int) -> None:
        """Select rows, both ends inclusive, as a drag with Shift does."""
        rows = self.canvas.timeline.rows
        if rows:
            low, high = sorted(
                (min(max(low, 0), rows - 1), min(max(high, 0), rows - 1))
            )
            self._select((low, high))
            self.range_selected.emit(low, high)

    def clear_selection(self) -> None:
        """Select nothing."""
        self._select(None)

    def zoom_in(self) -> None:
        """Zoom in at the playhead, or in the middle where it is out of sight."""
        self._zoom(1 / ZOOM_A_NOTCH**2)

    def zoom_out(self) -> None:
        """Zoom out likewise."""
        self._zoom(ZOOM_A_NOTCH**2)

    def fit(self) -> None:
        """Show everything."""
        self.canvas.fit()

    def show_rows(self, low: int, high: int) -> None:
        """Show the rows low .. high (inclusive), with a little room around."""
        room = max((high - low) * 0.05, 1.0)
        view = self.canvas.view.spanning(low - room, high + 1 + room)
        self.canvas.set_view(view)

    def settled(self) -> bool:
        """Whether the picture shows the present state."""
        if self._grow.isActive():
            return False
        return not (self.canvas.isVisible() and self.canvas.stale)

    def set_grouping(self, grouping: Grouping) -> None:
        """Have a lane for each environment, or for each source of chunks."""
        if self._document is not None:
            self.content.set_grouping(self._document, grouping)
            self._entries = []
            self.rebuild()

    def apply_theme(self) -> None:
        """Paint in the other colours."""
        self.card.set_look(self.tokens)
        self.setStyleSheet(sheet(self.tokens))
        self.canvas.set_theme(self.session.theme)
        self._legend.set_theme(self.session.theme)

    def title_tools(self) -> list[QWidget]:
        """The legend, what the lanes are, and a button that shows everything."""
        return [self._legend, self.grouping, self._all]

    def rebuild(self) -> None:
        """Make the lanes anew from the document as it is now."""
        self._grow.stop()
        document = self._document
        if document is None:
            self.canvas.set_timeline(Timeline(0, 0, ()), NOTHING_OPEN)
            self._legend.show_entries([])
            self.grouping.show_grouping("steps", False)
            self.card.show_facts(None)
            self._tell()
            return
        self._take_axis()
        begin = time.thread_time()  # waiting for others is none of its cost
        timeline = self.content.timeline(document)
        self.canvas.set_timeline(timeline, _why_empty(document))
        self._show_legend(document, legend(timeline))
        self._tell()
        self._on_progress(*document.progress)
        self._keep_up()
        told = document.told
        chunks = told is not None and len(told.chunks) > 0
        self.grouping.show_grouping(self.content.grouping(document), chunks)
        self.chunks.show_card()
        # A long recording is not looked through so often that nothing else gets a turn.
        taken_ms = 1000 * (time.thread_time() - begin + self.canvas.painting_s)
        self._grow.setInterval(max(GROW_EVERY_MS, round(10 * taken_ms)))
        if self.content.behind(document):
            self._grow.start()

    def _show_legend(self, document: Document, now: list[tuple[Entry, str]]) -> None:
        if document.phase is Phase.LIVE:
            now = kept(self._entries, now)
        self._entries = now
        self._legend.show_entries(now)

    def _rebuild_calmly(self) -> None:
        if self.canvas.painting:
            self._grow.start()  # or it would never come to an end
            return
        with self.canvas.calmly():
            self.rebuild()

    @property
    def document(self) -> Document | None:
        """What is shown."""
        return self._document

    # -- the session --------------------------------------------------------------

    def _activate(self, document: Document | None) -> None:
        old, self._document = self._document, document
        self._entries = []
        if old is not None:
            self._views.pop(old, None)
            if not self.canvas.fitted:
                self._views[old] = (self.canvas.view, self.canvas.scrolled)
        for other, add in ((old, False), (document, True)):
            if other is None:
                continue
            change = self.observe if add else self.unobserve
            change(other.grown, self._on_grown)
            change(other.progress_changed, self._on_progress)
            change(other.phase_changed, self._on_phase)
            change(other.bookmarks_changed, self.rebuild)
            change(other.analysed, self._analysed)
            change(other.told_changed, self._analysed)
            change(other.live_changed, self._on_live)
            change(other.replayed_changed, self._analysed)
            change(other.chunk_changed, self.chunks.show)
            change(other.hidden_envs_changed, self._show_environments)
        self.canvas.set_pointing(Pointing())
        self._take_axis()
        self.rebuild()
        self.canvas.set_state(self.session.clock.state)
        self.canvas.fit()
        kept = self._views.get(document) if document is not None else None
        if kept is not None:
            self.canvas.set_scroll(kept[1])
            view = self.canvas.view
            self.canvas.set_view(kept[0].resized(view.width, view.rows))

    def _analysed(self) -> None:
        if not self._grow.isActive():
            self._grow.start()  # after the others have had their turn

    def _on_live(self) -> None:
        document, shown = self._document, self.canvas.timeline
        if document is not None and shown.rows:
            if min(rows_in_file(document), shown.rows) != shown.in_file:
                self._analysed()

    def _on_grown(self, _rows: int) -> None:
        if not self._grow.isActive():
            self._grow.start()

    def _on_phase(self, _document: Document) -> None:
        self.rebuild()

    def _on_progress(self, done: int, total: int) -> None:
        document = self._document
        indexing = document is not None and document.phase is Phase.INDEXING
        said = f"indexing: {done:,} of {total:,} events" if indexing else ""
        self.canvas.set_progress(said)

    def _on_axis(self) -> None:
        document, kind = self._document, self.session.clock.axis.kind
        grows = document is not None and document.phase in GROWING
        if (grows or self._grow.isActive()) and kind is self.canvas.axis_kind:
            # It only grew: the lanes and the ruler follow together, a little later.
            if not self._grow.isActive():
                self._grow.start()
            return
        self._take_axis()

    def _take_axis(self) -> None:
        axis = self.session.clock.axis
        self.canvas.set_axis(axis if len(axis) else NO_AXIS)
        self._tell()

    def _on_clock(self, new: ClockState, old: ClockState) -> None:
        self.canvas.set_state(new)
        view = self.canvas.view
        moved = new.row != old.row or new.playing != old.playing
        if self.canvas.fitted:
            return  # everything is in view, and will be
        if moved and not self.gestures.busy and self.canvas.timeline.rows:
            page = view.paged(new.row, backwards=new.direction < 0)
            if page is not view:
                self.canvas.set_view(page)

    def _keep_up(self) -> None:
        """While the cursor follows the end, have it in view."""
        state, view = self.session.clock.state, self.canvas.view
        if state.follow and not self.canvas.fitted and not self.gestures.busy:
            page = view.paged(min(state.row, self.canvas.timeline.rows - 1))
            if page is not view:
                self.canvas.set_view(page)

    def _choose(self, lane_key: str) -> None:
        lane, document = self.canvas.timeline.lane(lane_key), self._document
        if lane is None or document is None:
            return
        if lane.actor is not None:
            self.session.select(lane.actor)
        elif lane.env is not None and lane.env >= 0:
            self.session.focus(None if lane.env == document.focus else lane.env)

    def _choose_finding(self, row: int) -> None:
        """Look at what is marked on this row: where a replay departs, or a finding."""
        document = self._document
        if document is not None and document.replayed is not None:
            for first in departures(document.replayed.report):
                if first.native == row:
                    self.session.focus(first.env)
                    self.session.clock.seek(row)
                    return
        for at, finding in enumerate([] if document is None else document.findings):
            if row_of(finding) == row:
                self.session.show_finding(at)
                return

    def _show_environments(self) -> None:
        """Show which environments are looked at and shown, in the lanes there are."""
        document, canvas = self._document, self.canvas
        if document is not None and canvas.timeline.rows:
            canvas.set_timeline(seen(canvas.timeline, document), canvas.message)
            self.reveal(f"env:{document.focus}")

    def reveal(self, key: str) -> None:
        """Scroll so that a lane is in sight."""
        place = self.canvas.place
        for placed in place.scrolled:
            if placed.lane.key == key:
                above = min(placed.top - place.scroll_top, 0)
                below = max(placed.bottom - place.scroll_bottom, 0)
                if above or below:
                    self.canvas.set_scroll(self.canvas.scrolled + above + below)

    def _show_stretch(self) -> None:
        """Have the native steps of the chosen finding in view, large enough to see."""
        document, view = self._document, self.canvas.view
        finding = None if document is None else document.chosen_finding
        analysis = None if document is None else document.analysis
        if finding is None or analysis is None:
            return
        tainted = analysis.tainted_by(finding)
        stretch = stretch_of(finding, self.canvas.timeline.rows, tainted)
        seen = Span(view.first, view.last, view.rows)
        if stretch is not None and needs_zoom(stretch, seen, view.width):
            self.canvas.set_view(view.spanning(*stretch))

    # -- Qt -----------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Hand the canvas' mouse events to the gestures."""
        kind = event.type()
        if kind is QEvent.Type.MouseButtonPress:
            self.setFocus(Qt.FocusReason.MouseFocusReason)
        if self.gestures.take(event):
            return True
        if kind is QEvent.Type.Leave:
            self.gestures.leave()
        elif isinstance(event, QHelpEvent):
            self._show_hint(event)
            return True
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Zoom with Ctrl and plus, minus or 0; Escape selects nothing."""
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        key = event.key()
        if control and key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom_in()
        elif control and key == Qt.Key.Key_Minus:
            self.zoom_out()
        elif control and key == Qt.Key.Key_0:
            self.fit()
        elif key == Qt.Key.Key_Escape and self.selected_range is not None:
            self.clear_selection()
        elif key == Qt.Key.Key_Escape and self.card.isVisible():
            self.chunks.leave()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:  # noqa: N802
        """What can be done with the selection and the view."""
        if self.canvas.timeline.rows:
            self.menu().popup(event.globalPos())

    def menu(self) -> QMenu:
        """The context menu for the present selection."""
        return context_menu(self)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Fill the panel."""
        super().resizeEvent(event)
        self.place_parts()

    def place_parts(self) -> None:
        """The card has its own room at the right; the lanes have the rest."""
        inside = self.rect()
        if not self.card.isHidden():
            wide = self.card.width()
            self.card.setGeometry(
                inside.right() - wide - 3, 3, wide, inside.height() - 6
            )
            inside.setRight(inside.right() - wide - 6)
        self.canvas.setGeometry(inside)
        self._place_bar()

    # -- inside -------------------------------------------------------------------

    def _select(self, span: tuple[int, int] | None) -> None:
        self.canvas.set_pointing(replace(self.canvas.pointing, selection=span))

    def _tell(self) -> None:
        timeline = self.canvas.timeline
        some = timeline.rows > 0
        frame = self.canvas.frame()
        self.set_subtitle(readout(frame, self.canvas.pointing) if some else "")
        self._all.setEnabled(some and not self.canvas.view.all_shown)

    def _zoom(self, factor: float) -> None:
        view, place = self.canvas.view, self.canvas.place
        row = self.session.clock.row
        x = view.x_mid(row) if view.shows(row) else view.width / 2
        self.gestures.zoom(factor, place.left + x)

    def _show_hint(self, event: QHelpEvent) -> None:
        document = self._document
        text = ""
        if document is not None:
            at = event.pos().toPointF()
            text = hint_at(self.canvas, at, document.recording)
        if text:
            QToolTip.showText(event.globalPos(), text, self.canvas)
        else:
            QToolTip.hideText()

    def _place_bar(self) -> None:
        place = self.canvas.place
        high = place.scroll_bottom - place.scroll_top
        self._bar.setVisible(place.overflow > 0)
        self._bar.setGeometry(
            place.width - SCROLLBAR - 1, place.scroll_top, SCROLLBAR, max(high, 1)
        )
        self._bar.blockSignals(True)
        self._bar.setRange(0, place.overflow)
        self._bar.setPageStep(max(high, 1))
        self._bar.setSingleStep(20)
        self._bar.setValue(self.canvas.scrolled)
        self._bar.blockSignals(False)


def _why_empty(document: Document) -> str:
    if document.phase is Phase.FAILED:
        return document.error or "This recording could not be read."
    if document.phase in (Phase.OPENING, Phase.INDEXING):
        return f"Reading {document.name} …"
    if document.phase is Phase.LIVE:
        return f"{document.name} is joined. Its first step will appear here."
    return NO_STEPS
