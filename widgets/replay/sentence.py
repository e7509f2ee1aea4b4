"""One sentence that can be clicked: where two runs part, and the way there."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QWidget

from isoscope.widgets.theme import DARK, Tokens

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent, QMouseEvent


class Sentence(QLabel):
    """Says what came out; a click, or Enter, asks to go to the place it is about."""

    asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("replay-sentence")
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.plain = ""
        self._leads = False
        self._t: Tokens = DARK

    def say(self, text: str, *, leads: bool = False, wrong: bool = False) -> None:
        """Say it; `leads` says whether there is a place to go to."""
        self.plain, self._leads, self._wrong = text, leads, wrong
        self.setVisible(bool(text))
        self.setAccessibleName(text)
        self.setToolTip("Go there (click, or Enter)" if leads else "")
        self.setCursor(
            Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor
        )
        self.setFocusPolicy(
            Qt.FocusPolicy.StrongFocus if leads else Qt.FocusPolicy.NoFocus
        )
        self._write()

    def set_look(self, t: Tokens) -> None:
        """Take a theme's colours."""
        self._t = t
        self._write()

    def _write(self) -> None:
        mark = (
            f"<span style='color:{self._t.error}'>▲</span> "
            if (self.plain and self._wrong)
            else ""
        )
        head, colon, rest = self.plain.partition(": ")
        if self._leads and colon:
            link = f"<span style='color:{self._t.accent}'>{escape(head)}</span>"
            self.setText(f"{mark}{link}: {escape(rest)}")
        else:
            self.setText(mark + escape(self.plain))

    _wrong = False

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Go there."""
        if self._leads and event.button() is Qt.MouseButton.LeftButton:
            self.asked.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Enter goes there, too."""
        if self._leads and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.asked.emit()
            return
        super().keyPressEvent(event)
