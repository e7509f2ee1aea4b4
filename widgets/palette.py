"""The command palette: type a few letters, press Enter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from isoscope.widgets.fuzzy import best
from isoscope.widgets.overlay import Overlay

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.widgets.theme import Tokens

SHOWN_AT_MOST = 60
ROWS_AT_ONCE = 12
AnyIndex = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that the palette offers.

    Attributes
    ----------
    title
        What is matched and shown.
    kind
        What sort of thing it is: ``"command"``, ``"actor"``, …
    run
        Called when it is chosen; None shows it without offering it.
    keys
        The key that does the same, if there is one.
    detail
        More, shown dim.
    """

    title: str
    kind: str
    run: Callable[[], Any] | None
    keys: str = ""
    detail: str = ""


class _Model(QAbstractListModel):
    def __init__(self) -> None:
        super().__init__()
        self.entries: list[Entry] = []

    def show_entries(self, entries: list[Entry]) -> None:
        self.beginResetModel()
        self.entries = entries
        self.endResetModel()

    def rowCount(self, parent: AnyIndex | None = None) -> int:  # noqa: N802
        return 0 if parent is not None and parent.isValid() else len(self.entries)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return self.entries[index.row()].title
        return None


class _Painter(QStyledItemDelegate):
    """Title and detail at the left, kind and keys at the right."""

    def __init__(self, model: _Model, tokens: Tokens) -> None:
        super().__init__()
        self.model, self.tokens = model, tokens

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:  # noqa: N802
        return QSize(100, option.fontMetrics.height() + 12)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex
    ) -> None:
        entry, tokens = self.model.entries[index.row()], self.tokens
        rect: QRect = option.rect
        state = option.state
        painter.save()
        if state & QStyle.StateFlag.State_Selected:
            chosen = QColor(tokens.accent)
            chosen.setAlpha(52)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(chosen)
            painter.drawRoundedRect(rect.adjusted(6, 1, -6, -1), 4, 4)
        inside = rect.adjusted(16, 0, -16, 0)
        middle = Qt.AlignmentFlag.AlignVCenter
        metrics = painter.fontMetrics()
        right = "   ".join(part for part in (entry.keys, entry.kind) if part)
        painter.setPen(QColor(tokens.dim))
        painter.drawText(inside, middle | Qt.AlignmentFlag.AlignRight, right)
        room = inside.width() - metrics.horizontalAdvance(right) - 16
        title = metrics.elidedText(entry.title, Qt.TextElideMode.ElideMiddle, room)
        painter.setPen(QColor(tokens.text if entry.run else tokens.dim))
        painter.drawText(inside, middle, title)
        used = metrics.horizontalAdvance(title) + 12
        if entry.detail and room - used > 40:
            detail = metrics.elidedText(
                entry.detail, Qt.TextElideMode.ElideRight, room - used
            )
            painter.setPen(QColor(tokens.dim))
            painter.drawText(inside.adjusted(used, 0, 0, 0), middle, detail)
        painter.restore()


class Palette(Overlay):
    """A line to type into and a list of what matches."""

    def __init__(self, parent: QWidget, tokens: Tokens) -> None:
        super().__init__(parent, 640, 56)
        self._entries: Sequence[Entry] = ()
        self._typed: Callable[[str], list[Entry]] = lambda _text: []
        self.line = QLineEdit()
        self.line.setObjectName("palette_line")
        self.line.textChanged.connect(self._match)
        self.line.installEventFilter(self)
        self.list = QListView()
        self.list.setObjectName("palette_list")
        self.list.setUniformItemSizes(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setMouseTracking(True)
        self.list.clicked.connect(self._run)
        self._model = _Model()
        self.list.setModel(self._model)
        self._painter = _Painter(self._model, tokens)
        self.list.setItemDelegate(self._painter)
        self._note = QLabel()
        self._note.setObjectName("palette_note")
        self.body.addWidget(self.line)
        self.body.addWidget(self.list)
        self.body.addWidget(self._note)

    def apply_theme(self, tokens: Tokens) -> None:
        """Take these colours."""
        self._painter.tokens = tokens
        self.list.viewport().update()

    @property
    def shown(self) -> list[Entry]:
        """What is in the list now, best first."""
        return self._model.entries

    def ask(
        self,
        entries: Sequence[Entry],
        placeholder: str,
        typed: Callable[[str], list[Entry]] | None = None,
        note: str = "",
    ) -> None:
        """Open it.

        Parameters
        ----------
        entries
            What can be found.
        placeholder
            Shown while nothing is typed.
        typed
            Makes entries from the text itself, such as a position; they come first.
        note
            A line below the list.
        """
        self._entries = entries
        self._titles = [
            f"{e.title} {e.kind} {e.detail}" if e.detail else f"{e.title} {e.kind}"
            for e in entries
        ]
        self._names = [e.title for e in entries]
        self._typed = typed or (lambda _text: [])
        self._note.setText(note)
        self._note.setVisible(bool(note))
        self.line.setPlaceholderText(placeholder)
        self.line.clear()
        self._match("")
        self.open_card()
        self.line.setFocus()

    def _match(self, text: str) -> None:
        found = self._typed(text) if text.strip() else []
        places = best(text, self._titles, SHOWN_AT_MOST, self._names)
        found += [self._entries[at] for at in places]
        if not found:
            found = [Entry("Nothing found", "", None)]
        self._model.show_entries(found)
        self.list.setCurrentIndex(self._model.index(0, 0))
        rows = min(len(found), ROWS_AT_ONCE)
        self.list.setFixedHeight(rows * self.list.sizeHintForRow(0) + 12)
        if self.isVisible():
            self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Arrows and Enter, typed into the line, act on the list."""
        if watched is self.line and isinstance(event, QKeyEvent):
            if event.type() != QEvent.Type.KeyPress:
                return False
            rows, at = len(self.shown), self.list.currentIndex().row()
            match event.key():
                case Qt.Key.Key_Down:
                    self._choose((at + 1) % rows)
                case Qt.Key.Key_Up:
                    self._choose((at - 1) % rows)
                case Qt.Key.Key_PageDown:
                    self._choose(min(at + ROWS_AT_ONCE, rows - 1))
                case Qt.Key.Key_PageUp:
                    self._choose(max(at - ROWS_AT_ONCE, 0))
                case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                    self._run(self.list.currentIndex())
                case _:
                    return False
            return True
        return super().eventFilter(watched, event)

    def _choose(self, row: int) -> None:
        self.list.setCurrentIndex(self._model.index(row, 0))

    def _run(self, index: AnyIndex) -> None:
        run = self.shown[index.row()].run if index.isValid() else None
        if run is None:
            return
        self.close_card()
        run()
