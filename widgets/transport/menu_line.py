"""A line of text in a menu, which keeps Enter to itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent


class MenuLine(QLineEdit):
    """Tells `returnPressed`; the menu around it would take Enter for its first row."""

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """As every line; Enter goes no further."""
        super().keyPressEvent(event)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.accept()
