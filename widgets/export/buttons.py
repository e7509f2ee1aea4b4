"""What stands below the form: totals, what is wrong, buttons, progress, the result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from isoscope.widgets.export.preview import bytes_text

if TYPE_CHECKING:
    from isoscope.core.dataset.exporters.report import ExportReport
    from isoscope.widgets.export.preview import Preview
    from isoscope.widgets.export.state import ExportState


class Buttons(QWidget):
    """Validate, export, cancel, copy the command, open the folder."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.totals, self.left, self.problem = QLabel(), QLabel(), QLabel()
        self.result = QLabel()
        for label, name in (
            (self.totals, ""),
            (self.left, "export-left"),
            (self.problem, "export-problem"),
            (self.result, "export-done"),
        ):
            label.setWordWrap(True)
            label.setObjectName(name)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.validate = QPushButton("Validate")
        self.export = QPushButton("Export")
        self.export.setObjectName("primary")
        self.cancel = QPushButton("Cancel")
        self.copy = QPushButton("Copy command")
        self.copy.setToolTip("The same as an isoscope export command line")
        self.folder = QPushButton("Open folder")
        for button in (
            self.validate,
            self.export,
            self.cancel,
            self.copy,
            self.folder,
        ):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(4)
        self.bar.setRange(0, 1000)
        self.doing = QLabel()
        self.doing.setObjectName("dim")
        row = QHBoxLayout()
        row.setSpacing(6)
        for button in (self.validate, self.export, self.cancel):
            row.addWidget(button)
        row.addWidget(self.doing)
        row.addStretch(1)
        row.addWidget(self.folder)
        row.addWidget(self.copy)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 2, 10, 4)
        column.setSpacing(4)
        for part in (self.totals, self.left, self.problem):
            column.addWidget(part)
        column.addLayout(row)
        column.addWidget(self.bar)
        column.addWidget(self.result)

    def show_problem(self, text: str) -> None:
        """Say why it can't be."""
        self.problem.setText(f"▲ {text}" if text else "")
        self.problem.setVisible(bool(text))
        self.export.setEnabled(not text)

    def show_progress(self, state: ExportState) -> None:
        """How far it is."""
        self.bar.setValue(round(1000 * state.progress))
        self.doing.setText(
            f"{state.running}… {state.progress:.0%}" if state.running else ""
        )

    def show_state(self, state: ExportState, preview: Preview | None) -> None:
        """Show how far an export is, and what would come of it."""
        running = bool(state.running)
        self.totals.setText("" if preview is None else preview.text)
        left = [] if preview is None else list(preview.left_out)
        self.left.setText("\n".join(f"left out: {line}" for line in left[:4]))
        self.left.setVisible(bool(left))
        problem = state.error
        if not problem and preview is not None:
            problem = preview.problem
        self.show_problem(problem)
        can = preview is not None and not preview.problem and not running
        self.export.setEnabled(can)
        self.validate.setEnabled(preview is not None and preview.episodes > 0)
        self.validate.setVisible(not running)
        self.export.setVisible(not running)
        self.cancel.setVisible(running)
        self.bar.setVisible(running)
        self.show_progress(state)
        done = state.done
        self.folder.setVisible(done is not None)
        self.result.setVisible(done is not None)
        if done is not None:
            self.result.setText(
                f"✓ Written to {done.target}: {done.episodes:,} episodes, "
                f"{done.transitions:,} transitions, {bytes_text(done.bytes)}. "
                f"Read back and compared: {done.compared:,} values are equal. "
                f"Its manifest is {_where(done)}."
            )


def _where(done: ExportReport) -> str:
    name = Path(done.manifest).name
    return "inside of it" if done.manifest == done.target else name
