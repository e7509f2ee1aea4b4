"""A small card to name a bookmark and to note something with it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from isoscope.widgets.overlay import Overlay
from isoscope.widgets.session import Bookmark


class BookmarkCard(Overlay):
    """Changes one bookmark, which exists already; Escape leaves it as it is."""

    saved = Signal(object, object)  # the bookmark before, and after
    removed = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, 440, 96)
        self._mark: Bookmark | None = None
        self._title = QLabel()
        self._title.setObjectName("card_title")
        self.name, self.note = QLineEdit(), QPlainTextEdit()
        self.name.setPlaceholderText("Name")
        self.name.returnPressed.connect(self._save)
        self.note.setPlaceholderText("Note")
        self.note.setFixedHeight(4 * self.note.fontMetrics().lineSpacing())
        self.note.setTabChangesFocus(True)
        keep, remove = QPushButton("Save"), QPushButton("Remove")
        keep.setObjectName("primary")
        keep.clicked.connect(self._save)
        remove.clicked.connect(self._remove)
        enter = QShortcut(QKeySequence("Ctrl+Return"), self)
        enter.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        enter.activated.connect(self._save)
        buttons = QHBoxLayout()
        buttons.addWidget(remove)
        buttons.addStretch()
        buttons.addWidget(keep)
        inside = QVBoxLayout()
        inside.setContentsMargins(18, 14, 18, 16)
        inside.setSpacing(9)
        for widget in (self._title, self.name, self.note):
            inside.addWidget(widget)
        inside.addLayout(buttons)
        self.body.addLayout(inside)

    def edit(self, mark: Bookmark) -> None:
        """Open the card on this bookmark."""
        self._mark = mark
        self._title.setText(f"Bookmark at native step {mark.row:,}")
        self.name.setText(mark.name)
        self.note.setPlainText(mark.note)
        self.open_card()
        self.name.setFocus()
        self.name.selectAll()

    def _save(self) -> None:
        old = self._mark
        self.close_card()
        if old is not None:
            name = " ".join(self.name.text().split()) or old.name
            self.saved.emit(old, Bookmark(old.row, name, self.note.toPlainText()))

    def _remove(self) -> None:
        old = self._mark
        self.close_card()
        if old is not None:
            self.removed.emit(old)
