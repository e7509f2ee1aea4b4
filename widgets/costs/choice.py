"""The buttons that say of which part of the run the costs are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QMenu, QToolButton, QWidget

from isoscope.core.costs.report import EVERYTHING, Window

if TYPE_CHECKING:
    from isoscope.core.clock import ClockState

Which = Literal["all", "range", "last"]
LAST = (10, 100, 1_000, 10_000)


class WindowChoice(QWidget):
    """All rows, the range that is selected (the loop range), or the last steps."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.which: Which = "all"
        self.last = LAST[1]
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        self._group = QButtonGroup(self)
        self.buttons: dict[Which, QToolButton] = {}
        for which, text, about in (
            ("all", "All", "Costs of the whole recording"),
            (
                "range",
                "Range",
                "Costs of the range: drag with Shift in the timeline, or [ and ]",
            ),
            ("last", "", "Costs of the last control steps of each environment"),
        ):
            button = QToolButton()
            button.setText(text)
            button.setCheckable(True)
            button.setToolTip(about)
            button.clicked.connect(lambda _=False, w=which: self.choose(w))
            self._group.addButton(button)
            self.buttons[which] = button  # type: ignore[index]
            row.addWidget(button)
        row.addStretch(1)
        menu = QMenu(self)
        several = QActionGroup(menu)
        for many in LAST:
            action = menu.addAction(f"Last {many:,} control steps")
            action.setCheckable(True)
            action.setChecked(many == self.last)
            several.addAction(action)
            action.triggered.connect(lambda _=False, n=many: self.choose("last", n))
        last = self.buttons["last"]
        last.setMenu(menu)
        last.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        self._show()

    def choose(self, which: Which, last: int | None = None) -> None:
        """Choose one; tells `changed`."""
        self.which, self.last = which, last or self.last
        self._show()
        self.changed.emit()

    def window_of(self, state: ClockState) -> Window:
        """The window that is chosen, with the clock's range."""
        if self.which == "last":
            return Window(last_steps=self.last)
        if self.which == "range" and has_range(state):
            last = max(state.rows - 1, 0)
            low = state.loop_in or 0
            high = last if state.loop_out is None else min(state.loop_out, last)
            return Window(rows=(low, high))
        return EVERYTHING

    def words(self, window: Window) -> str:
        """What is shown, for the title bar; empty for everything."""
        if window.last_steps is not None:
            return f"last {window.last_steps:,} control steps"
        if window.rows is not None:
            return f"native {window.rows[0]:,} to {window.rows[1]:,}"
        return "no range is selected: all" if self.which == "range" else ""

    def _show(self) -> None:
        self.buttons["last"].setText(f"Last {self.last:,}")
        self.buttons[self.which].setChecked(True)


def has_range(state: ClockState) -> bool:
    """Whether a range is selected."""
    return state.loop_in is not None or state.loop_out is not None
