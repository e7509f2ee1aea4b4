"""What the checks that bear on a symptom found, a block a check."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from isoscope.core.isolation.incremental import WHOLE_RUN
from isoscope.widgets.findings.alone import CHECK, AloneLine
from isoscope.widgets.findings.rows import SHAPES

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent, QMouseEvent

    from isoscope.core.isolation.explain.explaining import Explained, ExplainedCheck
    from isoscope.core.isolation.findings import Finding
    from isoscope.widgets.document import Document

SHOWN = 4  # findings of one check
STATES = {
    "found": "found here",
    "clean": "looked, and found nothing",
    "not_run": "could not run here",
    "not_asked": "has not run yet",
}
WAITS = "waits for the run's end"


class FindingLine(QFrame):
    """One finding; a click or Enter asks to go there."""

    chosen = Signal()

    def __init__(self, finding: Finding) -> None:
        super().__init__()
        self.finding = finding
        self.setObjectName("recent_row")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName(f"Go to: {finding.headline}")
        said = finding.headline or finding.message
        self.sign = QLabel(f"{SHAPES[finding.severity]} {finding.severity}")
        self.sign.setObjectName(finding.severity)  # by which it has its colour
        text = QLabel(f"{said} →")
        text.setWordWrap(True)
        line = QHBoxLayout(self)
        line.setContentsMargins(10, 5, 10, 5)
        line.setSpacing(8)
        line.addWidget(self.sign, alignment=Qt.AlignmentFlag.AlignTop)
        line.addWidget(text, 1)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """A click goes there."""
        if self.rect().contains(event.position().toPoint()):
            self.chosen.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Enter goes there."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.chosen.emit()
        else:
            super().keyPressEvent(event)


class Results(QWidget):
    """All blocks, one below the other; `finding_asked` tells which to go to."""

    finding_asked = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[FindingLine] = []
        self.told = ""
        self.alone = AloneLine()
        self.alone.setParent(self)
        self._document: Document | None = None
        self._offers = False  # whether the line has a place among the blocks
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 8, 0)
        self._column.setSpacing(4)

    def show_explained(
        self, explained: Explained, document: Document | None = None
    ) -> None:
        """Show these checks in place of the last ones, as they are about a document."""
        while (item := self._column.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                if widget is not self.alone:
                    widget.deleteLater()
        self._document, self._offers = document, False
        self.lines = []
        self.told = ""
        for check in explained.checks:
            self._add_check(check)
        if explained.record and any(c.state != "found" for c in explained.checks):
            self._add(f"<b>To record.</b> {escape(explained.record)}")
        self._column.addStretch(1)
        self.show_alone()

    def show_alone(self) -> None:
        """Show how far stepping again alone is, where a check here asks for it."""
        self.alone.show_document(self._document if self._offers else None)

    def _add_check(self, check: ExplainedCheck) -> None:
        state = STATES[check.state]
        if check.not_run is not None and check.not_run.reason == WHOLE_RUN:
            state = WAITS
        if check.found > 1:
            state = f"{check.found} times {state}"
        self._add(f"<b>{check.id}</b> · {state}")
        self._add(escape(check.means), dim=True)
        for finding in check.findings[:SHOWN]:
            line = FindingLine(finding)
            line.chosen.connect(lambda f=finding: self.finding_asked.emit(f))
            self._column.addWidget(line)
            self.lines.append(line)
        if check.not_run is not None:
            reason = f"{check.not_run.reason}; it needs {check.not_run.needs}"
            self._add(escape(f"{reason[:1].upper()}{reason[1:]}."), dim=True)
            if check.id == CHECK:
                self._column.addWidget(self.alone)
                self._offers = True
        elif check.state == "found":
            self._add(f"<b>What to do.</b> {escape(check.do)}", dim=True)
        self._column.addSpacing(8)

    def _add(self, html: str, *, dim: bool = False) -> None:
        label = QLabel(html)
        label.setTextFormat(Qt.TextFormat.RichText)
        label.setWordWrap(True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        if dim:
            label.setObjectName("dim")
        self._column.addWidget(label)
        self.told += html + "\n"
