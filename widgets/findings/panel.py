"""The Findings panel: wiring of the session, the table and what stands below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from PySide6.QtCore import QItemSelectionModel, QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QLabel,
    QMenu,
    QScrollArea,
    QSplitter,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isoscope.widgets.findings.alone import AloneLine
from isoscope.widgets.findings.details import details_html, plain_text, quiet_html
from isoscope.widgets.findings.rows import GROUPS, Folded, Group, Row, counts, rows_of
from isoscope.widgets.findings.table import FindingsModel, FindingsTable, group_text
from isoscope.widgets.findings.texts import checks_text
from isoscope.widgets.look import dress, scaled
from isoscope.widgets.panel import Panel
from isoscope.widgets.session import Document, Phase

if TYPE_CHECKING:
    from PySide6.QtCore import QModelIndex

    from isoscope.widgets.session import Session

ABOUT: dict[Group, str] = {
    "error": "Show errors",
    "warning": "Show warnings",
    "note": "Show notes",
    "not run": "Show the checks that could not run, and what they need",
}


class FindingsPanel(Panel):
    """What is wrong with the active document, worst first.

    Choosing a finding, with the mouse or with Up and Down, looks at it: the cursor goes
    there, and every panel shows what proves it.
    """

    key: ClassVar[str] = "findings"
    title: ClassVar[str] = "Findings"
    alone_asked = Signal(object)  # to step a document's environments again alone
    alone_stop_asked = Signal(object)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._document: Document | None = None
        self._hidden: set[Group] = set()
        self._unfolded = False  # whether all checks that could not run are listed
        self._choosing = False  # the session is being shown, not the user heard
        self.model = FindingsModel(self)
        self.table = FindingsTable(self.model)
        self.details = QLabel()
        self.empty = QLabel()
        self.filters: dict[Group, QToolButton] = {}
        self._make_parts()
        self.apply_theme()
        self.observe(session.active_changed, self._activate)
        self.observe(session.finding_changed, self._choose_row)
        self._activate(session.active)

    def _make_parts(self) -> None:
        for group in GROUPS:
            button = QToolButton()
            button.setCheckable(True)
            button.setChecked(True)
            button.setProperty("flat", True)
            button.setToolTip(ABOUT[group])
            button.clicked.connect(lambda on, group=group: self.show_group(group, on))
            self.filters[group] = button
        self.table.clicked.connect(self._clicked)
        self.table.entered_row.connect(self._clicked)
        self.table.selectionModel().currentRowChanged.connect(self._moved)
        self.table.customContextMenuRequested.connect(self._context_menu)
        self.details.setWordWrap(True)
        self.details.setTextFormat(Qt.TextFormat.RichText)
        self.details.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.details.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
        )
        self.details.setMargin(9)
        area = QScrollArea()
        area.setWidget(self.details)
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.details.setAutoFillBackground(False)
        area.viewport().setAutoFillBackground(False)
        self.table.setMinimumHeight(24)
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(3)
        self.splitter.addWidget(self.table)
        self.splitter.addWidget(area)
        self.splitter.setStretchFactor(1, 1)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setWordWrap(True)
        self.empty.setObjectName("dim")
        self.empty.setMargin(16)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.splitter, 1)
        self.alone = AloneLine()
        self.alone.asked.connect(self.alone_asked)
        self.alone.stop_asked.connect(self.alone_stop_asked)
        column.addWidget(self.alone)
        self._pages = QStackedLayout(self)
        self._pages.setContentsMargins(0, 0, 0, 0)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(page)
        self.setFocusProxy(self.table)

    def title_tools(self) -> list[QWidget]:
        """A filter for each severity, and one for what could not run."""
        return list(self.filters.values())

    # -- what is shown ---------------------------------------------------------------

    def show_group(self, group: Group, on: bool) -> None:
        """List the findings of a severity, or not."""
        (self._hidden.discard if on else self._hidden.add)(group)
        self.filters[group].setChecked(on)
        self._fill()

    def unfold(self, on: bool) -> None:
        """List all checks that could not run, or fold them into one line."""
        self._unfolded = on
        self._fill()
        at = next((i for i, r in enumerate(self.rows) if isinstance(r.of, Folded)), -1)
        if at >= 0:
            self._select(at)
            self._tell()

    @property
    def rows(self) -> list[Row]:
        """The rows that are listed."""
        return self.model.rows

    def _activate(self, document: Document | None) -> None:
        for other, change in (
            (self._document, self.unobserve),
            (document, self.observe),
        ):
            if other is not None:
                change(other.analysed, self._fill)
                change(other.analysing_changed, self._fill)
                change(other.phase_changed, self._fill)
                change(other.stepping_alone_changed, self._show_alone)
        self._document = document
        self._fill()

    def _fill(self, *_: object) -> None:
        document = self._document
        analysis = None if document is None else document.analysis
        audit = None if analysis is None else analysis.audit
        number = counts(audit)
        for group, button in self.filters.items():
            button.setText(group_text(group, number[group]))
            button.setAccessibleName(f"{ABOUT[group]}: {number[group]}")
            button.setVisible(number[group] > 0)
        shown = [group for group in GROUPS if group not in self._hidden]
        rows = rows_of(audit, shown, unfolded=self._unfolded)
        if rows != self.model.rows:
            self._choosing = True
            self.model.show_rows(rows)
            self._choosing = False
            self.table.fit_columns()
            self._share_room()
        self.set_subtitle("" if audit is None else checks_text(audit))
        self._pages.setCurrentIndex(0 if audit is None else 1)
        self.empty.setText(_why_empty(document))
        self._choose_row()
        self._show_alone()

    def _show_alone(self) -> None:
        self.alone.show_document(self._document)

    def _share_room(self) -> None:
        """Give the table what its rows need, up to half; the rest is for the words."""
        each = self.table.verticalHeader().defaultSectionSize()
        needed = len(self.model.rows) * each + 4
        whole = max(self.splitter.height(), 120)
        high = max(min(needed, whole // 2), each)
        self.splitter.setSizes([high, whole - high])

    def _choose_row(self) -> None:
        """Show in the table which finding is looked at."""
        document = self._document
        wanted = None if document is None else document.finding
        at = next(
            (i for i, row in enumerate(self.rows) if row.at == wanted is not None), None
        )
        if at is not None:
            self._select(at)
        elif wanted is not None or not self.table.currentIndex().isValid():
            self._choosing = True
            self.table.selectionModel().clear()
            self._choosing = False
        self._tell()

    def _select(self, at: int) -> None:
        """Choose a row without going there."""
        self._choosing = True
        index = self.model.index(at, 0)
        self.table.selectionModel().setCurrentIndex(
            index,
            QItemSelectionModel.SelectionFlag.ClearAndSelect
            | QItemSelectionModel.SelectionFlag.Rows,
        )
        self.table.scrollTo(index)
        self._choosing = False

    def _tell(self) -> None:
        """Write below the table what its chosen row means."""
        chosen = self.table.selectionModel().selectedRows()
        document = self._document
        analysis = None if document is None else document.analysis
        audit = None if analysis is None else analysis.audit
        if audit is None:
            self.details.setText("")
        elif chosen:
            self.details.setText(
                details_html(self.rows[chosen[0].row()].of, self.tokens, analysis)
            )
        elif not audit.findings:
            self.details.setText(quiet_html(audit, self.tokens))
        else:
            hint = "Choose a finding to go there and see what proves it."
            self.details.setText(f'<p style="color:{self.tokens.dim}">{hint}</p>')

    # -- choosing ---------------------------------------------------------------------

    def _moved(self, index: QModelIndex, _before: QModelIndex) -> None:
        if not self._choosing and index.isValid():
            self._go(self.rows[index.row()])

    def _clicked(self, index: QModelIndex) -> None:
        """Go there again, also where the row was chosen already; or fold, or unfold."""
        row = self.rows[index.row()]
        if isinstance(row.of, Folded):
            self.unfold(not row.of.open)
        else:
            self._go(row)

    def _go(self, row: Row) -> None:
        if row.at is not None:
            self.session.show_finding(row.at)
        self._tell()

    def _context_menu(self, at: QPoint) -> None:
        index = self.table.indexAt(at)
        if index.isValid():
            menu = self.menu_for(self.rows[index.row()])
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(self.table.viewport().mapToGlobal(at))

    def menu_for(self, row: Row) -> QMenu:
        """What can be done with a row."""
        menu = QMenu(self)
        clipboard = QGuiApplication.clipboard()
        if row.at is not None:
            menu.addAction("Go there", lambda: self._go(row))
        folded = row.of
        if isinstance(folded, Folded):
            text = "Fold them" if folded.open else "List them"
            menu.addAction(text, lambda: self.unfold(not folded.open))
        document = self._document
        analysis = None if document is None else document.analysis
        text = plain_text(row.of, analysis)
        menu.addAction("Copy", lambda: clipboard.setText(text))
        return menu

    def apply_theme(self) -> None:
        """Take the theme's colours."""
        t = self.tokens
        dress(
            self,
            t,
            f"QTableView {{ background: {t.panel}; border: none; }}"
            "QSplitter::handle { image: none; background: transparent; }",
        )
        self.details.setFont(scaled(self.font(), 0.97))
        self.table.set_look(t)
        self._tell()


def _why_empty(document: Document | None) -> str:
    if document is None:
        return "Open a recording: what is wrong with it is listed here."
    if document.phase is Phase.LIVE:
        return "The checks run as soon as the run has ended, or is no longer watched."
    if document.phase in (Phase.OPENING, Phase.INDEXING):
        return "The checks run as soon as the recording is indexed."
    if document.analysing is not None:
        return f"Finding out whose each step was: {document.analysing:.0%}"
    if document.analysis_error:
        return "No check has run: finding out whose each step was did not end."
    return "There is no native step to check."
