"""The Costs panel: wiring of the session, the question, bars and table."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isoscope.core.costs.compare import compare, sentence
from isoscope.core.costs.written import to_csv
from isoscope.widgets.costs.asking import Asker
from isoscope.widgets.costs.bars import StageBars
from isoscope.widgets.costs.choice import WindowChoice
from isoscope.widgets.costs.rows import rows_of
from isoscope.widgets.costs.table import CostsTable
from isoscope.widgets.costs.words import (
    HOW_TO_RECORD,
    WHO_TELLS,
    headline,
    memory_words,
    sums,
)
from isoscope.widgets.document import Phase
from isoscope.widgets.elided import ElidedLabel
from isoscope.widgets.look import dress
from isoscope.widgets.panel import Panel
from isoscope.widgets.turns import InTurn

if TYPE_CHECKING:
    from PySide6.QtGui import QShowEvent

    from isoscope.core.clock import ClockState
    from isoscope.core.costs.report import CostReport
    from isoscope.widgets.session import Document, Session

GROWTH_MS = 500  # a growing recording is looked at anew at most so often
MOST_PROBLEMS = 3


class CostsPanel(Panel):
    """Where the time of the active document goes."""

    key: ClassVar[str] = "costs"
    title: ClassVar[str] = "Costs"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._document: Document | None = None
        self.report: CostReport | None = None
        self.kept: CostReport | None = None
        self._stale = True
        self._asker = Asker(self)
        self._asker.answered.connect(self._answered)
        self._due = QTimer(self)
        self._due.setSingleShot(True)
        self._due.timeout.connect(self._ask)
        self._to_show = InTurn(self, self._show)
        self._make_parts()
        self.apply_theme()
        self.observe(session.active_changed, self._activate)
        self.observe(session.clock.changed, self._clock_changed)
        self._activate(session.active)

    def _make_parts(self) -> None:
        self.choice = WindowChoice()
        self.choice.changed.connect(self.invalidate)
        self.said, self.note, self.problems = QLabel(), QLabel(), QLabel()
        # Other numbers all the time, and never a reason to lay out anew.
        self.memory = ElidedLabel()
        self.memory.setObjectName("dim")
        self.memory.hide()
        for label in (self.said, self.note, self.problems):
            label.setWordWrap(True)
            label.setContentsMargins(10, 2, 10, 2)
        self.note.setObjectName("dim")
        self.problems.setObjectName("costs-problems")
        self.bars, self.table = StageBars(), CostsTable()
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 6, 0, 0)
        column.setSpacing(2)
        self.choice.setContentsMargins(8, 0, 8, 0)
        for part in (self.choice, self.said, self.bars, self.note, self.problems):
            column.addWidget(part)
        column.addWidget(self.table, 1)
        self.empty = QLabel()
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setObjectName("dim")
        self.empty.setWordWrap(True)
        self.empty.setMargin(20)
        self._pages = QStackedLayout()
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addLayout(self._pages, 1)
        foot = QHBoxLayout()
        foot.setContentsMargins(10, 0, 10, 0)
        foot.addWidget(self.memory)
        whole.addLayout(foot)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(page)
        self.keep_tool = self._tool(
            "Keep", "Keep these costs, and compare what is chosen next with them"
        )
        self.keep_tool.setCheckable(True)
        self.keep_tool.clicked.connect(self.keep)
        self.copy_tool = self._tool("Copy", "Copy as CSV (Ctrl+C)")
        self.copy_tool.clicked.connect(self.copy_csv)
        self.table.copy_asked.connect(self.copy_csv)

    def _tool(self, text: str, about: str) -> QToolButton:
        tool = QToolButton()
        tool.setText(text)
        tool.setProperty("flat", True)
        tool.setToolTip(about)
        return tool

    def title_tools(self) -> list[QWidget]:
        """Keep, and copy as CSV."""
        return [self.keep_tool, self.copy_tool]

    # -- commands ----------------------------------------------------------------------

    def keep(self, on: bool = True) -> None:
        """Compare what is shown next with these costs, or with none any more.

        What is kept stays when another document becomes active.
        """
        self.kept = self.report if on else None
        self.keep_tool.setChecked(self.kept is not None)
        self._show()

    def copy_csv(self) -> None:
        """Put the costs onto the clipboard as CSV."""
        if self.report is not None:
            QGuiApplication.clipboard().setText(to_csv(self.report))
            self.session.say("note", "The costs are on the clipboard as CSV.")

    def settled(self) -> bool:
        """Whether the costs of what is chosen are shown."""
        if not self.isVisible() or self.visibleRegion().isEmpty():
            return True
        waiting = self._due.isActive() or self._to_show.isActive()
        return not (waiting or self._asker.busy) and self.table.painted

    # -- the session -------------------------------------------------------------------

    def _activate(self, document: Document | None) -> None:
        for other, change in (
            (self._document, self.unobserve),
            (document, self.observe),
        ):
            if other is not None:
                change(other.grown, self._grown)
                change(other.phase_changed, self._grown)
                change(other.live_changed, self._remember)
        self._document = document
        self.report = None
        self._remember()
        self._asker.forget()
        self._show()
        self.invalidate()

    def _grown(self, _: object) -> None:
        self.invalidate(GROWTH_MS)

    def _remember(self) -> None:
        """Say how much of a watched run is in memory."""
        document = self._document
        live = None if document is None else document.live
        memory = None if live is None else live.memory
        said = ""
        if document is not None and memory is not None:
            said = memory_words(memory, document.recording.row_is)
        if said != self.memory.text:
            self.memory.set_text(said)
            self.memory.setVisible(bool(said))

    def _clock_changed(self, new: ClockState, old: ClockState) -> None:
        ranges = [(state.loop_in, state.loop_out) for state in (new, old)]
        if self.choice.which == "range" and ranges[0] != ranges[1]:
            self.invalidate()

    def invalidate(self, within_ms: int = 0) -> None:
        """Ask anew, soon; when hidden, as soon as it is seen."""
        self._stale = True
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

    def _ask(self) -> None:
        if self._asker.busy:
            self._due.start(GROWTH_MS)  # the answer to come is as good meanwhile
            return
        self._stale = False
        document = self._document
        if document is not None and document.recording.labelled is not None:
            self._asker.ask(document, self.choice.window_of(self.session.clock.state))

    def _answered(self, answer: CostReport | str) -> None:
        if isinstance(answer, str):
            self.report = None
            self._explain(answer)
            return
        self.report = answer
        self._to_show.start()

    # -- showing -----------------------------------------------------------------------

    def _explain(self, text: str) -> None:
        self.empty.setText(text)
        self._pages.setCurrentIndex(0)
        self.copy_tool.setEnabled(False)
        self.keep_tool.setEnabled(self.kept is not None)
        self.set_subtitle("")

    def _show(self) -> None:
        document, report = self._document, self.report
        if document is None:
            self._explain("Open a recording to see where its time went.")
            return
        if document.recording.labelled is None:
            self._explain(f"This recording tells no times.\n\n{HOW_TO_RECORD}")
            return
        if report is None:
            self._explain("Looking at the costs…")
            return
        live = document.phase is Phase.LIVE
        if report.empty:
            said = "No times have come yet." if live else "No times were recorded."
            self._explain(f"{said}\n\n{WHO_TELLS}")
            return
        self._pages.setCurrentIndex(1)
        self.copy_tool.setEnabled(True)
        self.keep_tool.setEnabled(True)
        found = None
        if self.kept is not None and self.kept is not report:
            found = compare(self.kept, report)
        said = headline(report) if found is None else sentence(found)
        if not report.entries:
            said = "have come yet" if live else "were recorded"
            said = f"No profiler entries {said}. {WHO_TELLS}"
        self._write(self.said, said)
        self._write(self.note, sums(report))
        lines = list(report.problems)
        more = len(lines) - MOST_PROBLEMS
        shown = [f"▲ {line}" for line in lines[:MOST_PROBLEMS]]
        self._write(
            self.problems, "\n".join([*shown, *([f"and {more} more"] * (more > 0))])
        )
        self.problems.setToolTip("\n".join(lines))
        self.bars.show_report(report)
        self.table.show_rows(rows_of(report, found))
        self.set_subtitle(self.choice.words(report.window))

    def _write(self, label: QLabel, text: str) -> None:
        label.setText(text)
        label.setVisible(bool(text))

    def apply_theme(self) -> None:
        """Take the theme's colours."""
        t = self.tokens
        dress(self, t, f"#costs-problems{{color:{t.warning};}}")
        self.bars.set_look(t)
        self.table.set_look(t)

    def release(self) -> None:
        """Ask no more."""
        self._due.stop()
        super().release()
        self._asker.close()
