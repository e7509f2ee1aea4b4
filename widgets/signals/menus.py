"""The Signals panel's menu and its small buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu, QToolButton

if TYPE_CHECKING:
    from isoscope.widgets.signals.panel import SignalsPanel


def tool(text: str, tip: str) -> QToolButton:
    """A flat button for the title bar."""
    button = QToolButton()
    button.setText(text)
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    button.setProperty("flat", True)
    return button


def context_menu(panel: SignalsPanel, at: QPoint) -> QMenu:
    """What can be done with the plots, and with the one that is pointed at."""
    menu = QMenu(panel)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.addAction("Add a field…", panel.pick_field)
    menu.addAction("Show all steps", panel.fit)
    state = panel.session.clock.state
    low, high = state.loop_in, state.loop_out
    if low is not None and high is not None:
        menu.addAction(
            "Zoom to the loop range",
            lambda: panel.show_span(panel.span.between(low - 0.5, high + 0.5)),
        )
    menu.addAction("Loop the steps in view", lambda: _loop_view(panel))
    menu.addAction("Write the plotted range as CSV…", panel.ask_export)
    index = panel.canvas.plot_at(at.y())
    if index is not None and index < len(panel.specs):
        spec = panel.specs[index]
        menu.addSeparator()
        menu.addAction(
            f"Remove {spec.actor} · {spec.field}", lambda: panel.remove(spec.ref)
        )
    return menu


def _loop_view(panel: SignalsPanel) -> None:
    clock, span = panel.session.clock, panel.span
    clock.set_loop_range(span.first, max(span.stop - 1, span.first))
    clock.set_loop(True)
