"""What stands where a panel could not be made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout

from isoscope.widgets.panel import Panel

if TYPE_CHECKING:
    from isoscope.widgets.session import Session


class MissingPanel(Panel):
    """Says in its place why a panel isn't there."""

    def __init__(self, key: str, why: str, session: Session) -> None:
        super().__init__(session)
        self.why = why
        self.key, self.title = key, key.capitalize()  # type: ignore[misc]  # stands in
        label = QLabel(why)
        label.setObjectName("dim")
        label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        label.setWordWrap(True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QVBoxLayout(self)
        layout.addWidget(label)
