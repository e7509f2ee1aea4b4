"""Help, Diagnose: a card that lists symptoms, and what bears on the chosen one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from isoscope.core.isolation.explain.explaining import explain
from isoscope.core.isolation.explain.symptoms import SYMPTOMS
from isoscope.widgets.diagnose.results import Results
from isoscope.widgets.diagnose.waiting import WaitingLine
from isoscope.widgets.overlay import Overlay

if TYPE_CHECKING:
    from isoscope.core.isolation.explain.symptoms import Symptom
    from isoscope.core.isolation.findings import Audit, Finding
    from isoscope.widgets.document import Document
    from isoscope.widgets.session import Session

WIDE_PX, HIGH_PX, LIST_PX = 980, 520, 350
HINT = "What have you noticed?"
NOTHING_OPEN = "Nothing is open: this is what the checks would look for."
NOT_YET = "The checks of this recording have not run yet."


class DiagnoseCard(Overlay):
    """Asks for a symptom; a finding that is clicked is gone to.

    Parameters
    ----------
    parent
        What is covered.
    session
        What is open.
    """

    def __init__(self, parent: QWidget, session: Session) -> None:
        super().__init__(parent, WIDE_PX, 56)
        self.session = session
        self.symptom: Symptom | None = None
        self.buttons: dict[str, QPushButton] = {}
        self._document: Document | None = None
        title = QLabel("Diagnose")
        title.setObjectName("card_title")
        self.about = QLabel(HINT)
        self.about.setObjectName("dim")
        head = QHBoxLayout()
        head.addWidget(title)
        head.addStretch(1)
        head.addWidget(self.about)
        self.waiting = WaitingLine()
        self.results = Results()
        self.results.finding_asked.connect(self._go)
        self.area = QScrollArea()
        self.area.setWidget(self.results)
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QScrollArea.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for inner in (self.results, self.area.viewport()):
            inner.setAutoFillBackground(False)
        both = QHBoxLayout()
        both.setSpacing(16)
        both.addWidget(self._list())
        both.addWidget(self.area, 1)
        inside = QVBoxLayout()
        inside.setContentsMargins(18, 14, 18, 16)
        inside.setSpacing(10)
        inside.addLayout(head)
        inside.addWidget(self.waiting)
        inside.addLayout(both, 1)
        self.body.addLayout(inside)
        self.area.setMinimumHeight(HIGH_PX // 2)
        session.active_changed.connect(self._activate)
        self._activate(session.active)

    def _list(self) -> QWidget:
        page = QWidget()
        page.setFixedWidth(LIST_PX)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        group = QButtonGroup(page)
        for symptom in SYMPTOMS:
            button = QPushButton(symptom.text)
            button.setCheckable(True)
            button.setProperty("flat", True)
            button.setStyleSheet("text-align: left; padding: 5px 9px;")
            button.clicked.connect(lambda _=False, s=symptom: self.choose(s))
            group.addButton(button)
            column.addWidget(button)
            self.buttons[symptom.key] = button
        column.addStretch(1)
        return page

    def open_card(self) -> None:
        """Show it, with the keyboard on the chosen symptom, or the first."""
        super().open_card()
        self._fill()
        chosen = SYMPTOMS[0] if self.symptom is None else self.symptom
        self.buttons[chosen.key].setFocus()

    def choose(self, symptom: Symptom) -> None:
        """Show which checks bear on a symptom, and what they found here."""
        self.symptom = symptom
        self.buttons[symptom.key].setChecked(True)
        self._fill()
        self.area.verticalScrollBar().setValue(0)

    def _activate(self, document: Document | None) -> None:
        if self._document is not None:
            self._document.analysed.disconnect(self._fill, missing_ok=True)
            self._document.checking_changed.disconnect(
                self._show_waiting, missing_ok=True
            )
            self._document.stepping_alone_changed.disconnect(
                self.results.show_alone, missing_ok=True
            )
        self._document = document
        if document is not None:
            document.analysed.connect(self._fill)
            document.checking_changed.connect(self._show_waiting)
            document.stepping_alone_changed.connect(self.results.show_alone)
        self._fill()

    def _audit(self) -> Audit | None:
        document = self._document
        analysis = None if document is None else document.analysis
        return None if analysis is None else analysis.audit

    def _show_waiting(self) -> None:
        self.waiting.show_document(self._document, self._audit())

    def _fill(self, *_: object) -> None:
        if not self.isVisible() and self.symptom is None:
            return
        audit = self._audit()
        if self._document is None:
            self.about.setText(NOTHING_OPEN)
        elif audit is None:
            self.about.setText(NOT_YET)
        else:
            self.about.setText(f"In {self._document.name}")
        self._show_waiting()
        if self.symptom is not None:
            self.results.show_explained(
                explain(self.symptom.key, audit), self._document
            )
        self.area.setMinimumHeight(min(HIGH_PX, max(self.height() - 200, 120)))
        if self.isVisible():
            self._place()

    def _go(self, finding: Finding) -> None:
        document = self._document
        if document is None or finding not in document.findings:
            return
        at = list(document.findings).index(finding)
        self.close_card()
        self.session.show_finding(at)
