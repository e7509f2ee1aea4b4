"""The Curate panel: wiring of a document's episodes, their edits and the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QTimer, Signal
from PySide6.QtWidgets import QStackedLayout, QToolButton, QVBoxLayout, QWidget

from isoscope.core.dataset.curate.columns import columns
from isoscope.core.dataset.curate.edits import Judge
from isoscope.core.dataset.curate.query import matching
from isoscope.core.summary import counted
from isoscope.widgets.curate.background import Background
from isoscope.widgets.curate.controls import EditBar, FilterLine, TagLine, TotalsLine
from isoscope.widgets.curate.editing import Editing
from isoscope.widgets.curate.empty import EmptyPage, why_empty
from isoscope.widgets.curate.episodes_model import EpisodesModel
from isoscope.widgets.curate.filling import Filling
from isoscope.widgets.curate.places import rows_of
from isoscope.widgets.curate.rows import Totals
from isoscope.widgets.curate.table import EpisodesTable
from isoscope.widgets.look import dress
from isoscope.widgets.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QShowEvent

    from isoscope.core.dataset.curate.edits import Item
    from isoscope.core.recording.tracks import BoolArray
    from isoscope.widgets.curate.curation import Curation
    from isoscope.widgets.session import Document, Session

QUERY_MS = 150


class CuratePanel(Panel):
    """Episodes of the active document: what of them is exported.

    `wanted` asks for a document's episodes, `transitions_asked` for a file that has
    the actions of a bare recording, `export_asked` for the Export panel.

    Attributes
    ----------
    range_of
        Gives the selected rows, both ends inclusive, or None.
    """

    key: ClassVar[str] = "curate"
    title: ClassVar[str] = "Curate"
    wanted = Signal(object)
    transitions_asked = Signal(object)
    export_asked = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._document: Document | None = None
        self._curation: Curation | None = None
        self._matched: BoolArray | None = None  # of the choice's items; None for all
        self._choosing = False
        self.range_of: Callable[[], tuple[int, int] | None] = self._loop_range
        self.background = Background(self, "isoscope-curate")
        self.model = EpisodesModel(self)
        self.table = EpisodesTable(self.model)
        self.filling = Filling(self.background, self.model, self.table)
        self.filling.failed.connect(lambda text: session.say("error", text))
        self.editing = Editing(session)
        self._due = QTimer(self)
        self._due.setSingleShot(True)
        self._due.timeout.connect(self._ask_query)
        self._make_parts()
        self.apply_theme()
        self.observe(session.active_changed, self._activate)
        self._activate(session.active)

    def _make_parts(self) -> None:
        self.filter, self.bar = FilterLine(), EditBar()
        self.tags, self.totals = TagLine(), TotalsLine()
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for part in (self.filter, self.bar):
            column.addWidget(part)
        column.addWidget(self.table, 1)
        column.addWidget(self.tags)
        column.addWidget(self.totals)
        self.empty = EmptyPage()
        self._pages = QStackedLayout(self)
        self._pages.setContentsMargins(0, 0, 0, 0)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(page)
        self.undo_tool = self._tool("↶", "Undo (Ctrl+Z)", self.undo)
        self.redo_tool = self._tool("↷", "Redo (Ctrl+Shift+Z)", self.redo)
        self.filter.asked.connect(self._query_changed)
        self.filter.judged.connect(self.judge_matches)
        self.filter.left.connect(self._to_table)
        self.bar.pressed.connect(lambda key: self.commands[key]())
        self.tags.given.connect(self.tag)
        self.tags.left.connect(self.table.setFocus)
        self.totals.export_asked.connect(lambda: self.export_asked.emit())
        self.empty.asked.connect(self._ask_transitions)
        self.table.selectionModel().currentRowChanged.connect(self._moved)
        self.table.selectionModel().selectionChanged.connect(self._enable)
        self.table.clicked.connect(self._go)
        self.table.activated.connect(self._go)

    def _tool(self, text: str, about: str, call: Callable[[], object]) -> QToolButton:
        tool = QToolButton()
        tool.setText(text)
        tool.setProperty("flat", True)
        tool.setToolTip(about)
        tool.setAccessibleName(about)
        tool.clicked.connect(lambda: call())
        return tool

    def title_tools(self) -> list[QWidget]:
        """Undo and redo."""
        return [self.undo_tool, self.redo_tool]

    @property
    def commands(self) -> dict[str, Callable[[], object]]:
        """What can be done with the chosen episodes, by name."""
        return {
            "accept": lambda: self.editing.judge(self.table.chosen(), "accepted"),
            "reject": lambda: self.editing.judge(self.table.chosen(), "rejected"),
            "undecided": lambda: self.editing.judge(self.table.chosen(), None),
            "tag": self.ask_tag,
            "trim": self.trim,
            "split": self.split,
        }

    # -- the session -------------------------------------------------------------------

    def _activate(self, document: Document | None) -> None:
        for other, change in (
            (self._document, self.unobserve),
            (document, self.observe),
        ):
            if other is not None:
                change(other.curation_changed, self._curation_changed)
                change(other.phase_changed, self._want)
                change(other.analysing_changed, self._tell_empty)
        self._document = document
        self._curation_changed()
        self._want()

    def _want(self, *_: object) -> None:
        document = self._document
        if document is not None and document.curation is None and self.isVisible():
            self.wanted.emit(document)
        self._tell_empty()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Ask for the episodes once somebody looks."""
        super().showEvent(event)
        self._want()
        self.filling.look()

    def _curation_changed(self) -> None:
        document = self._document
        curation = None if document is None else document.curation
        if curation is not self._curation:
            if self._curation is not None:
                self.unobserve(self._curation.workspace.changed, self._fill)
            self._curation, self._matched = curation, None
            self.editing.workspace = None if curation is None else curation.workspace
            self.background.forget()
            self.filling.start(curation)
            self.model.show_items([], None)
            if curation is not None:
                self.observe(curation.workspace.changed, self._fill)
                if self.filter.query:
                    self._due.start(0)
        self.filling.touch()
        self._fill()

    # -- what is shown -----------------------------------------------------------------

    def _tell_empty(self, *_: object) -> None:
        text, button = why_empty(self._document)
        self.empty.tell(text, button=button)
        self._pages.setCurrentIndex(0 if self._curation is None else 1)

    def _fill(self) -> None:
        self._tell_empty()
        curation = self._curation
        if curation is None:
            self.set_subtitle("")
            self._enable()
            return
        items = list(curation.choice.items)
        matched = self._matched
        if self.filter.query and matched is not None and len(matched) == len(items):
            shown = [item for item, on in zip(items, matched, strict=True) if on]
        else:
            shown = items
        self._show(shown)
        totals = Totals.of(curation.choice, curation.episodes.episodes)
        self.totals.said.setText(totals.text)
        self.totals.more.setText(totals.more)
        self.totals.button.setEnabled(totals.kept > 0)
        self.set_subtitle(counted(len(items), "episode"))
        if self.filter.query and not self._due.isActive():
            self._due.start(QUERY_MS)  # verdicts and tags can be asked, too
        self._enable()

    def _show(self, items: list[Item]) -> None:
        """Show items; what was chosen stays so, or its place does."""
        chosen = {item.id for item in self.table.chosen()}
        at = self.table.currentIndex().row()
        self._choosing = True
        if self.model.show_items(items, self._curation):
            selection = self.table.selectionModel()
            rows = [row for row, item in enumerate(items) if item.id in chosen]
            if not rows and at >= 0 and items:
                rows = [min(at, len(items) - 1)]
            if rows:
                index = self.model.index(rows[0], 0)
                selection.setCurrentIndex(
                    index, QItemSelectionModel.SelectionFlag.NoUpdate
                )
                self.table.scrollTo(index)
                self.table.select_rows(rows)
            self.table.fit_columns()
        self._choosing = False
        self.filling.look_anew()

    def _enable(self, *_: object) -> None:
        workspace = self.editing.workspace
        self.undo_tool.setEnabled(workspace is not None and workspace.can_undo)
        self.redo_tool.setEnabled(workspace is not None and workspace.can_redo)
        self.bar.enable(self.table.selectionModel().hasSelection())

    # -- the query ---------------------------------------------------------------------

    def _query_changed(self, _text: str) -> None:
        self._due.start(QUERY_MS)

    def _ask_query(self) -> None:
        curation, query = self._curation, self.filter.query
        if curation is None or not query:
            self._matched = None
            self.filter.tell("", "")
            self._fill()
            return
        choice = curation.choice
        episodes, touches = curation.episodes, curation.touches

        def work() -> BoolArray:
            return matching(query, columns(episodes, choice, touches, query))

        def found(matched: BoolArray) -> None:
            self._matched = matched
            self.filter.tell(f"{int(matched.sum()):,} match", "")
            items = list(choice.items)
            self._show([i for i, on in zip(items, matched, strict=True) if on])

        self.background.ask(
            "query", work, found, lambda error: self.filter.tell("", error)
        )

    # -- commands ----------------------------------------------------------------------

    def judge_matches(self, verdict: str) -> None:
        """Accept or reject all that the query matches."""
        if self._due.isActive():  # what is listed isn't what is asked yet
            return
        ids = tuple(item.id for item in self.model.items)
        why = f"where {self.filter.query}"
        if ids and verdict in ("accepted", "rejected"):
            self.editing.make(Judge(ids, verdict, why))  # type: ignore[arg-type]
            if self.filter.line.hasFocus():
                self.table.setFocus()  # Ctrl+Z takes this back, and no letter

    def ask_tag(self) -> None:
        """Ask for a tag of the chosen episodes."""
        chosen = self.table.chosen()
        if chosen:
            what = chosen[0].id if len(chosen) == 1 else f"{len(chosen):,} episodes"
            self.tags.ask(f"Tag {what}:")

    def tag(self, tag: str) -> None:
        """Give the chosen episodes a tag; take it away if all have it."""
        self.editing.tag(self.table.chosen(), tag)

    def trim(self) -> None:
        """Keep of the current episode what the selected range covers."""
        chosen, curation = self.table.chosen(), self._curation
        if curation is not None and self._one(chosen, "trim"):
            self.editing.trim(chosen[0], curation.places, self.range_of())

    def split(self) -> None:
        """Split the current episode at the playhead."""
        chosen, curation = self.table.chosen(), self._curation
        if curation is not None and self._one(chosen, "split"):
            row = self.session.clock.row
            self.editing.split(chosen[0], curation.places, row)

    def _one(self, chosen: list[Item], what: str) -> bool:
        if len(chosen) == 1:
            return True
        self.session.say("warning", f"Choose one episode to {what}.")
        return False

    def undo(self) -> None:
        """Take the last edit back."""
        self.editing.undo()

    def redo(self) -> None:
        """Make it again."""
        self.editing.redo()

    def _ask_transitions(self) -> None:
        if self._document is not None:
            self.transitions_asked.emit(self._document)

    # -- choosing ----------------------------------------------------------------------

    def choose(self, id: str) -> bool:
        """Choose an episode by its id, and go there; whether it is listed."""
        found = [row for row, item in enumerate(self.model.items) if item.id == id]
        if found:
            self.table.selectRow(found[0])
        return bool(found)

    def _to_table(self) -> None:
        self.table.setFocus()
        if not self.table.currentIndex().isValid() and self.model.items:
            self.table.selectRow(0)

    def _moved(self, index: QModelIndex, _before: QModelIndex) -> None:
        # A row that is only the current one was given the focus: nobody chose it.
        chosen = self.table.selectionModel().isRowSelected(index.row())
        if not self._choosing and index.isValid() and chosen:
            self._go(index)

    def _go(self, index: QModelIndex) -> None:
        """Show an episode: look at its environment, at its first control step."""
        document, curation = self._document, self._curation
        if document is None or curation is None or not index.isValid():
            return
        item = self.model.items[index.row()]
        env = curation.episodes.episodes[item.source].env
        rows = rows_of(curation.places, item)
        if rows is None:
            return
        self.session.clock.pause()
        if env is not None and env in document.shown_envs and document.focus != env:
            self.session.focus(env)
        self.session.clock.seek(rows[0])

    def _loop_range(self) -> tuple[int, int] | None:
        state = self.session.clock.state
        if state.loop_in is None and state.loop_out is None:
            return None
        low = 0 if state.loop_in is None else state.loop_in
        high = state.rows - 1 if state.loop_out is None else state.loop_out
        return low, high

    # -- a panel's ---------------------------------------------------------------------

    def settled(self) -> bool:
        """Whether all that is listed is known."""
        if not self.isVisible() or self.visibleRegion().isEmpty():
            return True
        return not (self._due.isActive() or self.background.busy)

    def apply_theme(self) -> None:
        """Take the theme's colours."""
        t = self.tokens
        dress(
            self,
            t,
            f"QTableView {{ background: {t.panel}; border: 1px solid transparent;"
            f" border-top-color: {t.border}; border-bottom-color: {t.border}; }}"
            f"QTableView:focus {{ border: 1px solid {t.accent}; }}"
            f"#curate-error {{ color: {t.error}; }}",
        )
        self.table.set_look(t)

    def release(self) -> None:
        """Ask no more."""
        self._due.stop()
        super().release()
        self.background.close()
