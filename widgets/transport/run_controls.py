"""What may be asked of a run that is watched: pause, step, speed; no more than that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenu, QToolButton, QWidget

from isoscope.widgets.transport.buttons import text_button

if TYPE_CHECKING:
    from isoscope.widgets.document import Document

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
STATES = {
    "running": "● running",
    "paused": "❙❙ paused",
    "lost": "○ connection lost",
    "ended": "ended",
    "died": "▲ died",
}


class RunControls(QFrame):
    """How the run of the active document stands, and buttons for what it allows."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("run_controls")
        self._document: Document | None = None
        self.state = QLabel()
        self.pause = text_button("pause", "Pause the run", "Pause the run", self)
        self.pause.clicked.connect(self._pause)
        self.step = text_button(
            "step", "Step the run", "Let the paused run go on by one control step", self
        )
        self.step.clicked.connect(lambda: self._ask("step"))
        self.speed = text_button("", "Speed of the run", "Speed of the run", self)
        self.speed.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu, group = QMenu(self), QActionGroup(self)
        self.speeds: dict[float, QAction] = {}
        for speed in SPEEDS:
            action = menu.addAction(f"{speed:g}×")
            action.setCheckable(True)
            action.triggered.connect(
                lambda _=False, speed=speed: self._ask("speed", speed=speed)
            )
            group.addAction(action)
            self.speeds[speed] = action
        self.speed.setMenu(menu)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for widget in (self.state, self.pause, self.step, self.speed):
            layout.addWidget(widget)
        self.hide()

    def show_document(self, document: Document | None) -> None:
        """Show how this document's run stands; nothing where it has none."""
        self._document = document
        live = None if document is None else document.live
        self.setVisible(live is not None)
        if document is None or live is None:
            return
        paused = live.state == "paused"
        can = set(live.allowed) if document.ask is not None and not live.over else set()
        self.state.setText(STATES[live.state])
        dropped = f", {live.lost:,} records dropped" if live.lost else ""
        self.state.setToolTip(f"The run{dropped}. {live.last_words}".strip())
        self.pause.setText("go on" if paused else "pause")
        self.pause.setToolTip("Let the run go on" if paused else "Pause the run")
        self.pause.setAccessibleName(self.pause.toolTip())
        self.pause.setVisible(bool(can & {"pause", "resume"}))
        self.pause.setEnabled(("resume" if paused else "pause") in can)
        self.step.setVisible("step" in can)
        self.step.setEnabled(paused)
        self.speed.setVisible("speed" in can)
        self.speed.setText("speed ▾" if live.speed is None else f"{live.speed:g}× ▾")
        for speed, action in self.speeds.items():
            action.setChecked(speed == live.speed)

    def _pause(self) -> None:
        live = None if self._document is None else self._document.live
        if live is not None:
            self._ask("resume" if live.state == "paused" else "pause")

    def _ask(self, what: str, **arguments: float) -> None:
        document = self._document
        if document is not None and document.ask is not None:
            document.ask(what, arguments)
