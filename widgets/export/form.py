"""What an export is asked for with: format, target, splits, fields."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isoscope.core.dataset.exporters.plan import ExportOptions
from isoscope.core.dataset.exporters.registry import EXPORTERS, exporter
from isoscope.core.dataset.exporters.splits import Splits
from isoscope.core.errors import UsageError
from isoscope.widgets.export.fields import FieldsTree
from isoscope.widgets.export.request import Request

if TYPE_CHECKING:
    from isoscope.core.dataset.exporters.splits import By

# What a file or folder of the format is called, after the recording's name.
ENDINGS = {
    "lerobot": "-lerobot",
    "minari": "-v0",
    "robomimic": "-robomimic.hdf5",
    "maniskill": "-maniskill",
    "shards": "-shards",
    "isoscope": "-chosen.isoscope.h5",
}
# Which formats have a place for what a source may not say.
ASKS = {
    "Task": ("lerobot",),
    "Robot type": ("lerobot",),
    "Environment's name": ("robomimic", "maniskill"),
}


class ExportForm(QWidget):
    """The form; it tells when something in it is another."""

    changed = Signal()
    browse_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._source: Path | None = None
        self._filling = False
        self.formats: dict[str, QToolButton] = {}
        self._group = QButtonGroup(self)
        self.about = QLabel()
        self.about.setObjectName("dim")
        self.about.setWordWrap(True)
        self.target = QLineEdit()
        self.target.setAccessibleName("Target")
        self.browse = QPushButton("Folder…")
        self.browse.setToolTip("Choose the folder that it is put into")
        self.overwrite = QCheckBox("replace")
        self.overwrite.setToolTip("Replace what is there, in one step")
        self.split = QLineEdit()
        self.split.setPlaceholderText("none; such as train=0.9, valid=0.1")
        self.split.setAccessibleName("Splits: shares by name")
        self.by = QToolButton()
        self.by.setText("by episode")
        self.by.setToolTip("What stays together: an episode, or all of an environment")
        self.by.setCheckable(True)
        self.seed = QLineEdit("0")
        self.seed.setFixedWidth(56)
        self.seed.setAccessibleName("Seed of the split")
        self.fps = QLineEdit()
        self.fps.setPlaceholderText("control steps a second: the source doesn't say")
        self.fps.setAccessibleName("Control steps a second")
        self.task, self.robot, self.env = QLineEdit(), QLineEdit(), QLineEdit()
        for line, text, about in (
            (self.task, "task, where episodes don't say", "Task"),
            (self.robot, "robot", "Robot type"),
            (self.env, "name of the environment", "Environment's name"),
        ):
            line.setPlaceholderText(text)
            line.setAccessibleName(about)
        self.next_observation = QCheckBox("also the observation after each step")
        self.next_observation.setToolTip(
            "LeRobot frames have no place for what an episode ended in; this keeps it"
        )
        self.fields = FieldsTree()
        self._lay_out()
        for line in (
            *(self.target, self.split, self.seed, self.fps),
            *(self.task, self.robot, self.env),
        ):
            line.textChanged.connect(self._changed)
        for box in (self.overwrite, self.next_observation):
            box.toggled.connect(self._changed)
        self.by.toggled.connect(self._by_changed)
        self.fields.changed.connect(self._changed)
        self.browse.clicked.connect(lambda: self.browse_asked.emit())
        self.choose("lerobot")

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(4)
        for key in EXPORTERS:
            button = QToolButton()
            button.setText(key)
            button.setCheckable(True)
            button.setToolTip(_about(key))
            button.clicked.connect(lambda _=False, key=key: self.choose(key))
            self._group.addButton(button)
            self.formats[key] = button
            row.addWidget(button)
        row.addStretch(1)
        self._fps_label, self._told_label = QLabel("Rate"), QLabel("Says")
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)
        for number, (label, parts) in enumerate(
            (
                (QLabel("Format"), (row,)),
                (QLabel("Target"), (self.target, self.browse, self.overwrite)),
                (
                    QLabel("Splits"),
                    (self.split, self.by, QLabel("seed"), self.seed),
                ),
                (self._fps_label, (self.fps,)),
                (self._told_label, (self.task, self.robot, self.env)),
            )
        ):
            label.setObjectName("dim")
            grid.addWidget(label, number, 0)
            line = QHBoxLayout()
            line.setSpacing(6)
            for part in parts:
                if isinstance(part, QHBoxLayout):
                    line.addLayout(part, 1)
                else:
                    line.addWidget(part, 1 if isinstance(part, QLineEdit) else 0)
            grid.addLayout(line, number, 1)
        self.seed.setMaximumWidth(56)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 8, 10, 2)
        column.setSpacing(5)
        column.addLayout(grid)
        line = QHBoxLayout()
        line.addWidget(self.about, 1)
        line.addWidget(self.next_observation)
        column.addLayout(line)
        column.addWidget(self.fields, 1)
        column.addStretch(0)  # what is left where all fields are shown

    # -- what is asked for -------------------------------------------------------------

    @property
    def format(self) -> str:
        """The key of the chosen format."""
        return next(key for key, button in self.formats.items() if button.isChecked())

    def choose(self, format: str) -> None:
        """Choose a format; a target that was only suggested goes with it."""
        suggested = not self.target.text() or self.target.text() == self._suggested
        self.formats[format].setChecked(True)
        self.about.setText(_about(format))
        self.next_observation.setVisible(format == "lerobot")
        for line in (self.task, self.robot, self.env):
            line.setVisible(format in ASKS[line.accessibleName()])
        asks = any(not line.isHidden() for line in (self.task, self.robot, self.env))
        self._told_label.setVisible(asks)
        if suggested:
            self._filling = True
            self.target.setText(self.suggestion())
            self._filling = False
        self._suggested = self.suggestion()
        self._changed()

    _suggested = ""

    def suggestion(self) -> str:
        """The target that is suggested: beside the source."""
        if self._source is None:
            return ""
        stem = self._source.name.split(".")[0] or self._source.name
        return str(self._source.parent / f"{stem}{ENDINGS[self.format]}")

    def show_source(
        self, source: Path | None, target: str, *, hz: float | None
    ) -> None:
        """Ask about another source; `target` as it was typed for it, if it was."""
        self._source = source
        self._suggested = self.suggestion()
        self._filling = True
        self.target.setText(target or self._suggested)
        self.overwrite.setChecked(False)
        self._filling = False
        for part in (self._fps_label, self.fps):
            part.setVisible(hz is None)

    @property
    def typed(self) -> str:
        """The target, where it isn't the suggested one."""
        text = self.target.text()
        return "" if text == self._suggested else text

    def request(self) -> Request:
        """What is asked for, without waivers.

        Raises
        ------
        UsageError
            If something that was typed can't be understood.
        """
        target = self.target.text().strip()
        if not target:
            raise UsageError("say where to: the target is empty")
        by: By = "environment" if self.by.isChecked() else "episode"
        splits = None
        if self.split.text().strip():
            splits = Splits.parse(self.split.text(), by, self._seed())
        fps = None
        if self.fps.isVisibleTo(self) and self.fps.text().strip():
            fps = self._number(self.fps.text())
        return Request(
            self.format,
            Path(target).expanduser().absolute(),
            splits,
            ExportOptions(
                fps=fps,
                next_observation=self.next_observation.isChecked()
                and self.format == "lerobot",
                task=self._text(self.task),
                robot_type=self._text(self.robot),
                env_name=self._text(self.env),
            ),
            tuple(self.fields.typed.values()),
            self.overwrite.isChecked(),
        )

    @staticmethod
    def _text(line: QLineEdit) -> str:
        """What was typed, where the format asks for it."""
        return "" if line.isHidden() else line.text().strip()

    def _seed(self) -> int:
        text = self.seed.text().strip() or "0"
        if not (text.isascii() and text.isdecimal()):
            raise UsageError(f"the seed {text!r} is no whole number from 0 on")
        return int(text)

    @staticmethod
    def _number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value < 1e9:
            raise UsageError(f"the rate {text.strip()!r} is no number above 0")
        return value

    def _by_changed(self, on: bool) -> None:
        self.by.setText("by environment" if on else "by episode")
        self._changed()

    def _changed(self, *_: object) -> None:
        if not self._filling:
            self.changed.emit()

    def lock(self, on: bool) -> None:
        """Let nothing be changed while it is being done."""
        self.setEnabled(not on)


def _about(format: str) -> str:
    try:
        return exporter(format).ABOUT
    except ImportError as error:
        return f"needs the package {error.name}, which is not installed"
