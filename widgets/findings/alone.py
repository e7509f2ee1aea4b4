"""A line that offers to step environments again alone, and says how far that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from isoscope.widgets.document import Phase
from isoscope.widgets.replay.empty import why_not

if TYPE_CHECKING:
    from isoscope.widgets.document import Document

CHECK = "hidden-leak"  # which asks for it
OFFER = "Step again alone"
STOP = "Stop"
ABOUT = (
    "Step each environment again without the others, from recorded snapshots with the "
    "recorded inputs: where it goes otherwise, another one had reached it"
)


def can_step(document: Document | None) -> bool:
    """Whether stepping again would let a check look that could not."""
    if document is None or document.twin is not None:
        return False
    analysis = document.analysis
    if analysis is None or analysis.audit is None or not analysis.shared:
        return False
    if document.phase is not Phase.READY or document.recording.path is None:
        return False
    if all(reason.id != CHECK for reason in analysis.audit.not_run):
        return False
    return not why_not(document)


class AloneLine(QWidget):
    """The button, and beside it what it would do, how far it is, or why it failed."""

    asked = Signal(object)  # the document
    stop_asked = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._document: Document | None = None
        self.button = QPushButton(OFFER)
        self.button.setToolTip(ABOUT)
        self.button.clicked.connect(self._clicked)
        self.text = QLabel()
        self.text.setObjectName("dim")
        self.text.setWordWrap(True)
        self.text.setSizePolicy(
            QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred
        )
        row = QHBoxLayout(self)
        row.setContentsMargins(9, 3, 9, 5)
        row.addWidget(self.button)
        row.addWidget(self.text, 1)
        self.hide()

    def show_document(self, document: Document | None) -> None:
        """Offer it for a document; hidden where there is nothing to offer."""
        self._document = document
        share = None if document is None else document.stepping_alone
        self.button.setText(OFFER if share is None else STOP)
        if share is not None:
            self.text.setText(f"Stepping each environment again alone: {share:.0%}")
        elif document is not None and document.alone_error:
            self.text.setText(document.alone_error)
        else:
            self.text.setText("Did another one reach an environment unseen?")
        self.setVisible(share is not None or can_step(document))

    def _clicked(self) -> None:
        document = self._document
        if document is not None:
            running = document.stepping_alone is not None
            (self.stop_asked if running else self.asked).emit(document)
