"""What stands in the Signals panel while nothing is plotted: what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

if TYPE_CHECKING:
    from isoscope.widgets.signals.defaults import Suggestion


class EmptyState(QWidget):
    """A sentence, a button to choose a field, and a few plots to begin with."""

    field_wanted = Signal()
    plot_wanted = Signal(object)  # a FieldRef

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = QLabel(alignment=Qt.AlignmentFlag.AlignCenter)
        self.add = QPushButton("Add a field…")
        self.add.setObjectName("primary")
        self.add.clicked.connect(self.field_wanted)
        self._or = QLabel("or begin with", alignment=Qt.AlignmentFlag.AlignCenter)
        self._or.setObjectName("dim")
        self.offers: list[QPushButton] = []
        self._column = QVBoxLayout()
        self._column.setSpacing(6)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(8)
        layout.addStretch(1)
        for widget in (self._text, self.add, self._or):
            layout.addWidget(widget, 0, Qt.AlignmentFlag.AlignCenter)
        layout.addLayout(self._column)
        layout.addStretch(2)

    def show_for(self, opened: bool, plottable: bool, offers: list[Suggestion]) -> None:
        """Say what can be done: with no recording, with one, with these plots."""
        self._text.setText(
            "Open a recording to plot its fields."
            if not opened
            else "Nothing is plotted."
            if plottable
            else "This recording holds no numbers to plot."
        )
        self.add.setVisible(plottable)
        self._or.setVisible(bool(offers))
        for button in self.offers:
            self._column.removeWidget(button)
            button.deleteLater()
        self.offers = []
        for offer in offers:
            button = QPushButton(offer.label)
            button.setToolTip(f"Plot {offer.label}")
            button.clicked.connect(
                lambda _checked=False, ref=offer.ref: self.plot_wanted.emit(ref)
            )
            self._column.addWidget(button, 0, Qt.AlignmentFlag.AlignCenter)
            self.offers.append(button)
