"""What stands around the table of episodes: filter, edits, tag line, totals."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

EXAMPLE = "length > 50 and not findings and return > q25"
COLUMNS = (
    "length, return, env, episode, index, terminated, truncated, complete, findings, "
    "errors, warnings, notes, tainted, tags, accepted, rejected, native_first, "
    "native_last; "
    'q25 is the 25 % quantile, mean, median, min and max likewise; "good" in tags'
)


class FilterLine(QWidget):
    """The query, what is wrong with it, and what to do with what it matches."""

    asked = Signal(str)
    judged = Signal(str)  # "accepted" or "rejected": all that matches
    left = Signal()  # down into the table

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.line = QLineEdit()
        self.line.setPlaceholderText(f"Filter: {EXAMPLE}")
        self.line.setClearButtonEnabled(True)
        self.line.setAccessibleName("Filter episodes by a query")
        self.line.setToolTip(f"What can be asked: {COLUMNS}")
        self.line.textChanged.connect(self.asked)
        self.line.installEventFilter(self)
        self.matches = QLabel()
        self.matches.setObjectName("dim")
        self.reject = self._button("Reject what matches", "rejected")
        self.accept = self._button("Accept what matches", "accepted")
        self.error = QLabel()
        self.error.setObjectName("curate-error")
        self.error.setWordWrap(True)
        self.error.hide()
        line = QHBoxLayout()
        line.setSpacing(6)
        line.addWidget(self.line, 1)
        line.addWidget(self.matches)
        line.addWidget(self.reject)
        line.addWidget(self.accept)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 6, 8, 2)
        column.setSpacing(3)
        column.addLayout(line)
        column.addWidget(self.error)
        self.tell("", "")

    def _button(self, text: str, verdict: str) -> QPushButton:
        button = QPushButton(text)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda: self.judged.emit(verdict))
        return button

    @property
    def query(self) -> str:
        """What is asked; empty for everything."""
        return self.line.text().strip()

    def tell(self, matches: str, error: str) -> None:
        """Say how many match, or what is wrong."""
        self.matches.setText(matches)
        self.error.setText(f"▲ {error}" if error else "")
        self.error.setVisible(bool(error))
        for button in (self.reject, self.accept):
            button.setVisible(bool(self.query))
            button.setEnabled(bool(matches) and not error)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Escape clears the query, Enter and Down go to the episodes."""
        if watched is self.line and event.type() == QEvent.Type.KeyPress:
            assert isinstance(event, QKeyEvent)
            if event.key() == Qt.Key.Key_Escape and self.line.text():
                self.line.clear()
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down):
                self.left.emit()
                return True
        return False


class TagLine(QWidget):
    """One line to name a tag, there while it is wanted."""

    given = Signal(str)
    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.about = QLabel()
        self.line = QLineEdit()
        self.line.setPlaceholderText("tag; one that all of them have is taken away")
        self.line.setAccessibleName("Tag")
        self.line.returnPressed.connect(self._give)
        self.line.installEventFilter(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 2, 8, 4)
        row.addWidget(self.about)
        row.addWidget(self.line, 1)
        self.hide()

    def ask(self, about: str) -> None:
        """Ask for a tag."""
        self.about.setText(about)
        self.line.clear()
        self.show()
        self.line.setFocus()

    def _give(self) -> None:
        self.hide()
        if self.line.text().strip():
            self.given.emit(self.line.text().strip())
        self.left.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Escape gives no tag."""
        if watched is self.line and event.type() == QEvent.Type.KeyPress:
            assert isinstance(event, QKeyEvent)
            if event.key() == Qt.Key.Key_Escape:
                self.hide()
                self.left.emit()
                return True
        return False


class EditBar(QWidget):
    """The edits as buttons; each says its key."""

    pressed = Signal(str)
    BUTTONS = (
        ("accept", "✓ Accept", "Accept the chosen episodes (A)"),
        ("reject", "✕ Reject", "Reject the chosen episodes (R): not exported"),
        ("undecided", "· Undecided", "Take the verdict back (U)"),
        ("tag", "Tag…", "Tag the chosen episodes (T)"),
        ("trim", "Trim to range", "Keep what the timeline's selected range covers"),
        ("split", "Split here", "Make two of it, the second from the playhead on"),
    )

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 3, 8, 3)
        row.setSpacing(5)
        self.buttons: dict[str, QToolButton] = {}
        for key, text, about in self.BUTTONS:
            button = QToolButton()
            button.setText(text)
            button.setToolTip(about)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, key=key: self.pressed.emit(key))
            row.addWidget(button)
            self.buttons[key] = button
        row.addStretch(1)

    def enable(self, on: bool) -> None:
        """Whether there is anything to edit."""
        for button in self.buttons.values():
            button.setEnabled(on)


class TotalsLine(QWidget):
    """What would be exported, and the way there."""

    export_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.said, self.more = QLabel(), QLabel()
        self.more.setObjectName("dim")
        self.button = QPushButton("Export…")
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.button.setToolTip("Check them, and write a dataset (Ctrl+E)")
        self.button.clicked.connect(lambda: self.export_asked.emit())
        column = QVBoxLayout()
        column.setSpacing(1)
        column.addWidget(self.said)
        column.addWidget(self.more)
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 5, 8, 6)
        row.addLayout(column, 1)
        row.addWidget(self.button)
