"""Which model stands in for the engine, and what has the actions that drive it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QGridLayout,
    QLabel,
    QLineEdit,
    QToolButton,
    QWidget,
)

from isoscope.widgets.replay.request import INTEGRATORS, ModelChoice

if TYPE_CHECKING:
    from collections.abc import Callable

MODELS = "Models (*.json *.xml)"
TRANSITIONS = "Transitions (*.json *.npz)"
ABOUT_MODEL = (
    "A model that the built-in simulator predicts each native step by, from the "
    "recorded state before it, and each episode freely: JSON, MJCF, or the name of one "
    "that ships, such as cartpole"
)
ABOUT_ACTIONS = (
    "What has the actions of a bare recording, JSON or .npz; by default what the "
    "recording itself holds"
)


class ModelRow(QWidget):
    """Two files, each typed or chosen in a dialog, and the integrator.

    Tells `changed`.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.folder: Path | None = None  # where a dialog begins
        self.model, self.choose_model = self._line(
            "MODEL.json, MJCF, or cartpole", ABOUT_MODEL, self.ask_model
        )
        self.inputs, self.choose_inputs = self._line(
            "as recorded; else a file", ABOUT_ACTIONS, self.ask_inputs
        )
        self.model.setAccessibleName("Model that stands in")
        self.choose_model.setAccessibleName("Choose the model")
        self.inputs.setAccessibleName("File with the actions")
        self.choose_inputs.setAccessibleName("Choose the file with the actions")
        self.integrator = QComboBox()
        self.integrator.setAccessibleName("Integrator")
        self.integrator.setToolTip("How the built-in simulator steps the model")
        self.integrator.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        for key, name in INTEGRATORS.items():
            self.integrator.addItem(name, key)
        self.integrator.currentIndexChanged.connect(lambda _: self.changed.emit())
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(4)
        lines = (
            ("model", self.model, self.choose_model),
            ("actions", self.inputs, self.choose_inputs),
        )
        for line, (name, part, button) in enumerate(lines):
            label = QLabel(name)
            label.setObjectName("dim")
            label.setBuddy(part)
            grid.addWidget(label, line, 0)
            grid.addWidget(part, line, 1)
            grid.addWidget(button, line, 2)
        grid.addWidget(self.integrator, 0, 3)
        grid.setColumnStretch(1, 1)

    def _line(
        self, example: str, about: str, ask: Callable[[], None]
    ) -> tuple[QLineEdit, QToolButton]:
        line, button = QLineEdit(), QToolButton()
        line.setPlaceholderText(example)
        line.setToolTip(about)
        line.textChanged.connect(lambda _: self.changed.emit())
        button.setText("…")
        button.setToolTip("Choose a file")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(ask)
        return line, button

    @property
    def choice(self) -> ModelChoice:
        """What is chosen."""
        return ModelChoice(
            self.model.text().strip(),
            self.inputs.text().strip(),
            str(self.integrator.currentData()),
        )

    def set_choice(self, choice: ModelChoice) -> None:
        """Choose these."""
        self.model.setText(choice.model)
        self.inputs.setText(choice.transitions)
        self.integrator.setCurrentIndex(
            max(self.integrator.findData(choice.integrator), 0)
        )

    def ask_model(self) -> None:
        """Ask for the model's file; the window goes on meanwhile."""
        self._ask("Model that stands in", MODELS, self.model)

    def ask_inputs(self) -> None:
        """Ask for the file that has the actions; the window goes on meanwhile."""
        self._ask("Actions of the recording", TRANSITIONS, self.inputs)

    def _ask(self, title: str, names: str, line: QLineEdit) -> None:
        dialog = QFileDialog(self.window(), title, "", names)
        told = Path(line.text())
        if told.is_absolute() and told.parent.is_dir():
            dialog.setDirectory(str(told.parent))
        elif self.folder is not None:
            dialog.setDirectory(str(self.folder))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setModal(False)
        dialog.fileSelected.connect(line.setText)
        dialog.finished.connect(dialog.deleteLater)
        dialog.show()
