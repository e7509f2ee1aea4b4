"""The validation's rules: what fails and where, with a jump there and a waiver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from isoscope.core.dataset.validate.words import place_text, told
from isoscope.widgets.export.words import SHAPES, kind_of, ordered, sentence
from isoscope.widgets.theme import DARK

if TYPE_CHECKING:
    from isoscope.core.dataset.validate.report import Report
    from isoscope.widgets.theme import Tokens

RULE, TIMES, TEXT = range(3)
OF = Qt.ItemDataRole.UserRole  # the rule's id, or the place


class ReportView(QWidget):
    """What validation found; a click on a place goes there."""

    went = Signal(object)  # Where
    waived = Signal(str, str)  # rule, why
    restored = Signal(str)  # a rule whose waiver is taken back

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._t: Tokens = DARK
        self.report: Report | None = None
        self.said, self.stale = QLabel(), QLabel()
        for label in (self.said, self.stale):
            label.setWordWrap(True)
        self.stale.setObjectName("export-stale")
        self.tree = QTreeWidget()
        self.tree.setHeaderLabels(["rule", "times", "what"])
        self.tree.setAccessibleName("Rules")
        self.tree.setUniformRowHeights(True)
        self.tree.setIndentation(14)
        self.tree.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.tree.header().setSectionResizeMode(
            RULE, QHeaderView.ResizeMode.ResizeToContents
        )
        self.tree.header().setSectionResizeMode(
            TIMES, QHeaderView.ResizeMode.ResizeToContents
        )
        self.tree.header().setStretchLastSection(True)
        self.tree.setMinimumHeight(120)
        self.tree.itemClicked.connect(self._go)
        self.tree.itemActivated.connect(self._go)
        self.tree.currentItemChanged.connect(self._chosen)
        self.why = QLineEdit()
        self.why.setAccessibleName("Why the rule may fail")
        self.waive, self.restore = QPushButton("Waive"), QPushButton("Take back")
        for button in (self.waive, self.restore):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.why.textChanged.connect(self._typed)
        self.why.returnPressed.connect(self._waive)
        self.waive.clicked.connect(self._waive)
        self.restore.clicked.connect(lambda: self.restored.emit(self.chosen_rule or ""))
        line = QHBoxLayout()
        line.addWidget(self.why, 1)
        line.addWidget(self.waive)
        line.addWidget(self.restore)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 2, 10, 2)
        column.setSpacing(4)
        for part in (self.said, self.stale, self.tree):
            column.addWidget(part, 1 if part is self.tree else 0)
        column.addLayout(line)
        self.show_report(None)

    @property
    def chosen_rule(self) -> str | None:
        """The rule that is chosen, or whose place is."""
        item = self.tree.currentItem()
        while item is not None and item.parent() is not None:
            item = item.parent()
        return None if item is None else str(item.data(RULE, OF))

    def set_look(self, t: Tokens) -> None:
        """Take the theme's colours."""
        self._t = t
        self.show_report(self.report)

    def show_report(self, report: Report | None, *, stale: bool = False) -> None:
        """Show a validation; `stale` if episodes or fields are others by now."""
        kept = self.chosen_rule
        self.report = report
        self.setVisible(report is not None)
        self.tree.clear()
        if report is None:
            self._chosen()
            return
        self.said.setText(sentence(report))
        self.stale.setVisible(stale)
        self.stale.setText("● What is chosen has changed since. Validate again.")
        inks = {"error": self._t.error, "warning": self._t.warning}
        for rule in ordered(report):
            kind = kind_of(rule)
            times = f"{rule.count:,}" if rule.count else ""
            item = QTreeWidgetItem([f"{SHAPES[kind]} {rule.id}", times, told(rule)])
            item.setData(RULE, OF, rule.id)
            item.setToolTip(RULE, f"{kind}: {rule.about}")
            item.setToolTip(TEXT, told(rule))
            item.setForeground(RULE, QColor(inks.get(kind, self._t.dim)))
            for place in rule.where:
                below = QTreeWidgetItem(["", "", f"↦ {place_text(place)}"])
                below.setData(TEXT, OF, place)
                below.setToolTip(TEXT, "Go there")
                below.setForeground(TEXT, QColor(self._t.accent))
                item.addChild(below)
            rest = rule.count - len(rule.where)
            if rule.where and rest > 0:
                item.addChild(QTreeWidgetItem(["", "", f"and {rest:,} more"]))
            self.tree.addTopLevelItem(item)
            item.setExpanded(rule.answer == "failed")
            if rule.id == kept:
                self.tree.setCurrentItem(item)
        self._chosen()

    def _go(self, item: QTreeWidgetItem) -> None:
        place = item.data(TEXT, OF)
        if place is not None:
            self.went.emit(place)

    def _chosen(self, *_: object) -> None:
        """Offer a waiver for what failed."""
        rules = {} if self.report is None else {r.id: r for r in self.report.rules}
        rule = rules.get(self.chosen_rule or "")
        failed = rule is not None and rule.answer == "failed"
        self.why.setVisible(failed)
        self.waive.setVisible(failed)
        self.restore.setVisible(rule is not None and rule.answer == "waived")
        if rule is not None and failed:
            self.why.setPlaceholderText(
                f"Why {rule.id} may fail; this travels with the data"
            )
        self._typed()

    def _typed(self, *_: object) -> None:
        self.waive.setEnabled(bool(self.why.text().strip()))

    def _waive(self) -> None:
        rule, why = self.chosen_rule, self.why.text().strip()
        if rule and why and self.waive.isVisibleTo(self):
            self.why.clear()
            self.waived.emit(rule, why)
