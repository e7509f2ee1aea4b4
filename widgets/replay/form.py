"""What is asked before a recording is stepped again: how, whom, from where, how far."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isoscope.widgets.replay.branches import BranchForm
from isoscope.widgets.replay.count import CountLine
from isoscope.widgets.replay.model_row import ModelRow
from isoscope.widgets.replay.request import (
    WAYS,
    EngineName,
    ModelChoice,
    Request,
    Way,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.widgets.replay.state import ReplayState

BEGINNING, CURSOR = "the beginning", "the cursor"
OURS = "isoscope"
ENGINES: dict[EngineName, str] = {
    "": "engine it was recorded with",
    "builtin": "built-in simulator",
    "superdex": "SuperDex, in a process of its own",
    "model": "a model of yours, standing in",
}
FACTORY = (
    "The Python file and the function in it that makes the recorded scene; its "
    "reference and its source's hash are compared with the recorded ones."
)
WHAT_IF = (
    "Go on from the cursor with other actions, another configuration or another state, "
    "and compare: a branch beside the recording"
)
NO_BRANCH = "A bare recording has no snapshot that a branch could begin from"
NO_MODEL = "choose the model first"
BY_MODEL: tuple[Way, ...] = ("actions", "pinned")  # it knows nobody to be alone with


class ReplayForm(QWidget):
    """Tells `changed`, and what its buttons ask: `run_asked`, `cancel_asked`."""

    changed = Signal()
    run_asked = Signal()
    cancel_asked = Signal()
    copy_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tolerances: dict[str, float] = {}
        self._filling = False
        self._recorded_by_other = self._bare = False
        self._make_parts()
        self._lay_out()

    def _make_parts(self) -> None:
        self.ways: dict[Way, QToolButton] = {}
        group = QButtonGroup(self)
        for way, (text, about) in WAYS.items():
            button = QToolButton()
            button.setText(text)
            button.setToolTip(about)
            button.setCheckable(True)
            button.setObjectName(f"replay-{way}")
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            group.addButton(button)
            button.clicked.connect(self._told)
            self.ways[way] = button
        self.ways["actions"].setChecked(True)
        self.whatif = QToolButton()
        self.whatif.setText("What if")
        self.whatif.setObjectName("replay-whatif")
        self.whatif.setToolTip(WHAT_IF)
        self.whatif.setCheckable(True)
        self.whatif.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        group.addButton(self.whatif)
        self.whatif.clicked.connect(self._told)
        self.branches = BranchForm()
        self.env, self.start, self.engine = QComboBox(), QComboBox(), QComboBox()
        self.env.addItem("all environments", None)
        for text in (BEGINNING, CURSOR):
            self.start.addItem(text, text)
        for engine, name in ENGINES.items():
            self.engine.addItem(name, engine)
        self.module = QLineEdit()
        self.module.setPlaceholderText("FILE:FACTORY of your scene")
        self.module.setToolTip(FACTORY)
        self.model = ModelRow()
        self.steps = CountLine("all")
        self.steps.setToolTip("Control steps of each environment")
        for combo in (self.env, self.start, self.engine):
            combo.currentIndexChanged.connect(self._told)
            combo.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            combo.setMinimumContentsLength(8)
            combo.setSizeAdjustPolicy(
                QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            )
        self.steps.textChanged.connect(self._told)
        self.module.textChanged.connect(self._told)
        self.model.changed.connect(self._told)
        self.run, self.cancel = QPushButton("Run"), QPushButton("Cancel")
        self.run.setObjectName("primary")
        self.copy = QPushButton("Copy command")
        self.copy.setToolTip("The same as an isoscope replay command line")
        self.run.clicked.connect(self.run_asked)
        self.cancel.clicked.connect(self.cancel_asked)
        self.copy.clicked.connect(self.copy_asked)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(4)
        self.doing = QLabel()
        self.doing.setObjectName("dim")

    def _lay_out(self) -> None:
        ways = QHBoxLayout()
        ways.setSpacing(2)
        for button in self.ways.values():
            ways.addWidget(button)
        ways.addWidget(self.whatif)
        ways.addStretch(1)
        self._asked = QWidget()
        grid = QGridLayout(self._asked)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(4)
        self._engine_label = QLabel("by the")
        self._module_label = QLabel("made by")
        named = (
            (QLabel("compare"), self.env, 0, 0),
            (QLabel("from"), self.start, 0, 2),
            (self._engine_label, self.engine, 1, 0),
            (QLabel("steps"), self.steps, 1, 2),
            (self._module_label, self.module, 2, 0),
        )
        for label, part, line, column in named:
            label.setObjectName("dim")
            label.setBuddy(part)
            part.setAccessibleName(label.text())
            grid.addWidget(label, line, column)
            span = 3 if part is self.module else 1
            grid.addWidget(part, line, column + 1, 1, span)
        grid.addWidget(self.model, 3, 0, 1, 4)
        grid.setColumnStretch(1, 3)
        grid.setColumnStretch(3, 2)
        buttons = QHBoxLayout()
        buttons.setSpacing(6)
        for act in (self.run, self.cancel):
            act.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            buttons.addWidget(act)
        buttons.addWidget(self.doing, 1)
        buttons.addWidget(self.copy)
        column_box = QVBoxLayout(self)
        column_box.setContentsMargins(10, 6, 10, 2)
        column_box.setSpacing(5)
        column_box.addLayout(ways)
        column_box.addWidget(self._asked)
        column_box.addWidget(self.branches)
        column_box.addLayout(buttons)
        column_box.addWidget(self.bar)
        self._show_module()

    # -- what is asked -----------------------------------------------------------------

    @property
    def from_cursor(self) -> bool:
        """Whether it begins at the cursor."""
        return bool(self.start.currentData() == CURSOR)

    @property
    def way(self) -> Way:
        """How it is stepped."""
        chosen = [way for way, button in self.ways.items() if button.isChecked()]
        return chosen[0] if chosen else "actions"

    @property
    def branching(self) -> bool:
        """Whether a branch is to be made instead."""
        return self.whatif.isChecked()

    def request(self, cursor: int) -> Request:
        """What is asked for, at this cursor."""
        engine = cast("EngineName", self.engine.currentData())
        return Request(
            way=self.way,
            env=self.env.currentData(),
            start=cursor if self.from_cursor else None,
            steps=self.steps.value(),
            tolerances=dict(self._tolerances),
            engine=engine,
            module=self.module.text().strip() if self._needs_module else "",
            model=self.model.choice if self.by_model else ModelChoice(),
        )

    def set_way(self, way: Way) -> None:
        """Choose how it is stepped."""
        self.ways[way].setChecked(True)
        self._told()

    def set_engine(self, engine: EngineName, module: str = "") -> None:
        """Choose what steps it."""
        self.engine.setCurrentIndex(self.engine.findData(engine))
        self.module.setText(module)

    @property
    def by_model(self) -> bool:
        """Whether a model stands in for the engine."""
        return bool(self.engine.currentData() == "model")

    @property
    def _needs_module(self) -> bool:
        engine = self.engine.currentData()
        return bool(engine == "superdex" or (not engine and self._recorded_by_other))

    def show_bare(self, bare: bool) -> None:
        """Say whether it is a bare recording: only a model steps one again."""
        if bare == self._bare:
            return
        self._bare = bare
        items = self.engine.model()
        for at in range(self.engine.count()):
            item = items.item(at) if isinstance(items, QStandardItemModel) else None
            if item is not None:
                item.setEnabled(not bare or self.engine.itemData(at) == "model")
        if bare:
            self.whatif.setToolTip(NO_BRANCH)
        else:
            self.whatif.setToolTip(WHAT_IF)
        self._told()

    def show_recorded(self, engine: str) -> None:
        """Say what it was recorded with; only ours needs no scene of the user's."""
        self._recorded_by_other = bool(engine) and engine != OURS
        name = f" ({engine})" if engine else ""
        self.engine.setItemText(0, f"{ENGINES['']}{name}")
        self._show_module()

    def show_environments(self, envs: Sequence[int], chosen: int | None) -> None:
        """Offer these environments."""
        self._filling = True
        self.env.clear()
        self.env.addItem("all environments", None)
        for env in envs:
            self.env.addItem(f"env {env}", env)
        at = self.env.findData(chosen) if chosen is not None else 0
        self.env.setCurrentIndex(max(at, 0))
        self._filling = False

    @property
    def tolerances(self) -> dict[str, float]:
        """By field's name, in its unit."""
        return dict(self._tolerances)

    def set_tolerance(self, name: str, value: float | None) -> None:
        """Take differences of a field up to a value for none; None takes that back."""
        if value is None:
            self._tolerances.pop(name, None)
        else:
            self._tolerances[name] = value
        self._told()

    def _told(self, *_: object) -> None:
        self._show_module()
        if not self._filling:
            self.changed.emit()

    def _show_module(self) -> None:
        for part in (self._module_label, self.module):
            part.setVisible(self._needs_module)
        self.model.setVisible(self.by_model)
        if self.by_model and self.way not in BY_MODEL:
            self.ways["actions"].setChecked(True)

    # -- how far it is -----------------------------------------------------------------

    def show_state(self, state: ReplayState, *, stale: bool) -> None:
        """Show whether it runs; `stale` says that what is shown is of another form."""
        running = bool(state.running)
        choosers = (self.env, self.start, self.engine)
        for chooser in (*choosers, self.model, self.branches, self.steps, self.module):
            chooser.setEnabled(not running)
        for way, button in self.ways.items():
            button.setEnabled(not running and (not self.by_model or way in BY_MODEL))
        self.whatif.setEnabled(not running and not self._bare)
        self._asked.setVisible(not self.branching)
        self.branches.setVisible(self.branching)
        self.copy.setVisible(not self.branching)
        self.run.setVisible(not running and not self.branching)
        self.cancel.setVisible(running)
        self.cancel.setEnabled(not state.cancelling)
        named = not self.by_model or bool(self.model.choice.model)
        self.run.setEnabled(named)
        self.run.setText("Run" if state.shown is None or stale else "Run again")
        self.bar.setVisible(running)
        if running:
            self.show_progress(state)
        else:
            said = "what is shown is of another request" if stale else ""
            said = said if named else NO_MODEL
            self.doing.setText("" if self.branching else said)
        self.doing.setVisible(running or not self.branching)  # else the line is empty

    def show_progress(self, state: ReplayState) -> None:
        """Show how far it is."""
        total = max(state.total, 0)
        self.bar.setRange(0, total)  # 0 to 0 is busy
        self.bar.setValue(min(state.done, total))
        far = f": {state.done:,} of {total:,} native steps" if total else "…"
        words = "Stopping" if state.cancelling else state.running
        self.doing.setText(f"{words}{far}")
