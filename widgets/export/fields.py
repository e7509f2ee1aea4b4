"""The fields of a source: what each is called in the dataset, if it is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.dataset.model import Feature

FIELD, KIND, NAME = range(3)
ROWS_SHOWN = 4


class FieldsTree(QTreeWidget):
    """One line a field; one that is not checked is left out."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._filling = False
        self.setHeaderLabels(["field", "values", "in the dataset"])
        self.setAccessibleName("Fields")
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.header().setStretchLastSection(True)
        self.itemChanged.connect(self._item_changed)

    def show_fields(self, features: Sequence[Feature], without: set[str]) -> None:
        """List the fields of a source."""
        self._filling = True
        self.clear()
        for feature in features:
            shape = f" {list(feature.shape)}" if feature.shape else ""
            item = QTreeWidgetItem([feature.name, f"{feature.dtype}{shape}", ""])
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            on = feature.name not in without
            item.setCheckState(
                FIELD, Qt.CheckState.Checked if on else Qt.CheckState.Unchecked
            )
            self.addTopLevelItem(item)
        self._filling = False
        row = max(self.sizeHintForRow(0), self.fontMetrics().height() + 4)
        shown = min(max(len(features), 1), ROWS_SHOWN)
        self.setFixedHeight(self.header().sizeHint().height() + shown * row + 4)
        self.setToolTip(counted(len(features), "field"))

    def show_names(self, names: Mapping[str, str]) -> None:
        """Say what they are called in the dataset; ``–`` for what is not in it."""
        self._filling = True
        for row in range(self.topLevelItemCount()):
            item = self.topLevelItem(row)
            assert item is not None
            item.setText(NAME, names.get(item.text(FIELD), "–") if names else "")
        self._filling = False

    def without(self) -> tuple[str, ...]:
        """The fields that are left out."""
        items = [self.topLevelItem(row) for row in range(self.topLevelItemCount())]
        return tuple(
            item.text(FIELD)
            for item in items
            if item is not None and item.checkState(FIELD) is Qt.CheckState.Unchecked
        )

    def _item_changed(self, _item: QTreeWidgetItem, column: int) -> None:
        if not self._filling and column == FIELD:
            self.changed.emit()
