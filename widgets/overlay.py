"""A card over the window that a click beside it or Escape puts away. Not modal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QColor, QKeySequence, QPainter, QShortcut
from PySide6.QtWidgets import QApplication, QFrame, QVBoxLayout, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QMouseEvent, QPaintEvent

SCRIM = QColor(0, 0, 0, 96)
MARGIN_PX = 24


class Overlay(QWidget):
    """Covers its parent, dims it, and holds one card.

    Parameters
    ----------
    parent
        What is covered; the overlay follows its size.
    width
        The card's width in pixels, less where the window is narrow.
    top
        Its distance from the upper edge; None puts it into the middle.
    """

    closed = Signal()

    def __init__(self, parent: QWidget, width: int, top: int | None = None) -> None:
        super().__init__(parent)
        self._covered = parent
        self._wanted_width, self._top = width, top
        self._focus_before: QWidget | None = None
        self.card = QFrame(self)
        self.card.setObjectName("card")
        self.body = QVBoxLayout(self.card)
        self.body.setContentsMargins(0, 0, 0, 0)
        self.body.setSpacing(0)
        escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), self)
        escape.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        escape.activated.connect(self.close_card)
        parent.installEventFilter(self)
        self.hide()

    def open_card(self) -> None:
        """Show it, above everything else in the window."""
        if not self.isVisible():
            self._focus_before = QApplication.focusWidget()
        self._place()
        self.show()
        self.raise_()
        self.setFocus()

    def close_card(self) -> None:
        """Put it away and give the focus back to who had it."""
        if not self.isVisible():
            return
        self.hide()
        before = self._focus_before
        self._focus_before = None
        if before is not None and before.isVisible():
            before.setFocus()
        self.closed.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Follow the size of what is covered."""
        if watched is self._covered and event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def _place(self) -> None:
        self.setGeometry(self._covered.rect())
        width = min(self._wanted_width, self.width() - 2 * MARGIN_PX)
        self.card.setFixedWidth(max(width, 0))
        room = self.height() - 2 * MARGIN_PX
        self.card.setMaximumHeight(room if self._top is None else room - self._top)
        self.card.adjustSize()
        left = (self.width() - self.card.width()) // 2
        middle = (self.height() - self.card.height()) // 2
        self.card.move(left, middle if self._top is None else self._top)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """A click beside the card puts it away."""
        if not self.card.geometry().contains(event.position().toPoint()):
            self.close_card()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Dim what is below."""
        QPainter(self).fillRect(self.rect(), SCRIM)
