"""What came out: the claims, the sentence, the differences, and all the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from isoscope.core.replay.replay_sentence import verdict
from isoscope.core.replay.stand_in.forms import StandIn
from isoscope.core.summary import counted
from isoscope.widgets.replay.claims import ClaimsBar
from isoscope.widgets.replay.fields import FieldsTable
from isoscope.widgets.replay.notes import about_html, configuration_html, stand_in_html
from isoscope.widgets.replay.plot import DifferencePlot
from isoscope.widgets.replay.sentence import Sentence
from isoscope.widgets.theme import DARK, Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.replay.states import Replayed, Trace

LEAST_PX = 250  # for the plot and what is below it
FIELDS, CONFIGURATION, ABOUT = range(3)
TABS = ("Fields", "Configuration", "About it")


class ResultView(QWidget):
    """Tells `row_wanted`, and what the fields' table tells."""

    row_wanted = Signal(int)
    past_wanted = Signal(int)  # a step past the recorded end

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._t: Tokens = DARK
        self._found: Replayed | None = None
        self._focus: int | None = None
        self.head = QLabel()
        self.head.setObjectName("dim")
        self.claims, self.sentence = ClaimsBar(), Sentence()
        self.plot, self.fields = DifferencePlot(), FieldsTable()
        self.field = QComboBox()
        self.field.setAccessibleName("Field that is plotted")
        self.field.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.log = QToolButton()
        self.log.setText("log")
        self.log.setCheckable(True)
        self.log.setProperty("flat", True)
        self.log.setToolTip("Plot by decades; 0 has a line of its own at the bottom")
        self.fit = QToolButton()
        self.fit.setText("Fit")
        self.fit.setProperty("flat", True)
        self.fit.setToolTip("Show all compared native steps (double-click the plot)")
        self.past = QToolButton()
        self.past.setProperty("flat", True)
        self.past.setToolTip("Go to where it goes on past what was recorded, and play")
        self._make_tabs()
        self._lay_out()
        self.field.currentTextChanged.connect(self._plot_field)
        self.log.clicked.connect(self.plot.set_log)
        self.fit.clicked.connect(self.plot.fit)
        self.plot.row_wanted.connect(self.row_wanted)
        self.plot.past_wanted.connect(self.past_wanted)
        self.past.clicked.connect(lambda: self.past_wanted.emit(1))
        self.fields.row_wanted.connect(self.row_wanted)
        self.fields.field_chosen.connect(self.field.setCurrentText)
        self.sentence.asked.connect(self.go)

    def _make_tabs(self) -> None:
        self.stack = QStackedWidget()
        self.configuration, self.about = QLabel(), QLabel()
        self.tabs: list[QToolButton] = []
        group = QButtonGroup(self)
        for at, text in enumerate(TABS):
            button = QToolButton()
            button.setText(text)
            button.setCheckable(True)
            button.setProperty("flat", True)
            button.setObjectName("replay-tab")
            group.addButton(button)
            button.clicked.connect(
                lambda _=False, at=at: self.stack.setCurrentIndex(at)
            )
            self.tabs.append(button)
        self.tabs[FIELDS].setChecked(True)
        self.stack.addWidget(self.fields)
        for label in (self.configuration, self.about):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.RichText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            label.setAlignment(Qt.AlignmentFlag.AlignTop)
            label.setMargin(6)
            scroll = QScrollArea()
            scroll.setWidgetResizable(True)
            scroll.setWidget(label)
            self.stack.addWidget(scroll)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(10, 0, 8, 0)
        head.setSpacing(4)
        head.addWidget(self.field, 1)
        head.addWidget(self.log)
        head.addWidget(self.fit)
        plotted = QWidget()
        above = QVBoxLayout(plotted)
        above.setContentsMargins(0, 2, 0, 0)
        above.setSpacing(3)
        above.addLayout(head)
        above.addWidget(self.plot, 1)
        rest = QWidget()
        below = QVBoxLayout(rest)
        below.setContentsMargins(0, 0, 0, 0)
        below.setSpacing(2)
        tabs = QHBoxLayout()
        tabs.setContentsMargins(8, 0, 8, 0)
        for button in self.tabs:
            tabs.addWidget(button)
        tabs.addStretch(1)
        below.addLayout(tabs)
        below.addWidget(self.stack, 1)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setMinimumHeight(LEAST_PX)
        split.setChildrenCollapsible(False)
        split.addWidget(plotted)
        split.addWidget(rest)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        self.sentence.setMargin(2)
        words = QVBoxLayout()
        words.setContentsMargins(10, 0, 10, 0)
        above_it = QHBoxLayout()
        above_it.addWidget(self.head, 1)
        above_it.addWidget(self.past)
        words.addLayout(above_it)
        words.addWidget(self.sentence)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3)
        column.addWidget(self.claims)
        column.addLayout(words)
        column.addWidget(split, 1)

    # -- what is shown -----------------------------------------------------------------

    def show_result(
        self, found: Replayed | None, tolerances: Mapping[str, float]
    ) -> None:
        """Show what came out, with the tolerances as they are set now."""
        new, self._found = found is not self._found, found
        self.setVisible(found is not None)
        if found is None:
            return
        report = found.report
        first = report.first_divergence
        self.head.setText(f"on screen: {found.name}")
        self.past.setVisible(found.past_end is not None)
        if found.past_end is not None:
            self.past.setText(f"{counted(len(found.past_end), 'step')} past the end ▸")
        self.claims.show_claims(report.claims)
        self.sentence.say(
            verdict(report),
            leads=first is not None and first.native is not None,
            wrong=first is not None,
        )
        chosen = self.fields_key()
        self.fields.show_maxima(report.max_difference, tolerances)
        if new:
            self._offer_fields()
            chosen = self.field.currentText()
        self.fields.choose(chosen)
        count = len(report.configuration_differences)
        self.tabs[CONFIGURATION].setText(
            f"{TABS[CONFIGURATION]} ({count} differ)"
            if count > 1
            else f"{TABS[CONFIGURATION]} (1 differs)"
            if count
            else TABS[CONFIGURATION]
        )
        self._write()

    def fields_key(self) -> str:
        """The full name of the field that is plotted."""
        return self.field.currentText()

    def _offer_fields(self) -> None:
        found = self._found
        assert found is not None
        first = found.report.first_divergence
        names = found.states.fields()
        wanted = "" if first is None else f"{first.actor}.{first.field}"
        self.field.blockSignals(True)
        self.field.clear()
        self.field.addItems(names)
        if wanted in names:
            self.field.setCurrentText(wanted)
        self.field.blockSignals(False)
        self.plot.set_log(None)
        self._plot_field()

    def set_focus(self, env: int | None) -> None:
        """Plot one environment, or all."""
        if env != self._focus:
            self._focus = env
            self._plot_field()

    def _plot_field(self, *_: object) -> None:
        found = self._found
        if found is None:
            return
        traces = found.states.of(self.field.currentText())
        past = found.past_end
        away = None if past is None else past.away.get(self.field.currentText())
        self.plot.show_traces(self._of_focus(traces), self._marked(), away)
        self.log.setChecked(self.plot.log)
        self.fields.choose(self.field.currentText())

    def _of_focus(self, traces: list[Trace]) -> list[Trace]:
        own = [trace for trace in traces if trace.env == self._focus]
        return own or traces

    def _marked(self) -> int | None:
        """Where the shown environment departs, else the first that does."""
        report = self._found.report if self._found is not None else None
        if report is None:
            return None
        own = [p.first_divergence for p in report.pairs if p.env_a == self._focus]
        first = own[0] if own else report.first_divergence
        return None if first is None else first.native

    def go(self) -> None:
        """Ask to go to the first divergence."""
        report = self._found.report if self._found is not None else None
        first = None if report is None else report.first_divergence
        if first is not None and first.native is not None:
            self.row_wanted.emit(first.native)

    def set_look(self, t: Tokens) -> None:
        """Take a theme's colours."""
        self._t = t
        for part in (self.claims, self.plot, self.sentence):
            part.set_look(t)
        self._write()

    def _write(self) -> None:
        if self._found is not None:
            report = self._found.report
            self.configuration.setText(configuration_html(report, self._t))
            self.about.setText(
                stand_in_html(report, self._t)
                if isinstance(report, StandIn)
                else about_html(report, self._t)
            )
