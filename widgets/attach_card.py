"""A small card that lists the runs that can be joined, and takes an address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from isoscope.widgets.overlay import Overlay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QKeyEvent, QMouseEvent

NONE_YET = (
    "No run of yours can be joined on this machine. In a training script, two lines "
    "let one be seen:\n\n    from isoscope.core import tap\n    env = tap.attach(env)"
)


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the list: what to join it by, what it is called, what else to say."""

    address: str
    name: str
    about: str


class _Line(QFrame):
    """One run; a click or Enter chooses it."""

    chosen = Signal()

    def __init__(self, row: RunRow) -> None:
        super().__init__()
        self.setObjectName("recent_row")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._name, self._about = QLabel(), QLabel()
        self._about.setObjectName("dim")
        self.show_row(row)
        line = QHBoxLayout(self)
        line.setContentsMargins(12, 7, 12, 7)
        line.setSpacing(16)
        line.addWidget(self._name)
        line.addStretch(1)
        line.addWidget(self._about)

    def show_row(self, row: RunRow) -> None:
        """Say this of its run."""
        self.row = row
        self.setAccessibleName(f"Join {row.name}, {row.about}")
        self._name.setText(row.name)
        self._about.setText(f"{row.about} · {row.address}")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """A click joins it."""
        if self.rect().contains(event.position().toPoint()):
            self.chosen.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Enter joins it."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.chosen.emit()
        else:
            super().keyPressEvent(event)


class AttachCard(Overlay):
    """Lists runs; `join_asked` tells an address, and a token and key where given."""

    join_asked = Signal(str, str, str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, 560, 96)
        self.lines: list[_Line] = []
        title = QLabel("Attach to a run")
        title.setObjectName("card_title")
        self.empty = QLabel(NONE_YET)
        self.empty.setWordWrap(True)
        self.empty.setObjectName("dim")
        self.empty.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._list = QVBoxLayout()
        self._list.setSpacing(2)
        self.address = QLineEdit(placeholderText="Address: tcp://127.0.0.1:PORT")
        self.address.setAccessibleName("Address of the run")
        self.token = QLineEdit(placeholderText="Token (another machine's run)")
        self.key = QLineEdit(placeholderText="Public key (another machine's run)")
        self.token.setEchoMode(QLineEdit.EchoMode.Password)
        self.token.setAccessibleName("Token of the run")
        self.key.setAccessibleName("Public key of the run")
        for box in (self.address, self.token, self.key):
            box.returnPressed.connect(self._join_typed)
        self.address.textChanged.connect(self._typed)
        self.join = QPushButton("Join")
        self.join.setObjectName("primary")
        self.join.clicked.connect(self._join_typed)
        self.join.setEnabled(False)
        by_hand = QHBoxLayout()
        by_hand.addWidget(self.address, 1)
        by_hand.addWidget(self.join)
        secrets = QHBoxLayout()
        secrets.addWidget(self.token)
        secrets.addWidget(self.key)
        inside = QVBoxLayout()
        inside.setContentsMargins(18, 14, 18, 16)
        inside.setSpacing(9)
        inside.addWidget(title)
        inside.addWidget(self.empty)
        inside.addLayout(self._list)
        inside.addLayout(by_hand)
        inside.addLayout(secrets)
        self.body.addLayout(inside)

    def show_runs(self, rows: Sequence[RunRow]) -> None:
        """List these runs; the line of one that was there keeps the keyboard."""
        before = {line.row.address: line for line in self.lines}
        lines = []
        for at, row in enumerate(rows):
            line = before.pop(row.address, None)
            if line is None:
                line = self._line(row)
            line.show_row(row)
            if self._list.indexOf(line) != at:
                self._list.insertWidget(at, line)
            lines.append(line)
        changed, self.lines = lines != self.lines, lines
        orphaned = any(line.hasFocus() for line in before.values())
        for line in before.values():
            self._list.removeWidget(line)
            line.hide()
            line.deleteLater()
        self.empty.setVisible(not rows)
        if orphaned:
            self._focus_first()
        if changed and self.isVisible():
            self._place()

    def _line(self, row: RunRow) -> _Line:
        line = _Line(row)
        line.chosen.connect(lambda: self._join(line.row.address))
        return line

    def open_card(self) -> None:
        """Show it, with the keyboard on the first run or in the address."""
        super().open_card()
        self._focus_first()

    def _focus_first(self) -> None:
        (self.lines[0] if self.lines else self.address).setFocus()

    def _typed(self, text: str) -> None:
        self.join.setEnabled(bool(text.strip()))

    def _join_typed(self) -> None:
        address = self.address.text().strip()
        if address:
            self._join(address, self.token.text().strip(), self.key.text().strip())

    def _join(self, address: str, token: str = "", key: str = "") -> None:
        self.close_card()
        self.join_asked.emit(address, token, key)
