"""The buttons at the end of each plot's title: what is shown of it, and remove."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QSize, Signal
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from isoscope.core.series import MEASURES, component_count, component_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.widgets.session import FieldRef
    from isoscope.widgets.signals.resolve import PlotSpec

BUTTON_PX = 20
MOST_LISTED = 24


class Heads(QWidget):
    """Owns the buttons; they are placed over the canvas by :meth:`place`."""

    removed = Signal(object)  # a FieldRef
    replaced = Signal(object, object)  # a FieldRef, and what to show in its place

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.hide()
        self._over = parent
        self.buttons: list[tuple[QToolButton, QToolButton]] = []

    def set_specs(self, specs: list[PlotSpec]) -> None:
        """Make the buttons of these plots."""
        for pair in self.buttons:
            for button in pair:
                button.hide()
                button.deleteLater()
        self.buttons = [self._pair(spec) for spec in specs]

    def place(self, headers: list[QRect]) -> None:
        """Put them at the right ends of these boxes."""
        for (parts, remove), box in zip(self.buttons, headers, strict=True):
            y = box.top() + (box.height() - BUTTON_PX) // 2
            remove.move(box.right() + 1 - BUTTON_PX, y)
            parts.move(box.right() + 1 - 2 * BUTTON_PX - 1, y)

    def _pair(self, spec: PlotSpec) -> tuple[QToolButton, QToolButton]:
        name = f"{spec.actor} {spec.field}"
        parts = self._button("▾", f"Choose what to plot of {name}")
        menu = self._menu(spec, parts)
        parts.setMenu(menu)
        parts.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        parts.setVisible(not menu.isEmpty())
        remove = self._button("×", f"Remove the plot of {name}")
        remove.clicked.connect(lambda: self.removed.emit(spec.ref))
        return parts, remove

    def _button(self, text: str, tip: str) -> QToolButton:
        button = QToolButton(self._over)
        button.setText(text)
        button.setProperty("flat", True)
        button.setObjectName("head")
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setFixedSize(QSize(BUTTON_PX, BUTTON_PX))
        button.show()
        return button

    def _menu(self, spec: PlotSpec, parent: QWidget) -> QMenu:
        menu, ref, track = QMenu(parent), spec.ref, spec.track
        if track is None:
            return menu
        choices: list[tuple[str, FieldRef]]
        if track.ragged:
            choices = [
                (f"{measure}: {about}", replace(ref, measure=measure))
                for measure, about in MEASURES.items()
            ]
            ref = replace(ref, measure=ref.measure or "count")
        else:
            names = component_names(ref.field, track.shape, track)
            if not 1 < component_count(track) <= MOST_LISTED:
                return menu
            choices = [("All components", replace(ref, component=None))]
            choices += [(n, replace(ref, component=i)) for i, n in enumerate(names)]
        for text, wanted in choices:
            action = menu.addAction(text)
            action.setCheckable(True)
            action.setChecked(wanted == ref)
            action.triggered.connect(self._replacer(spec.ref, wanted))
        return menu

    def _replacer(self, old: FieldRef, new: FieldRef) -> Callable[[], None]:
        return lambda *_: self.replaced.emit(old, new)
