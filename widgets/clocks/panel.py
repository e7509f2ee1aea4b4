"""The Clocks panel: wiring of the session, the plots and the table at the cursor."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QStackedLayout, QToolButton, QVBoxLayout, QWidget

from isoscope.widgets.clocks.facts import facts_at
from isoscope.widgets.clocks.plots import (
    Wanted,
    as_many_as_fit,
    clock_plots,
    wanted_of,
)
from isoscope.widgets.clocks.table import FactsTable
from isoscope.widgets.look import dress
from isoscope.widgets.panel import Panel
from isoscope.widgets.row_words import row_word
from isoscope.widgets.session import Phase
from isoscope.widgets.signals.canvas import Canvas
from isoscope.widgets.signals.notes import notes_of
from isoscope.widgets.signals.span import Span
from isoscope.widgets.soon import Soon
from isoscope.widgets.stretch import needs_zoom, stretch_of
from isoscope.widgets.turns import InParts, InTurn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QResizeEvent, QShowEvent

    from isoscope.core.clock import ClockState
    from isoscope.widgets.session import Document, Session
    from isoscope.widgets.signals.resolve import PlotSpec

GROWTH_MS = 200  # a growing recording is drawn anew at most so often
BUDGET_S = 0.02  # of one event loop's turn, for what the plots need
SLICE_S = 0.002  # of drawing at a time, where a recording only grew
NO_CLOCK = "Neither recording, scene nor control time is told: no clock can be plotted."


class _Holder(QWidget):
    """Where the plots and what lies over them are."""

    def __init__(self, panel: ClocksPanel) -> None:
        super().__init__()
        self.canvas = Canvas(panel.session.clock.stamp, self)
        self.nothing = QLabel(NO_CLOCK, self)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.nothing.setWordWrap(True)
        self.nothing.setMargin(12)
        self.nothing.setObjectName("dim")
        self.nothing.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Fill with the canvas."""
        super().resizeEvent(event)
        self.canvas.setGeometry(self.rect())
        self.nothing.setGeometry(self.rect())


class ClocksPanel(Panel):
    """The staircase of the clocks, and every clock and number at the cursor."""

    key: ClassVar[str] = "clocks"
    title: ClassVar[str] = "Clocks"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._document: Document | None = None
        self._spans: WeakKeyDictionary[Document, Span] = WeakKeyDictionary()
        self._all: list[PlotSpec] = []
        self._made_for: Wanted | None = None
        self._shown: list[PlotSpec] = []
        self._stale = True
        self._parts = InParts(SLICE_S, GROWTH_MS)  # of drawing what has grown
        self._only_grew = False
        self._row = -1  # where the cursor was last shown
        self._due = InTurn(self, self.refresh)
        self._move = Soon(self, self._move_cursor)
        self._make_parts()
        self.apply_theme()
        self.observe(session.active_changed, self._activate)
        self.observe(session.clock.changed, self._clock_changed)
        self.observe(session.focus_changed, self.invalidate)
        self.observe(session.finding_changed, self._show_stretch)
        self._activate(session.active)

    def _make_parts(self) -> None:
        self._holder = _Holder(self)
        self.canvas, self.nothing = self._holder.canvas, self._holder.nothing
        self.canvas.row_wanted.connect(self.session.clock.seek)
        self.canvas.span_wanted.connect(self.show_span)
        self.canvas.resized.connect(self.invalidate)
        self.table = FactsTable()
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._holder, 1)
        column.addWidget(self.table)
        self.empty = QLabel("Open a recording to see its clocks.")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setObjectName("dim")
        self._pages = QStackedLayout(self)
        self._pages.setContentsMargins(0, 0, 0, 0)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(page)
        self.fit_tool = QToolButton()
        self.fit_tool.setText("Fit")
        self.fit_tool.setProperty("flat", True)
        self.fit_tool.setToolTip("Show all steps (double click in a plot)")
        self.fit_tool.clicked.connect(self.fit)

    def title_tools(self) -> list[QWidget]:
        """Fit."""
        return [self.fit_tool]

    # -- what is shown -----------------------------------------------------------------

    @property
    def specs(self) -> list[PlotSpec]:
        """The plots that are shown."""
        return self._shown

    def fit(self) -> None:
        """Show all rows."""
        self.show_span(Span.whole(self.canvas.span.rows))

    def show_span(self, span: Span) -> None:
        """Show these rows."""
        if self._document is not None and span != self.canvas.span:
            self._spans[self._document] = span
            self.canvas.set_span(span)
            self.invalidate()

    def settled(self) -> bool:
        """Whether plots, cursor and table are painted as they should be."""
        if not self.isVisible() or self.visibleRegion().isEmpty():
            return True
        if self._due.isActive() or self._move.isActive():
            return False
        if self._document is None:
            return True
        plotted = self.canvas.painted or not self.canvas.isVisible()
        return plotted and self.table.painted

    # -- the session -------------------------------------------------------------------

    def _activate(self, document: Document | None) -> None:
        for other, change in (
            (self._document, self.unobserve),
            (document, self.observe),
        ):
            if other is not None:
                change(other.grown, self._grown)
                change(other.analysed, self.invalidate)
                change(other.aligned, self._move.start)
                change(other.hidden_envs_changed, self.invalidate)
        self._document = document
        self._made_for = None
        self._pages.setCurrentIndex(0 if document is None else 1)
        self.fit_tool.setEnabled(document is not None)
        self.invalidate()
        self._move.start()

    def _grown(self, _rows: int) -> None:
        self.invalidate(self._parts.pause_ms)

    def _clock_changed(self, new: ClockState, old: ClockState) -> None:
        if new.row != old.row:
            self._move.start()

    def _show_stretch(self) -> None:
        """Have the native steps of the chosen finding in view, large enough to see."""
        document = self._document
        finding = None if document is None else document.chosen_finding
        if finding is not None:
            span = self.canvas.span
            stretch = stretch_of(finding, span.rows)
            if stretch is not None and needs_zoom(stretch, span, self.canvas.width()):
                self.show_span(span.between(*stretch))
        self.invalidate()

    def _move_cursor(self) -> None:
        document = self._document
        if document is None or not self.isVisible() or self.behind:
            return
        row, span = self.session.clock.row, self.canvas.span
        self.canvas.set_cursor(row, str(row))
        self.table.show_facts(facts_at(document, row))
        moved, self._row = row != self._row, row
        if moved and not (span.is_whole or span.low <= row <= span.high):
            # Turn the page, so that the cursor has most of it before it.
            ahead = 0.1 if row > span.high else 0.9
            self.show_span(span.moved(row - span.low - span.width * ahead))

    # -- drawing -----------------------------------------------------------------------

    def invalidate(self, within_ms: int = 0) -> None:
        """Draw the plots anew, soon; when hidden, as soon as they are seen."""
        self._only_grew = bool(within_ms) and (self._only_grew or not self._stale)
        self._stale = True
        if not within_ms:
            self._parts.rest = None
        seen = self.isVisible() and not self.behind
        if seen and not (within_ms and self._due.isActive()):
            self._due.start(within_ms)

    def came_to_front(self) -> None:
        """Catch up with what happened while another panel was in front of it."""
        self._move.start()
        if self._stale:
            self.invalidate()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Catch up with what happened while hidden."""
        super().showEvent(event)
        self._move.start()
        if self._stale:
            self.invalidate()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Give the table what it needs, if the plots then have room."""
        super().resizeEvent(event)
        self.table.setFixedHeight(
            min(self.table.height_in(self.width()), max(self.height() // 2, 40))
        )

    def refresh(self) -> None:
        """Make the plots and lay them out now."""
        self._parts.work(self._refresh)
        if self._parts.rest is not None:
            self._due.start(0)
        elif self._stale and not self._due.isActive():
            self._due.start(self._parts.pause_ms)  # it grew meanwhile

    def _refresh(self) -> None:
        self._stale = False
        document = self._document
        if document is None:
            return
        wanted = wanted_of(document, self._made_for)
        if wanted != self._made_for:
            self._all, self._made_for = clock_plots(document), wanted
        shown = as_many_as_fit(self._all, self._holder.height())
        stack = self.canvas.stack
        if shown != self._shown:
            self._shown, self._only_grew = shown, False
            stack.set_specs(shown)
            stack.set_theme(self.tokens, self.font())
        self.nothing.setVisible(not shown and document.rows > 0)
        for part in (self.canvas, stack):
            part.setVisible(bool(shown))
        stack.goes_on = document.phase is Phase.LIVE
        rows = max(document.expected_rows, 1)
        span = self._spans.get(document, Span.whole(rows)).grown(rows)
        self._spans[document] = span
        stack.notes = notes_of(document)
        stack.show_times(False)
        if not stack.prepare(span, time.perf_counter() + BUDGET_S):
            # Go on after the window's other work.
            self._stale = True
            self._due.start(0)
            return
        if self._only_grew and self.canvas.painted_once:
            self._parts.rest = self._loading(span)
        else:
            self.canvas.set_span(span)
            stack.load(span)
            self.canvas.invalidate()
        self._only_grew = False
        self._tell(document, span)
        self._move.start()

    def _loading(self, span: Span) -> Iterator[None]:
        """Load and paint a plot at a time; what is shown stays until all is there."""
        yield from self.canvas.stack.loading(span)
        yield from self.canvas.drawing(span)

    def _tell(self, document: Document, span: Span) -> None:
        parts = [] if document.focus is None else [f"env {document.focus}"]
        if not span.is_whole:
            word = row_word(document.recording)
            parts.append(f"{word} {span.first:,}–{max(span.stop - 1, 0):,}")
        each = self.canvas.stack.bin_rows
        if each > 1:
            parts.append(f"min/max 1:{each}")
        self.set_subtitle(" · ".join(parts))

    def apply_theme(self) -> None:
        """Take the theme's colours."""
        t = self.tokens
        dress(self, t)
        self.canvas.set_theme(t)
        self.table.set_look(t)
        self.invalidate()

    def release(self) -> None:
        """Stop the timers too."""
        self._due.stop()
        self._move.stop()
        super().release()
