"""The start page: a file, a run, the demo, a recent file, or the shipped one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from isoscope.widgets.elided import ElidedLabel

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent, QMouseEvent

COLUMN_PX = 620


class RecentRow(QFrame):
    """A recent file: its name, and where it is."""

    chosen = Signal()

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.setObjectName("recent_row")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName(f"Open {path}")
        name, folder = QLabel(path.name), ElidedLabel()
        folder.setObjectName("dim")
        folder.set_text(str(path.parent))
        line = QHBoxLayout(self)
        line.setContentsMargins(12, 7, 12, 7)
        line.setSpacing(16)
        line.addWidget(name)
        line.addWidget(folder, 1)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """A click opens it."""
        if self.rect().contains(event.position().toPoint()):
            self.chosen.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Enter opens it."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.chosen.emit()
        else:
            super().keyPressEvent(event)


class StartPage(QWidget):
    """What to do first; every button on it works."""

    open_asked = Signal()
    attach_asked = Signal()
    demo_asked = Signal()
    shipped_asked = Signal()
    back_asked = Signal()
    recent_asked = Signal(str)

    def __init__(self, version: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("start_page")
        title = QLabel("Isoscope")
        title.setObjectName("start_title")
        about = QLabel("See what really happened inside a batch of environments.")
        about.setObjectName("dim")
        self.open_button = QPushButton("Open a recording…")
        self.open_button.setObjectName("primary")
        self.open_button.clicked.connect(self.open_asked)
        self.attach_button = QPushButton("Attach to a run…")
        self.attach_button.setToolTip(
            "Watch a training run that goes on (Ctrl+Shift+O)"
        )
        self.attach_button.clicked.connect(self.attach_asked)
        self.demo_button = QPushButton("Start the demo")
        self.demo_button.setToolTip(
            "Watch eight CartPole environments that share a scene, and put faults in"
        )
        self.demo_button.clicked.connect(self.demo_asked)
        self.shipped_button = QPushButton("Open the shipped recording")
        self.shipped_button.setToolTip(
            "Two CartPole environments in one scene, and one restore that was missed"
        )
        self.shipped_button.clicked.connect(self.shipped_asked)
        self.back_button = QPushButton("Back")
        self.back_button.clicked.connect(self.back_asked)
        buttons = QHBoxLayout()
        buttons.setSpacing(10)
        for button in (
            self.open_button,
            self.attach_button,
            self.demo_button,
            self.shipped_button,
        ):
            buttons.addWidget(button)
        buttons.addStretch()
        buttons.addWidget(self.back_button)
        drop = QLabel("or drop recordings anywhere on this window")
        drop.setObjectName("drop_here")
        drop.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._heading = QLabel("Recent")
        self._heading.setObjectName("keys_heading")
        self._heading.setIndent(0)
        self.rows: list[RecentRow] = []
        self._recent = QVBoxLayout()
        self._recent.setSpacing(2)
        foot = QLabel(
            f"Version {version} · reads HDF5 recordings of SuperDex scenes and "
            "labelled recordings"
        )
        foot.setObjectName("dim")
        column = QVBoxLayout()
        column.setSpacing(0)
        for widget, space in (
            (title, 2),
            (about, 24),
            (buttons, 16),
            (drop, 28),
            (self._heading, 4),
            (self._recent, 24),
            (foot, 0),
        ):
            if isinstance(widget, QWidget):
                column.addWidget(widget)
            else:
                column.addLayout(widget)
            column.addSpacing(space)
        middle = QWidget()
        middle.setMaximumWidth(COLUMN_PX)
        middle.setMinimumWidth(min(COLUMN_PX, 420))
        middle.setLayout(column)
        content = QWidget()
        outer = QVBoxLayout(content)
        outer.addStretch(2)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(middle, 8)
        row.addStretch(1)
        outer.addLayout(row)
        outer.addStretch(3)
        area = QScrollArea()
        area.setObjectName("start_area")
        area.setWidgetResizable(True)
        area.setWidget(content)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.addWidget(area)

    def show_recent(self, recent: list[str]) -> None:
        """List these files, unlooked-at: a network folder may take its time."""
        for row in self.rows:
            self._recent.removeWidget(row)
            row.hide()
            row.deleteLater()
        self.rows = []
        for name in recent:
            row = RecentRow(Path(name))
            row.chosen.connect(lambda name=name: self.recent_asked.emit(name))
            self._recent.addWidget(row)
            self.rows.append(row)
        self._heading.setVisible(bool(self.rows))

    def can_go_back(self, possible: bool) -> None:
        """Whether there is something open to go back to."""
        self.back_button.setVisible(possible)
