"""A line that says which checks wait for a run's end, and offers to run them now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from isoscope.core.isolation.incremental import waiting
from isoscope.core.summary import counted
from isoscope.widgets.document import Phase
from isoscope.widgets.row_words import step_words

if TYPE_CHECKING:
    from isoscope.core.isolation.findings import Audit
    from isoscope.widgets.document import Document

OFFER = "Check what there is"
STOP = "Stop"
ABOUT = "Have all checks look at what has come of the run by now, while it goes on"


def can_check(document: Document | None) -> bool:
    """Whether a run goes on, of which something can be read beside it."""
    return (
        document is not None
        and document.phase is Phase.LIVE
        and document.rows > 0
        and document.source.recording.path is not None
    )


class WaitingLine(QWidget):
    """What waits, in a few words; the names are its tooltip."""

    asked = Signal(object)  # the document
    stop_asked = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._document: Document | None = None
        self.text = QLabel()
        self.text.setObjectName("dim")
        self.text.setWordWrap(True)
        self.button = QPushButton(OFFER)
        self.button.setToolTip(ABOUT)
        self.button.clicked.connect(self._clicked)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.text, 1)
        row.addWidget(self.button)
        self.hide()

    def show_document(self, document: Document | None, audit: Audit | None) -> None:
        """Say what waits of a document's checks; hidden unless it is a run."""
        self._document = document
        if document is None or audit is None or document.phase is not Phase.LIVE:
            self.hide()
            return
        names = waiting(audit)
        self.text.setText(_words(document, names))
        self.text.setToolTip("\n".join(names))
        self.button.setText(STOP if document.checking else OFFER)
        self.button.setVisible(can_check(document))
        self.setVisible(bool(names or document.checked_rows or document.checking))

    def _clicked(self) -> None:
        document = self._document
        if document is not None:
            (self.stop_asked if document.checking else self.asked).emit(document)


def _words(document: Document, names: list[str]) -> str:
    if document.checking:
        return "Checking what there is of the run…"
    if document.check_error:
        return document.check_error
    parts = []
    if document.checked_rows:
        step = step_words(document.recording)
        parts.append(f"Checked up to {step} {document.checked_rows - 1:,}")
    if names:
        verb = "waits" if len(names) == 1 else "wait"
        parts.append(f"{counted(len(names), 'check')} {verb} for the run's end")
    return "; ".join(parts)
