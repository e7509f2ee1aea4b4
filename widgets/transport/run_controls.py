"""What may be asked of a run that is watched: pause, step, speed, a fault, stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenu, QToolButton, QWidget

from isoscope.widgets.transport.buttons import text_button
from isoscope.widgets.transport.fault_menu import FaultMenu

if TYPE_CHECKING:
    from isoscope.widgets.document import Document
    from isoscope.widgets.live_state import LiveState

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, None)
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
        self.speeds: dict[float | None, QAction] = {}
        for speed in SPEEDS:
            words = "as fast as it can" if speed is None else f"{speed:g}×"
            action = menu.addAction(words)
            action.setCheckable(True)
            action.triggered.connect(
                lambda _=False, speed=speed: self._ask("speed", speed=speed)
            )
            group.addAction(action)
            self.speeds[speed] = action
        self.speed.setMenu(menu)
        self.fault = text_button(
            "fault ▾",
            "Inject a fault",
            "Make something go wrong in the run, to see how it shows",
            self,
        )
        self.fault.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.faults = FaultMenu(self)
        self.faults.chosen.connect(
            lambda name, env: self._ask("fault", name=name, env=env)
        )
        self.fault.setMenu(self.faults)
        self.stop = text_button(
            "stop", "Stop the run", "End the run; what has come of it stays here", self
        )
        self.stop.clicked.connect(lambda: self._ask("stop"))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.state)
        for button in (self.pause, self.step, self.speed, self.fault, self.stop):
            layout.addWidget(button)
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
        watched = document.ask is not None or live.over
        standing = STATES[live.state] + _rates(live)
        self.state.setText(standing if watched else "no longer watched")
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
        told = live.speed is None and live.achieved_hz is None
        full = "speed ▾" if told else "full speed ▾"
        self.speed.setText(full if live.speed is None else f"{live.speed:g}× ▾")
        for speed, action in self.speeds.items():
            action.setChecked(speed == live.speed and not told)
        self.stop.setVisible("stop" in can)
        self.fault.setVisible("fault" in can and bool(live.faults))
        if self.fault.isVisibleTo(self):
            self.faults.show_choices(live.faults, document)

    def _pause(self) -> None:
        live = None if self._document is None else self._document.live
        if live is not None:
            self._ask("resume" if live.state == "paused" else "pause")

    def _ask(self, what: str, **arguments: object) -> None:
        document = self._document
        if document is not None and document.ask is not None:
            document.ask(what, arguments)


def _rates(live: LiveState) -> str:
    """How fast it goes, and how fast it was told to."""
    if live.achieved_hz is None or live.state != "running":
        return ""
    if live.paced_hz is None:
        return f" {live.achieved_hz:.3g} Hz"
    return f" {live.achieved_hz:.2g}/{live.paced_hz:g} Hz"
