"""Messages as one line that can be unfolded; never a dialog, never a stack of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isoscope.widgets.elided import ElidedLabel
from isoscope.widgets.sentence_bar import SHAPES

if TYPE_CHECKING:
    from isoscope.widgets.session import Message

NOTE_FOR_MS = 6000
KEPT_AT_MOST = 50
DETAILS_LINES = 10
DETAILS_EDGE_PX = 12


class MessageBar(QFrame):
    """One message at a time, the newest first to be seen; the others a click away.

    Notes go by themselves; warnings and errors stay until they are dismissed.
    """

    shown = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("message_bar")
        self.messages: list[Message] = []
        self._counts: dict[Message, int] = {}
        self._at = 0
        self._mark, self._label = QLabel(), ElidedLabel()
        self._mark.setObjectName("message_mark")
        self._place = QLabel()
        self._place.setObjectName("dim")
        self._older = self._arrow("◂", "Older message", -1)
        self._newer = self._arrow("▸", "Newer message", 1)
        self.act = QPushButton()
        self.act.setObjectName("primary")
        self.act.clicked.connect(self._act)
        self._unfold = QPushButton("Details")
        self._unfold.setCheckable(True)
        self._unfold.toggled.connect(self._show_details)
        self._copy = QPushButton("Copy details")
        self._copy.clicked.connect(self.copy)
        self._dismiss = QPushButton("Dismiss")
        self._dismiss.clicked.connect(self.dismiss)
        self._details = QPlainTextEdit()
        self._details.setReadOnly(True)
        self._details.setObjectName("message_details")
        self._details.hide()
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self._mark)
        line.addWidget(self._label, 1)
        for part in (self._older, self._place, self._newer):
            line.addWidget(part)
        for button in (self.act, self._unfold, self._copy, self._dismiss):
            line.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(11, 5, 11, 5)
        layout.addLayout(line)
        layout.addWidget(self._details)
        self._going = QTimer(self)
        self._going.setSingleShot(True)
        self._going.timeout.connect(self._drop_notes)
        self.hide()

    def _arrow(self, text: str, tip: str, by: int) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setToolTip(tip)
        button.setAutoRaise(True)
        button.clicked.connect(lambda: self._turn(by))
        return button

    @property
    def current(self) -> Message | None:
        """The message that is shown."""
        return self.messages[self._at] if self.messages else None

    @property
    def text(self) -> str:
        """The line that is shown."""
        return self._label.text

    def show_message(self, message: Message) -> None:
        """Show a message; one that is there already only counts up."""
        if message in self._counts:
            self.messages.remove(message)
        self._counts[message] = self._counts.get(message, 0) + 1
        self.messages.append(message)
        for old in self.messages[:-KEPT_AT_MOST]:
            self._forget(old)
        # A note doesn't push away an error that nobody has read.
        seen = [m for m in self.messages if m.level != "note"]
        if message.level != "note" or not seen:
            self._at = len(self.messages) - 1
        self._going.start(NOTE_FOR_MS)
        self._refresh()
        self.shown.emit()

    def dismiss(self) -> None:
        """Put the shown message away."""
        message = self.current
        if message is not None:
            self._forget(message)
            self._refresh()

    def _act(self) -> None:
        message = self.current
        if message is not None and message.action is not None:
            self.dismiss()
            message.action[1]()

    def clear(self) -> None:
        """Put everything away."""
        self.messages.clear()
        self._counts.clear()
        self._refresh()

    def copy(self) -> None:
        """Put the message and its details onto the clipboard."""
        message = self.current
        if message is not None:
            both = [part for part in (message.text, message.details) if part]
            QGuiApplication.clipboard().setText("\n\n".join(both))

    def unfold(self, open_: bool = True) -> None:
        """Show what is below the line, or hide it."""
        self._unfold.setChecked(open_)

    def _forget(self, message: Message) -> None:
        self.messages.remove(message)
        del self._counts[message]

    def _drop_notes(self) -> None:
        current = self.current
        for note in [m for m in self.messages if m.level == "note"]:
            self._forget(note)
        if current in self.messages:
            self._at = self.messages.index(current)
        self._refresh()

    def _turn(self, by: int) -> None:
        self._at += by
        self._refresh()

    def _show_details(self, open_: bool) -> None:
        self._details.setVisible(open_)
        self._unfold.setText("Details ▴" if open_ else "Details ▾")

    def _refresh(self) -> None:
        self._at = min(max(self._at, 0), max(len(self.messages) - 1, 0))
        message = self.current
        self.setVisible(message is not None)
        if message is None:
            return
        count = self._counts[message]
        self._label.set_text(message.text, f"  ({count} times)" if count > 1 else "")
        self._mark.setText(SHAPES[message.level])
        for widget in (self, self._mark):
            widget.setProperty("tone", message.level)
            widget.style().unpolish(widget)
            widget.style().polish(widget)
        self.act.setVisible(message.action is not None)
        if message.action is not None:
            self.act.setText(message.action[0])
        several = len(self.messages) > 1
        for part in (self._older, self._place, self._newer):
            part.setVisible(several)
        self._place.setText(f"{self._at + 1} of {len(self.messages)}")
        self._older.setEnabled(self._at > 0)
        self._newer.setEnabled(self._at < len(self.messages) - 1)
        details = message.details or message.text
        self._details.setPlainText(details)
        lines = min(details.count("\n") + 2, DETAILS_LINES)
        spacing = self._details.fontMetrics().lineSpacing()
        self._details.setFixedHeight(lines * spacing + DETAILS_EDGE_PX)
        foldable = bool(message.details) or len(message.text) > 60
        self._unfold.setVisible(foldable)
        if not foldable:
            self._unfold.setChecked(False)
        self._copy.setVisible(message.level != "note")
        self._show_details(self._unfold.isChecked())
