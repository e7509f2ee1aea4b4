"""What if: a branch at the cursor with edits, and the branches there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QListWidget,
    QMenu,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isoscope.core.errors import IsoscopeError
from isoscope.core.replay.branch.model import Edit, described
from isoscope.core.replay.branch.suggestions import parse_edit
from isoscope.widgets.look import scaled
from isoscope.widgets.replay.count import CountLine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoscope.core.replay.branch.model import Branch

NAME, AT, EDITS, OUTCOME = range(4)
HEADS = ("branch", "from", "edits", "what came of it")
MOST_SEEN = 4  # branches in the list; the others by scrolling
HOW = (
    "An edit: 30-34:control*=1.5 (actions of control steps), gravity=0,-9.81,0 "
    "(configuration), CartPole.pose=0,0.1 (state); ▾ lists what there is here"
)


class BranchForm(QWidget):
    """Makes branches and lists them.

    Tells `made` (edits and control steps, None for to the end), and of a branch's id
    `run_asked`, `removed`, `export_asked`; `renamed` with the name; `refused` why an
    edit is none.
    """

    made = Signal(object, object)
    run_asked = Signal(str)
    removed = Signal(str)
    renamed = Signal(str, str)
    export_asked = Signal(str)
    refused = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        # What edits there could be at the cursor, by kind; asked when the menu opens.
        self.suggest: Callable[[], Mapping[str, list[str]]] = dict
        self._edits: list[Edit] = []
        self._branches: tuple[Branch, ...] = ()
        self._filling = False
        self.place = QLabel()
        self.place.setObjectName("dim")
        self.line = QLineEdit()
        self.line.setPlaceholderText("edit: 30-34:control*=1.5, gravity=0,-9.81,0 …")
        self.line.setToolTip(HOW)
        self.line.setAccessibleName("An edit of the branch")
        self.menu_button = QToolButton()
        self.menu_button.setText("▾")
        self.menu_button.setToolTip("What can be edited here, with its recorded value")
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu = QMenu(self.menu_button)
        self.menu.aboutToShow.connect(self._fill_menu)
        self.menu_button.setMenu(self.menu)
        self.add = QPushButton("Add edit")
        self.edits = QListWidget()
        self.edits.setObjectName("replay-edits")
        self.edits.setToolTip("The edits of the next branch; Delete takes one away")
        self.steps = CountLine("to the end")
        self.steps.setToolTip("Control steps to go, also past the recorded end")
        self.here = QPushButton("Branch here")
        self.here.setObjectName("primary")
        self.here.setToolTip(
            "Go on from the cursor's control step with these edits; the recording "
            "itself is never changed"
        )
        self._make_table()
        self._lay_out()
        self.line.returnPressed.connect(self.add_edit)
        self.add.clicked.connect(self.add_edit)
        self.here.clicked.connect(self._make)

    def _make_table(self) -> None:
        self.table = QTableWidget(0, len(HEADS))
        self.table.setObjectName("replay-branches")
        self.table.setHorizontalHeaderLabels(HEADS)
        self.table.verticalHeader().hide()
        self.table.setShowGrid(False)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        head = self.table.horizontalHeader()
        head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        for column in (EDITS, OUTCOME):  # elided; the tooltip has all of it
            head.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        head.setDefaultAlignment(
            Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        )
        self.run, self.rename = QPushButton("Run"), QPushButton("Rename")
        self.remove, self.export = QPushButton("Remove"), QPushButton("Export…")
        self.export.setToolTip("Write it as a labelled recording of its own")
        self.run.clicked.connect(lambda: self._of_chosen(self.run_asked))
        self.remove.clicked.connect(lambda: self._of_chosen(self.removed))
        self.export.clicked.connect(lambda: self._of_chosen(self.export_asked))
        self.rename.clicked.connect(self._edit_name)
        self.table.itemChanged.connect(self._item_changed)
        self.table.cellDoubleClicked.connect(lambda *_: self._of_chosen(self.run_asked))
        self.table.itemSelectionChanged.connect(self._show_buttons)

    def _lay_out(self) -> None:
        edit = QHBoxLayout()
        edit.setSpacing(4)
        edit.addWidget(self.line, 1)
        edit.addWidget(self.menu_button)
        edit.addWidget(self.add)
        make = QHBoxLayout()
        make.setSpacing(6)
        make.addWidget(self.place, 1)
        steps = QLabel("steps")
        steps.setObjectName("dim")
        make.addWidget(steps)
        make.addWidget(self.steps)
        make.addWidget(self.here)
        buttons = QHBoxLayout()
        buttons.setSpacing(6)
        for button in (self.run, self.rename, self.export, self.remove):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            buttons.addWidget(button)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(edit)
        column.addWidget(self.edits)
        column.addLayout(make)
        column.addWidget(self.table)
        column.addLayout(buttons)
        self._show_edits()
        self._show_buttons()

    # -- a new one ---------------------------------------------------------------------

    def show_place(self, text: str) -> None:
        """Say where a branch would begin now; empty where it can't."""
        self.place.setText(text or "the cursor is in no environment's control step")
        self.here.setEnabled(bool(text))

    def add_edit(self) -> None:
        """Take the edit in the line to the others."""
        text = self.line.text().strip()
        if not text:
            return
        try:
            edit = parse_edit(text)
        except IsoscopeError as error:
            self.refused.emit(str(error))
            return
        self._edits.append(edit)
        self.line.clear()
        self._show_edits()

    def remove_edit(self, at: int) -> None:
        """Take an edit away again."""
        if 0 <= at < len(self._edits):
            del self._edits[at]
            self._show_edits()

    def _show_edits(self) -> None:
        self.edits.clear()
        self.edits.addItems([described(edit) for edit in self._edits])
        lines = min(len(self._edits), 4)
        self.edits.setVisible(bool(lines))
        self.edits.setFixedHeight(lines * (self.fontMetrics().height() + 5) + 6)

    def keyPressEvent(self, event: object) -> None:  # noqa: N802
        """Delete takes the chosen edit away."""
        from PySide6.QtGui import QKeyEvent

        assert isinstance(event, QKeyEvent)
        deletes = event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace)
        if deletes and self.edits.hasFocus():
            self.remove_edit(self.edits.currentRow())
            return
        super().keyPressEvent(event)

    def _fill_menu(self) -> None:
        self.menu.clear()
        for kind, texts in self.suggest().items():
            below = self.menu.addMenu(kind)
            for text in texts:
                action = below.addAction(text)
                action.triggered.connect(lambda _=False, text=text: self._take(text))
        if self.menu.isEmpty():
            self.menu.addAction("Nothing here").setEnabled(False)

    def _take(self, text: str) -> None:
        self.line.setText(text)
        self.line.setFocus()
        at = text.rfind("=") + 1
        self.line.setSelection(at, len(text) - at)

    def _make(self) -> None:
        if self.line.text().strip():
            before = len(self._edits)
            self.add_edit()
            if len(self._edits) == before:
                return  # it was refused
        edits, self._edits = tuple(self._edits), []
        self._show_edits()
        self.made.emit(edits, self.steps.value())

    # -- those that there are ----------------------------------------------------------

    @property
    def chosen(self) -> Branch | None:
        """The branch that is chosen in the list."""
        at = self.table.currentRow()
        return self._branches[at] if 0 <= at < len(self._branches) else None

    def show_branches(
        self, branches: Sequence[Branch], outcomes: Mapping[str, str], shown: str
    ) -> None:
        """List these; `outcomes` says what came of those that were run, by id."""
        kept = shown or ("" if self.chosen is None else self.chosen.id)
        self._filling = True
        self._branches = tuple(branches)
        self.table.setRowCount(len(branches))
        self.table.verticalHeader().setDefaultSectionSize(
            self.fontMetrics().height() + 7
        )
        for at, one in enumerate(branches):
            texts = (
                one.name,
                f"env {one.env} · {one.episode}/{one.control_step}",
                "; ".join(described(edit) for edit in one.edits) or "none",
                outcomes.get(one.id, "not run yet"),
            )
            for column, text in enumerate(texts):
                item = QTableWidgetItem(text)
                flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
                if column == NAME:
                    flags |= Qt.ItemFlag.ItemIsEditable
                item.setFlags(flags)
                item.setFont(scaled(self.font(), 0.92))
                item.setToolTip(text)
                self.table.setItem(at, column, item)
            if one.id == kept:
                self.table.setCurrentCell(at, NAME)
        each = self.table.verticalHeader().defaultSectionSize()
        lines = min(max(len(branches), 1), MOST_SEEN)
        head = self.table.horizontalHeader().sizeHint().height()
        self.table.setFixedHeight(head + lines * each + 4)
        self.table.setVisible(bool(branches))
        self._filling = False
        self._show_buttons()

    def _show_buttons(self) -> None:
        there = self.chosen is not None
        for button in (self.run, self.rename, self.export, self.remove):
            button.setVisible(bool(self._branches))
            button.setEnabled(there)

    def _edit_name(self) -> None:
        item = self.table.item(self.table.currentRow(), NAME)
        if item is not None:
            self.table.editItem(item)

    def _item_changed(self, item: QTableWidgetItem) -> None:
        if self._filling or item.column() != NAME:
            return
        one = self._branches[item.row()]
        if item.text() != one.name:
            self.renamed.emit(one.id, item.text())

    def _of_chosen(self, signal: object) -> None:
        if self.chosen is not None:
            signal.emit(self.chosen.id)  # type: ignore[attr-defined]  # a bound signal
