"""The timeline's menus: what can be done with the view, and what the lanes are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton

from isoscope.core.timeline.told_lanes import GROUPINGS

if TYPE_CHECKING:
    from isoscope.core.clock import Clock
    from isoscope.core.timeline.told_lanes import Grouping
    from isoscope.widgets.timeline.panel import TimelinePanel

SHORT: dict[Grouping, str] = {
    "steps": "control steps",
    "environments": "chunks by env",
    "sources": "chunks by source",
}


class GroupingButton(QToolButton):
    """Chooses what the lanes are; there only where there are chunks."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("flat", True)
        self.setToolTip("What the lanes are")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu, group = QMenu(self), QActionGroup(self)
        self.choices: dict[Grouping, QAction] = {}
        for grouping, text in GROUPINGS.items():
            action = menu.addAction(text[0].upper() + text[1:])
            action.setCheckable(True)
            action.triggered.connect(
                lambda _=False, grouping=grouping: self.chosen.emit(grouping)
            )
            group.addAction(action)
            self.choices[grouping] = action
        self.setMenu(menu)
        self.hide()

    def show_grouping(self, grouping: Grouping, offered: bool) -> None:
        """Show what the lanes are, or nothing where there is no choice."""
        self.setVisible(offered)
        self.setText(f"{SHORT[grouping]} ▾")
        self.setAccessibleName(f"Lanes: {GROUPINGS[grouping]}")
        self.choices[grouping].setChecked(True)


def context_menu(panel: TimelinePanel) -> QMenu:
    """What can be done with the present selection and the view."""
    menu = QMenu(panel)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    span = panel.selected_range
    clock = panel.session.clock
    if span is not None:
        low, high = span
        menu.addAction("Zoom to the selection", lambda: panel.show_rows(low, high))
        menu.addAction("Loop over the selection", lambda: _loop(clock, low, high))
        menu.addAction("Clear the selection", panel.clear_selection)
        menu.addSeparator()
    menu.addAction("Begin the loop here", clock.loop_in_here)
    menu.addAction("End the loop here", clock.loop_out_here)
    if clock.state.loop_in is not None or clock.state.loop_out is not None:
        menu.addAction("Remove the loop range", lambda: _remove_loop(clock))
    menu.addSeparator()
    menu.addAction("Show everything", panel.fit)
    return menu


def _loop(clock: Clock, low: int, high: int) -> None:
    clock.set_loop_range(low, high)
    clock.set_loop(True)


def _remove_loop(clock: Clock) -> None:
    clock.set_loop_range(None, None)
    clock.set_loop(False)
