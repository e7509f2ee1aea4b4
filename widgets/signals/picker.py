"""A small window to choose a field in: type to search, Enter or a click to plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractItemModel, QEvent, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHeaderView,
    QLabel,
    QLineEdit,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from isoscope.widgets.look import dress
from isoscope.widgets.session import FieldRef
from isoscope.widgets.signals.choices import Choice, matching

if TYPE_CHECKING:
    from PySide6.QtCore import QPersistentModelIndex, QPoint

    from isoscope.widgets.theme import Tokens

    AnyIndex = QModelIndex | QPersistentModelIndex

WIDTH_PX, HEIGHT_PX = 340, 380
_KEYS_OF_TREE = (
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_PageUp,
    Qt.Key.Key_PageDown,
)


class ChoiceModel(QAbstractItemModel):
    """The tree of choices: what, and its unit or type."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._dim = QColor("#808080")
        self._choices: list[Choice] = []
        self._parents: list[int] = []
        self._rows: list[int] = []
        self._children: list[list[int]] = []
        self._top: list[int] = []

    def set_choices(self, choices: tuple[Choice, ...], dim: QColor) -> None:
        """Show another tree."""
        self.beginResetModel()
        self._dim = dim
        self._choices, self._parents, self._rows, self._children = [], [], [], []
        self._top = [self._take(c, -1, row) for row, c in enumerate(choices)]
        self.endResetModel()

    def _take(self, choice: Choice, parent: int, row: int) -> int:
        at = len(self._choices)
        self._choices.append(choice)
        self._parents.append(parent)
        self._rows.append(row)
        self._children.append([])
        self._children[at] = [
            self._take(c, at, i) for i, c in enumerate(choice.children)
        ]
        return at

    def choice(self, index: AnyIndex) -> Choice | None:
        """What an index stands for."""
        return self._choices[index.internalId()] if index.isValid() else None

    def _below(self, parent: AnyIndex) -> list[int]:
        return self._children[parent.internalId()] if parent.isValid() else self._top

    def rowCount(self, parent: AnyIndex = QModelIndex()) -> int:  # noqa: B008, N802
        """Rows below an index."""
        return 0 if parent.column() > 0 else len(self._below(parent))

    def columnCount(self, parent: AnyIndex = QModelIndex()) -> int:  # noqa: B008, N802
        """The name, and what it is."""
        return 2

    def index(
        self,
        row: int,
        column: int,
        parent: AnyIndex = QModelIndex(),  # noqa: B008
    ) -> QModelIndex:
        """The index of a row below another."""
        below = self._below(parent)
        if not 0 <= row < len(below):
            return QModelIndex()
        return self.createIndex(row, column, below[row])

    def parent(self, index: AnyIndex = QModelIndex()) -> Any:  # noqa: B008
        """The index above."""
        if not index.isValid():
            return QModelIndex()
        above = self._parents[index.internalId()]
        return (
            QModelIndex()
            if above < 0
            else self.createIndex(self._rows[above], 0, above)
        )

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Text and colour."""
        choice = self.choice(index)
        if choice is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return choice.detail if index.column() else choice.label
        if role == Qt.ItemDataRole.ForegroundRole and index.column():
            return self._dim
        return None


class FieldPicker(QFrame):
    """The window: a search box above the tree of actors, fields and components."""

    chosen = Signal(object)  # a FieldRef

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("field_picker")
        self._all: tuple[Choice, ...] = ()
        self._dim = QColor("#808080")
        self.search = QLineEdit(placeholderText="Find an actor, field or component")
        self.search.setAccessibleName("Find a field to plot")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._filter)
        self.search.installEventFilter(self)
        self.model = ChoiceModel(self)
        self.tree = QTreeView()
        self.tree.setModel(self.model)
        self.tree.setHeaderHidden(True)
        self.tree.setUniformRowHeights(True)
        self.tree.setIndentation(14)
        self.tree.setAccessibleName("Fields that can be plotted")
        self.tree.header().setStretchLastSection(False)
        self.tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.tree.header().setSectionResizeMode(
            1, QHeaderView.ResizeMode.ResizeToContents
        )
        self.tree.clicked.connect(self._clicked)
        self.tree.activated.connect(self._choose)
        self.hint = QLabel("Enter plots it · a field takes all its components")
        self.hint.setObjectName("dim")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(6)
        for widget in (self.search, self.tree, self.hint):
            layout.addWidget(widget)
        self.resize(WIDTH_PX, HEIGHT_PX)

    def set_theme(self, t: Tokens) -> None:
        """Take the theme's colours."""
        self._dim = QColor(t.dim)
        frame = f"background: {t.panel}; border: 1px solid {t.border};"
        dress(self, t, f"#field_picker {{ {frame} }}")

    def open_at(self, where: QPoint, choices: tuple[Choice, ...], near: str) -> None:
        """Show it with its right top corner there; `near` is an actor to unfold."""
        self._all = choices
        self.search.clear()
        self._filter("")
        for row in range(self.model.rowCount()):
            index = self.model.index(row, 0)
            found = self.model.choice(index)
            wanted = row == 0 if not near else found is not None and found.label == near
            if wanted or len(choices) <= 3:
                self.tree.expand(index)
        screen = self.screen().availableGeometry()
        x = max(min(where.x() - self.width(), screen.right() - self.width()), 0)
        y = max(min(where.y(), screen.bottom() - self.height()), 0)
        self.move(x, y)
        self.show()
        self.search.setFocus()

    def _filter(self, text: str) -> None:
        found = matching(self._all, text)
        self.model.set_choices(found, self._dim)
        self.hint.setText(
            "Enter plots it · a field takes all its components"
            if found
            else "Nothing here is called that"
        )
        if text.strip():
            self.tree.expandAll()
            self.tree.setCurrentIndex(self._first_choice())

    def _first_choice(self) -> QModelIndex:
        index = self.model.index(0, 0)
        while index.isValid():
            found = self.model.choice(index)
            if found is None or found.ref is not None:
                break
            index = self.model.index(0, 0, index)
        return index

    def _clicked(self, index: QModelIndex) -> None:
        found = self.model.choice(index)
        if found is not None and found.ref is None:
            first = index.siblingAtColumn(0)
            self.tree.setExpanded(first, not self.tree.isExpanded(first))
        else:
            self._choose(index)

    def _choose(self, index: QModelIndex) -> None:
        found = self.model.choice(index)
        if found is not None and isinstance(found.ref, FieldRef) and self.isVisible():
            self.hide()
            self.chosen.emit(found.ref)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Let the arrows move in the tree, and Enter choose, from the search box."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in _KEYS_OF_TREE:
                self.tree.keyPressEvent(event)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._choose(self.tree.currentIndex())
                return True
            if event.key() == Qt.Key.Key_Escape:
                self.hide()
                return True
        return super().eventFilter(watched, event)
