"""The Sources panel: wiring of the session's documents and their tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QStandardItem
from PySide6.QtWidgets import (
    QLabel,
    QMenu,
    QPushButton,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isoscope.widgets.look import dress
from isoscope.widgets.panel import Panel
from isoscope.widgets.session import Document, Phase
from isoscope.widgets.sources.menus import add_env_actions, add_twin_actions
from isoscope.widgets.sources.rows import Kind, Row, sections
from isoscope.widgets.sources.texts import tooltip
from isoscope.widgets.sources.tree import ROW, SourcesModel, SourcesTree, below
from isoscope.widgets.turns import InTurn

if TYPE_CHECKING:
    from isoscope.core.clock import ClockState
    from isoscope.widgets.session import Session

GROWTH_MS = 250
FOLLOW_MS = 100  # while a run is followed, places are written anew so often at most


class SourcesPanel(Panel):
    """The open recordings, with actors, problems, progress and a cancel that works.

    The window connects `open_requested`, `cancel_requested`, `close_requested` and
    `reopen_requested`; the last three give the document.
    """

    key: ClassVar[str] = "sources"
    title: ClassVar[str] = "Sources"
    open_requested = Signal()
    cancel_requested = Signal(object)
    close_requested = Signal(object)
    reopen_requested = Signal(object)
    twin_requested = Signal(object, object)  # a document, and its twin or None

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._shown: dict[int, tuple[Row, ...]] = {}  # rows below, by document's id
        self._cancels: dict[int, QToolButton] = {}
        self._filling = False
        self.model = SourcesModel(self)
        self.tree = SourcesTree(self.model)
        self.tree.clicked.connect(self._clicked)
        self.tree.activated.connect(self._clicked)
        self.tree.customContextMenuRequested.connect(self._context_menu)
        self.model.itemChanged.connect(self._item_changed)
        self._pages = QStackedLayout(self)
        self._pages.setContentsMargins(0, 0, 0, 0)
        self._pages.addWidget(self._make_empty())
        self._pages.addWidget(self.tree)
        self._growth = InTurn(self, self._fill_all)
        self._move = InTurn(self, self.tree.catch_up, FOLLOW_MS)
        self._checks = QTimer(self)  # many actors may be hidden at once
        self._checks.setSingleShot(True)
        self._checks.timeout.connect(self._update_checks)
        self.apply_theme()
        self.observe(session.added, self._added)
        self.observe(session.removed, self._removed)
        self.observe(session.active_changed, self._active_changed)
        self.observe(session.selection_changed, self._selection_changed)
        self.observe(session.focus_changed, self._focus_changed)
        self.observe(session.clock.changed, self._clock_changed)
        for document in session.documents:
            self._added(document)
        self._active_changed(session.active)

    def _make_empty(self) -> QWidget:
        page = QWidget()
        text = QLabel("Drop a recording here", alignment=Qt.AlignmentFlag.AlignCenter)
        or_ = QLabel("or", alignment=Qt.AlignmentFlag.AlignCenter)
        or_.setObjectName("dim")
        self.open_button = QPushButton("Open…")
        self.open_button.setToolTip("Open a recording (Ctrl+O)")
        self.open_button.clicked.connect(self.open_requested)
        layout = QVBoxLayout(page)
        layout.addStretch(1)
        for widget in (text, or_, self.open_button):
            layout.addWidget(widget, 0, Qt.AlignmentFlag.AlignCenter)
        layout.addStretch(2)
        return page

    def settled(self) -> bool:
        """Whether the tree shows what there is."""
        waiting = (self._growth, self._checks, self._move)
        return not any(one.isActive() for one in waiting)

    # -- documents -----------------------------------------------------------------

    def _added(self, document: Document) -> None:
        item = self.model.add_document(document)
        self.observe(document.phase_changed, self._phase_changed)
        self.observe(document.progress_changed, self._progressed)
        self.observe(document.hidden_changed, self._hidden_changed)
        self.observe(document.hidden_envs_changed, self._hidden_changed)
        self.observe(document.analysed, self._fill_all)
        self.observe(document.told_changed, self._told)
        self.observe(document.live_changed, self._told)
        self._fill(document, item)
        self.tree.expand(item.index())
        self._show_cancel(document)
        self._pages.setCurrentIndex(1)

    def _removed(self, document: Document) -> None:
        self.unobserve(document.phase_changed, self._phase_changed)
        self.unobserve(document.progress_changed, self._progressed)
        self.unobserve(document.hidden_changed, self._hidden_changed)
        self.unobserve(document.hidden_envs_changed, self._hidden_changed)
        self.unobserve(document.analysed, self._fill_all)
        self.unobserve(document.told_changed, self._told)
        self.unobserve(document.live_changed, self._told)
        item = self.model.item_of(document)
        if item is not None:
            self.model.removeRow(item.row())
        self._shown.pop(id(document), None)
        self._cancels.pop(id(document), None)
        self._pages.setCurrentIndex(1 if self.session.documents else 0)
        self._show_button_column()

    def _fill(self, document: Document, item: QStandardItem) -> None:
        """Bring what stands below a document up to date, if it differs."""
        rows = sections(document)
        item.setToolTip(tooltip(document))
        if self._shown.get(id(document)) == rows:
            return
        self._shown[id(document)] = rows
        folded = {
            child.data(ROW).text: not self.tree.isExpanded(child.index())
            for child in below(item)
        }
        self._filling = True
        self.model.fill(item, rows)
        self._filling = False
        self.tree.use_whole_width(item)
        for section in below(item):
            row: Row = section.data(ROW)
            opened = not folded.get(row.text, not row.opened)
            self.tree.setExpanded(section.index(), opened)
            for child in below(section):
                if child.data(ROW).opened:
                    self.tree.expand(child.index())

    def _fill_all(self) -> None:
        for document in self.session.documents:
            item = self.model.item_of(document)
            if item is not None:
                self._fill(document, item)
        self._selection_changed()
        self.tree.catch_up()

    def _phase_changed(self, document: Document) -> None:
        self._show_cancel(document)
        self._fill_all()

    def _progressed(self, _done: int, _total: int) -> None:
        if not self._growth.isActive():
            self._growth.start(GROWTH_MS)

    def _told(self) -> None:
        """Environments may have ended, the run may stand otherwise: shown soon."""
        if not self._growth.isActive():
            self._growth.start(GROWTH_MS)

    def _show_cancel(self, document: Document) -> None:
        """A button beside a document that is being indexed, and only then."""
        item, known = self.model.item_of(document), id(document) in self._cancels
        live = document.phase is Phase.LIVE
        wanted = live or document.phase is Phase.INDEXING
        if item is None or wanted == known:
            return
        place = item.index().siblingAtColumn(1)
        if wanted:
            button = QToolButton()
            button.setText("×")
            doing = "watching" if live else "indexing"
            stays = "came" if live else "is indexed"
            button.setToolTip(f"Stop {doing}; what {stays} can be used")
            button.setAccessibleName(f"Stop {doing} {document.name}")
            button.clicked.connect(lambda: self.cancel_requested.emit(document))
            button.setProperty("flat", True)
            holder = QWidget()
            layout = QVBoxLayout(holder)
            layout.setContentsMargins(0, 0, 4, 0)
            layout.addWidget(button, 0, Qt.AlignmentFlag.AlignCenter)
            self.tree.setIndexWidget(place, holder)
            self._cancels[id(document)] = button
        else:
            del self._cancels[id(document)]
            self.tree.setIndexWidget(place, None)  # type: ignore[arg-type]  # None removes it
        self._show_button_column()

    def _show_button_column(self) -> None:
        self.tree.setColumnHidden(1, not self._cancels)

    def cancel_button(self, document: Document) -> QToolButton | None:
        """The button that stops a document's indexing; None if there is none."""
        return self._cancels.get(id(document))

    def show_problems(self, document: Document) -> bool:
        """Unfold the list of a document's problems; whether there is one."""
        item = self.model.item_of(document)
        for section in [] if item is None else below(item):
            problems = below(section)
            if problems and problems[0].data(ROW).kind is Kind.PROBLEM:
                self.tree.expand(section.index())
                self.tree.setCurrentIndex(problems[0].index())
                self.tree.scrollTo(section.index(), self.tree.ScrollHint.PositionAtTop)
                self.tree.setFocus()
                return True
        return False

    # -- choosing ------------------------------------------------------------------

    def _clicked(self, index: QModelIndex) -> None:
        found = self.tree.item_at(index)
        if found is None:
            return
        row, document = found
        self.session.activate(document)
        if row.actor is not None:
            self.session.select(row.actor)
        if row.kind in (Kind.SCENE, Kind.ENVIRONMENT):
            self.session.focus(row.env)
        if row.event is not None:
            events = document.recording.steps.event
            at = int(np.searchsorted(events, row.event))
            if at < len(events):
                self.session.clock.seek(at)

    def _active_changed(self, document: Document | None) -> None:
        self.tree.rows.active = document
        self.tree.rows.cursor = self.session.clock.row
        self.tree.viewport().update()
        current = self.tree.item_at(self.tree.currentIndex())
        if current is None or current[1] is not document:
            self.tree.setCurrentIndex(QModelIndex())  # that was in another one
        self._selection_changed()

    def _clock_changed(self, new: ClockState, old: ClockState) -> None:
        document = self.session.active
        if new.row != old.row and document is not None:
            self.tree.rows.cursor = new.row
            if not (new.follow and document.phase is Phase.LIVE):
                self.tree.catch_up()
            elif not self._move.isActive():
                self._move.start()

    def _focus_changed(self) -> None:
        """Choose the row of the environment that is looked at."""
        document = self.session.active
        item = None if document is None else self.model.item_of(document)
        if document is not None and item is not None:
            row = _find_env(item, document.focus)
            if row is not None:
                self.tree.setCurrentIndex(row.index())
        self.tree.viewport().update()

    def _selection_changed(self) -> None:
        document = self.session.active
        item = None if document is None else self.model.item_of(document)
        if document is None or item is None:
            return
        actor = document.selection.actor
        wanted = item if actor is None else _find(item, actor) or item
        if actor is None and self.tree.currentIndex().isValid():
            return  # nothing is chosen: leave the keyboard where it is
        self.tree.selectionModel().setCurrentIndex(
            wanted.index(),
            QItemSelectionModel.SelectionFlag.ClearAndSelect
            | QItemSelectionModel.SelectionFlag.Rows,
        )
        if actor is not None:
            self.tree.scrollTo(wanted.index())

    def _item_changed(self, item: QStandardItem) -> None:
        """Take a click on a check box over; an articulation takes its links along."""
        found = self.tree.item_at(item.index())
        if self._filling or found is None:
            return
        row, document = found
        if row.env is not None:
            off = item.checkState() is Qt.CheckState.Unchecked
            change = set.union if off else set.difference
            document.set_hidden_envs(change(document.hidden_envs, {row.env}))
        if row.actor is None:
            return
        hidden = item.checkState() is Qt.CheckState.Unchecked
        if item.checkState() is Qt.CheckState.PartiallyChecked:
            return
        chosen = {row.actor, *(link.actor for link in row.children)}
        _draw(document, chosen, not hidden)

    def _hidden_changed(self) -> None:
        if not self._checks.isActive():
            self._checks.start(0)

    def _update_checks(self) -> None:
        self._filling = True
        for at in range(self.model.rowCount()):
            self.model.update_checks(self.model.item(at))
        self._filling = False
        self.tree.viewport().update()

    # -- the menu ------------------------------------------------------------------

    def _context_menu(self, at: QPoint) -> None:
        found = self.tree.item_at(self.tree.indexAt(at))
        if found is None:
            return
        menu = self.menu_for(*found)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.tree.viewport().mapToGlobal(at))

    def menu_for(self, row: Row, document: Document) -> QMenu:
        """What can be done with a row."""
        menu = QMenu(self)
        if row.actor is not None:
            chosen = {row.actor, *(link.actor for link in row.children)}
            drawn = menu.addAction("Draw this")
            drawn.setCheckable(True)
            drawn.setChecked(row.actor not in document.hidden)
            drawn.toggled.connect(lambda on: _draw(document, chosen, on))
            menu.addAction("Draw only this", lambda: _draw_only(document, chosen))
            menu.addAction("Draw all", lambda: _draw_only(document, None))
            menu.addSeparator()
        if row.env is not None:
            add_env_actions(menu, row.env, document, self.session)
        if row.kind is Kind.PROBLEM:
            text = row.tip
            menu.addAction("Copy", lambda: QGuiApplication.clipboard().setText(text))
            menu.addSeparator()
        if document is not self.session.active:
            menu.addAction("Look at this one", lambda: self.session.activate(document))
        add_twin_actions(menu, document, self.session.active, self.twin_requested.emit)
        live = document.phase is Phase.LIVE
        if live or document.phase is Phase.INDEXING:
            menu.addAction(
                "Stop watching" if live else "Stop indexing",
                lambda: self.cancel_requested.emit(document),
            )
        if document.live is None:  # a run's mirror goes with its document
            menu.addAction("Open again", lambda: self.reopen_requested.emit(document))
        path = document.recording.path
        if path is not None:
            menu.addAction(
                "Copy the path", lambda: QGuiApplication.clipboard().setText(str(path))
            )
        menu.addAction("Close", lambda: self.close_requested.emit(document))
        return menu

    def apply_theme(self) -> None:
        """Take the theme's colours."""
        t = self.tokens
        dress(self, t, "QTreeView QToolButton { padding: 0px 4px; }")
        self.tree.set_look(t)

    def release(self) -> None:
        """Stop the timers too."""
        self._growth.stop()
        self._move.stop()
        self._checks.stop()
        super().release()


def _find(item: QStandardItem, actor: int) -> QStandardItem | None:
    for child in below(item):
        if child.data(ROW).actor == actor:
            return child
        found = _find(child, actor)
        if found is not None:
            return found
    return None


def _find_env(item: QStandardItem, env: int | None) -> QStandardItem | None:
    """The row of an environment; for None, that of the scene."""
    for scene in below(item):
        if scene.data(ROW).kind is not Kind.SCENE:
            continue
        if env is None:
            return scene
        return next((row for row in below(scene) if row.data(ROW).env == env), None)
    return None


def _draw(document: Document, chosen: set[int | None], drawn: bool) -> None:
    for actor in chosen:
        if actor is not None:
            document.set_hidden(actor, not drawn)


def _draw_only(document: Document, chosen: set[int | None] | None) -> None:
    for actor in document.recording.actors:
        document.set_hidden(
            actor.index, chosen is not None and actor.index not in chosen
        )
