"""The Signals panel: wiring of the session, the plots and what is done with them."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import (
    QFileDialog,
    QScrollArea,
    QStackedLayout,
)

from isoscope.core.clock import TimeKind
from isoscope.core.series import track_of
from isoscope.widgets.look import dress
from isoscope.widgets.panel import Panel
from isoscope.widgets.session import Document, FieldRef, Phase
from isoscope.widgets.signals.board import Board
from isoscope.widgets.signals.by_env import Split, apart
from isoscope.widgets.signals.choices import field_choices
from isoscope.widgets.signals.defaults import default_plots, suggestions
from isoscope.widgets.signals.empty import EmptyState
from isoscope.widgets.signals.export import Exporter
from isoscope.widgets.signals.menus import context_menu, tool
from isoscope.widgets.signals.notes import notes_of
from isoscope.widgets.signals.picker import FieldPicker
from isoscope.widgets.signals.proof import proof_plots
from isoscope.widgets.signals.resolve import PlotSpec, resolve
from isoscope.widgets.signals.span import Span
from isoscope.widgets.stretch import needs_zoom, stretch_of
from isoscope.widgets.turns import InParts, InTurn

if TYPE_CHECKING:
    from PySide6.QtGui import QShowEvent
    from PySide6.QtWidgets import QWidget

    from isoscope.core.clock import ClockState
    from isoscope.widgets.session import Session

GROWTH_MS = 150  # a growing recording is drawn anew at most so often
BUDGET_S = 0.015  # of work at a time on summaries of long tracks
SLICE_S = 0.002  # of drawing at a time, where a recording only grew


class SignalsPanel(Panel):
    """Fields as stacked plots over the native steps, linked to the cursor."""

    key: ClassVar[str] = "signals"
    title: ClassVar[str] = "Signals"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._spans: WeakKeyDictionary[Document, Span] = WeakKeyDictionary()
        self._chosen: WeakKeyDictionary[Document, list[FieldRef]] = WeakKeyDictionary()
        self._document: Document | None = None
        self._split = Split()
        self._specs: list[PlotSpec] = []
        self._stale = True
        self._due = InTurn(self, self.refresh)
        self._parts = InParts(SLICE_S, GROWTH_MS)  # of drawing what has grown
        self._only_grew = False
        self._make_parts()
        self._make_tools()
        self.apply_theme()
        clock = session.clock
        self.observe(clock.changed, self._clock_changed)
        self.observe(clock.axis_changed, self._axis_changed)
        self.observe(session.added, self._added)
        self.observe(session.active_changed, self._activate)
        self.observe(session.focus_changed, self.invalidate)
        self.observe(session.finding_changed, self._show_stretch)
        for document in session.documents:
            self._added(document)
        self._activate(session.active)

    def _make_parts(self) -> None:
        self.empty = EmptyState()
        self.empty.field_wanted.connect(self.pick_field)
        self.empty.plot_wanted.connect(self.add)
        self.board = Board(self.session.clock.stamp)
        self.canvas = self.board.canvas
        self.canvas.row_wanted.connect(self.session.clock.seek)
        self.canvas.span_wanted.connect(self.show_span)
        self.canvas.resized.connect(self.invalidate)
        self.canvas.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.canvas.customContextMenuRequested.connect(self._context_menu)
        self.board.heads.removed.connect(self.remove)
        self.board.heads.replaced.connect(self._replace)
        self._scroll = QScrollArea()
        self._scroll.setWidget(self.board)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.picker = FieldPicker(self)
        self.picker.chosen.connect(self.add)
        self._exporter = Exporter(self)
        self._exporter.done.connect(self.session.messaged.emit)
        self._pages = QStackedLayout(self)
        self._pages.setContentsMargins(0, 0, 0, 0)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self._scroll)

    def _make_tools(self) -> None:
        self.env_tool = tool(
            "by env", "A line for each environment, or one through all native steps"
        )
        self.env_tool.setCheckable(True)
        self.env_tool.setChecked(True)
        self.env_tool.clicked.connect(lambda: self.invalidate())
        self.env_tool.hide()
        self.fit_tool = tool("Fit", "Show all steps (double click in a plot)")
        self.fit_tool.clicked.connect(self.fit)
        self.csv_tool = tool("CSV", "Write the plotted range to a CSV file")
        self.csv_tool.clicked.connect(self.ask_export)
        self.add_tool = tool("+ field", "Plot another field")
        self.add_tool.clicked.connect(self.pick_field)

    def title_tools(self) -> list[QWidget]:
        """By environment, fit, export, and add a field."""
        return [self.env_tool, self.fit_tool, self.csv_tool, self.add_tool]

    # -- what is shown -------------------------------------------------------------

    @property
    def span(self) -> Span:
        """The rows in view."""
        return self.canvas.span

    @property
    def specs(self) -> list[PlotSpec]:
        """The plots that are shown."""
        return self._specs

    def add(self, ref: FieldRef) -> None:
        """Plot a field of the active document."""
        if self._document is not None:
            self._document.add_plot(ref)

    def remove(self, ref: FieldRef) -> None:
        """Stop plotting it."""
        if self._document is not None:
            self._document.remove_plot(ref)

    def _replace(self, old: FieldRef, new: FieldRef) -> None:
        if self._document is not None:
            self._document.set_plots(
                [new if ref == old else ref for ref in self._document.plots]
            )

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
        """Whether plots and cursor are painted as they should be."""
        if not self.isVisible() or not self.canvas.isVisible():
            return not self._due.isActive()
        if self.canvas.visibleRegion().isEmpty():
            return not self._due.isActive()
        return not self._due.isActive() and self.canvas.painted

    # -- the session ---------------------------------------------------------------

    def _added(self, document: Document) -> None:
        if not document.plots:
            chosen = default_plots(document.recording)
            self._chosen[document] = chosen
            document.set_plots(chosen)

    def _activate(self, document: Document | None) -> None:
        old = self._document
        if old is not None:
            self.unobserve(old.plots_changed, self._plots_changed)
            self.unobserve(old.grown, self._grown)
            self.unobserve(old.phase_changed, self._phase_changed)
            self.unobserve(old.analysed, self._analysed)
            self.unobserve(old.hidden_envs_changed, self.invalidate)
        self._document = document
        self._split, self._specs = Split(), []
        if document is not None:
            self.observe(document.plots_changed, self._plots_changed)
            self.observe(document.grown, self._grown)
            self.observe(document.phase_changed, self._phase_changed)
            self.observe(document.analysed, self._analysed)
            self.observe(document.hidden_envs_changed, self.invalidate)
            self._complete_defaults(document)
            self._analysed()
        self._plots_changed()
        self._move_cursor()

    def _complete_defaults(self, document: Document) -> None:
        """Choose anew once all is known, unless the user has chosen since."""
        chosen = self._chosen.get(document)
        ready = document.phase not in (Phase.OPENING, Phase.INDEXING)
        if document.phase is Phase.LIVE:  # its fields turn up as it goes
            ready = bool(default_plots(document.recording))
        if chosen is not None and ready and chosen == document.plots:
            del self._chosen[document]
            document.set_plots(default_plots(document.recording))

    def _phase_changed(self, document: Document) -> None:
        self._complete_defaults(document)
        self.invalidate()

    def _analysed(self) -> None:
        """Give the components plots of their own, unless the user has chosen any."""
        document = self._document
        analysis = None if document is None else document.analysis
        shared = analysis is not None and analysis.shared
        self.env_tool.setVisible(shared)
        if document is not None and shared:
            chosen = default_plots(document.recording)
            if document.plots == chosen:
                document.set_plots(apart(document.recording, chosen))
        self.invalidate()

    def _show_stretch(self) -> None:
        """Have the native steps of the chosen finding in view, large enough to see."""
        document = self._document
        finding = None if document is None else document.chosen_finding
        analysis = None if document is None else document.analysis
        if finding is not None and analysis is not None:
            tainted = analysis.tainted_by(finding)
            stretch = stretch_of(finding, self.canvas.span.rows, tainted)
            if stretch is not None and needs_zoom(
                stretch, self.span, self.canvas.width()
            ):
                self.show_span(self.span.between(*stretch))
        self.invalidate()

    def _grown(self, _rows: int) -> None:
        document = self._document
        if document is not None and document in self._chosen:
            self._complete_defaults(document)
            if document not in self._chosen:
                self._analysed()
        self.invalidate(self._parts.pause_ms)

    def _plots_changed(self) -> None:
        document = self._document
        plots = [] if document is None else document.plots
        self.csv_tool.setEnabled(bool(plots))
        self.fit_tool.setEnabled(bool(plots))
        self.add_tool.setEnabled(document is not None)
        if not plots:
            self._show_empty()
        self._pages.setCurrentIndex(1 if plots else 0)
        self.invalidate()

    def _show_empty(self) -> None:
        document = self._document
        recording = None if document is None else document.recording
        self.empty.show_for(
            document is not None,
            recording is not None and bool(field_choices(recording)),
            [] if recording is None else suggestions(recording, []),
        )
        self.set_subtitle("")

    def _clock_changed(self, new: ClockState, old: ClockState) -> None:
        if new.row != old.row or new.kind != old.kind:
            self._move_cursor()

    def _axis_changed(self) -> None:
        self._move_cursor()
        self.invalidate(self._parts.pause_ms)

    def _move_cursor(self) -> None:
        clock, span = self.session.clock, self.canvas.span
        row = clock.row
        stamp = clock.stamp()
        known = clock.state.kind is not TimeKind.NATIVE and math.isfinite(stamp)
        self.canvas.set_cursor(row, f"{row}\n{stamp:.4f} s" if known else str(row))
        outside = not span.low <= row <= span.high
        if outside and not span.is_whole and self.canvas.isVisible():
            # Turn the page, so that the cursor has most of it before it.
            ahead = 0.1 if row > span.high else 0.9
            self.show_span(span.moved(row - span.low - span.width * ahead))

    # -- drawing -------------------------------------------------------------------

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
        if self._stale:
            self.invalidate()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Catch up with what happened while hidden."""
        super().showEvent(event)
        if self._stale:
            self.invalidate()

    def refresh(self) -> None:
        """Resolve, fetch and lay out now; where it only grew, a little at a time."""
        self._parts.work(self._refresh)
        if self._parts.rest is not None:
            self._due.start(0)
        elif self._stale and not self._due.isActive():
            self._due.start(self._parts.pause_ms)  # it grew meanwhile

    def _refresh(self) -> None:
        self._stale = False
        document = self._document
        if document is None or not document.plots:
            if document is not None and self._pages.currentIndex() == 0:
                self._show_empty()
            return
        recording = document.recording
        known = {
            spec.ref: spec for spec in self._split.bases if _current(spec, document)
        }
        proof = proof_plots(recording, document.chosen_finding)
        refs = dict.fromkeys([*proof, *document.plots])
        bases = [known.get(ref) or resolve(recording, ref) for ref in refs]
        self._specs = self._split.specs(document, bases, self.env_tool.isChecked())
        rows = max(document.expected_rows, 1)
        span = self._spans.get(document, Span.whole(rows)).grown(rows)
        self._spans[document] = span
        self.canvas.stack.notes = notes_of(document)
        self.canvas.stack.goes_on = document.phase is Phase.LIVE
        if self.board.show_specs(self._specs, self.tokens):
            self._only_grew = False
        until_s = time.perf_counter() + BUDGET_S
        if not self.canvas.stack.prepare(span, until_s):
            # Go on after the window's other work.
            self._stale = True
            self._due.start(0)
            return
        times = self.session.clock.state.kind is not TimeKind.NATIVE
        if self._only_grew and self.canvas.painted_once:
            self._parts.rest = self.board.loading(span, times)
        else:
            self.board.load(span, times)
        self._only_grew = False
        self._tell(span)

    def _tell(self, span: Span) -> None:
        document = self._document
        parts = []
        if document is not None and self._split.on:
            focus = document.focus
            parts.append("by environment" if focus is None else f"env {focus}")
        if not span.is_whole:
            parts.append(f"native {span.first:,}–{max(span.stop - 1, 0):,}")
        each = self.canvas.stack.bin_rows
        if each > 1:
            parts.append(f"min/max 1:{each}")
        self.set_subtitle(" · ".join(parts))
        count = len(self._specs)
        self.canvas.setAccessibleName(f"Plots of {count} field{'s' * (count != 1)}")

    def apply_theme(self) -> None:
        """Take the theme's colours."""
        t = self.tokens
        dress(
            self,
            t,
            "QToolButton#head { padding: 0px; }"
            f"QPushButton#primary {{ background: {t.accent}; color: {t.accent_text};"
            f" border-color: {t.accent}; padding: 4px 14px; }}",
        )
        self.picker.set_theme(t)
        self.board.set_theme(t)
        self.invalidate()

    # -- choosing and exporting ----------------------------------------------------

    def pick_field(self) -> None:
        """Open the picker at the right top corner of the panel."""
        document = self._document
        if document is None:
            return
        actor = document.actor(document.selection.actor)
        near = "" if actor is None else actor.name
        corner = self.mapToGlobal(QPoint(self.width(), 0))
        self.picker.open_at(corner, field_choices(document.recording), near)

    def ask_export(self) -> None:
        """Ask where to write the plotted range, then write it."""
        document = self._document
        if document is None or not document.plots:
            return
        span = self.canvas.span
        stem = Path(document.name).stem
        dialog = QFileDialog(self, "Write the plotted range", "", "CSV (*.csv)")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("csv")
        dialog.selectFile(f"{stem}_{span.first}-{max(span.stop - 1, 0)}.csv")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.export_to)
        dialog.open()

    def export_to(self, path: str) -> None:
        """Write the rows in view of all plots; tells the session how it went."""
        document = self._document
        if document is not None:
            self._exporter.start(
                path, document.recording, document.plots, self.canvas.span
            )

    def _context_menu(self, at: QPoint) -> None:
        context_menu(self, at).popup(self.canvas.mapToGlobal(at))

    def release(self) -> None:
        """Stop the timer too."""
        self._due.stop()
        super().release()


def _current(spec: PlotSpec, document: Document) -> bool:
    """Whether what the spec was resolved from is still there."""
    track = track_of(document.recording, spec.ref)
    if track is not spec.track:
        return False
    return all(
        c.series is None or c.series.recording is document.recording
        for c in spec.curves
    )
