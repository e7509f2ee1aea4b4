"""A line for a number of steps, empty for all of them."""

from __future__ import annotations

from PySide6.QtGui import QIntValidator
from PySide6.QtWidgets import QLineEdit, QWidget

MOST_STEPS = 1_000_000


class CountLine(QLineEdit):
    """Takes a number from 1; `none` says what an empty line means."""

    def __init__(self, none: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText(none)
        self.setValidator(QIntValidator(1, MOST_STEPS, self))
        self.setMaximumWidth(130)

    def value(self) -> int | None:
        """The number; None for all."""
        text = self.text().strip()
        return int(text) if text.isdecimal() and int(text) else None

    def set_value(self, value: int | None) -> None:
        """Show a number, or none."""
        self.setText("" if value is None else str(value))
