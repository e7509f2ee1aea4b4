"""What stands where there are no episodes: why, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from isoscope.widgets.session import Phase

if TYPE_CHECKING:
    from isoscope.widgets.session import Document

HOW_TO = (
    "Record with the tap (tap.attach(env) in the program that steps it), or give a "
    "file that has observations, actions and rewards of its control steps."
)


class EmptyPage(QWidget):
    """A few words, and a button where something can be given."""

    asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.label = QLabel()
        self.label.setObjectName("dim")
        self.label.setWordWrap(True)
        self.label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.label.setMargin(16)
        self.button = QPushButton("Choose a file with its transitions…")
        self.button.clicked.connect(lambda: self.asked.emit())
        column = QVBoxLayout(self)
        column.addStretch(1)
        column.addWidget(self.label)
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)

    def tell(self, text: str, *, button: bool) -> None:
        """Say why."""
        self.label.setText(text)
        self.button.setVisible(button)


def why_empty(document: Document | None) -> tuple[str, bool]:
    """Why a document has no episodes, and whether a file could give them."""
    if document is None:
        return "Open a recording or a dataset: its episodes are listed here.", False
    if document.phase is Phase.LIVE:
        return "Episodes can be chosen as soon as the run has ended.", False
    if document.phase is Phase.FAILED:
        return f"There are no episodes: {document.error}", False
    if document.phase in (Phase.OPENING, Phase.INDEXING):
        return "Episodes are listed as soon as the recording is indexed.", False
    if not document.curation_error:
        return "Looking for episodes…", False
    text = f"{document.curation_error}.\n\n{HOW_TO}"
    if document.analysing is not None:
        return text, False  # a file joins only what is attributed
    return text, document.analysis is not None
