"""The fields of a source: whether, as what and in which units each is written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from isoscope.core.dataset.exporters.plan import BY_ROLE, FieldMap
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PySide6.QtCore import QEvent, QModelIndex

    from isoscope.core.dataset.model import Feature

FIELD, KIND, NAME, UNITS, DTYPE = range(5)
HEADS = ["field", "values", "in the dataset", "units", "convert to"]
ROWS_SHOWN = 5
ABOUT = {
    FIELD: "What is not checked is left out",
    NAME: "Double click or F2: another name; empty: what the format calls it",
    UNITS: "Where the source doesn't tell: one for all components, or one each: m, m/s",
    DTYPE: "A type to convert to, such as float32; empty keeps every bit",
}


class FieldsTree(QTreeWidget):
    """One line a field: checked or left out; its name, units and type can be typed."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._filling = False
        self._features: dict[str, Feature] = {}
        self._typed: dict[str, FieldMap] = {}
        self._names: Mapping[str, str] = {}
        self.setHeaderLabels(HEADS)
        for column, text in ABOUT.items():
            self.headerItem().setToolTip(column, text)
        self.setAccessibleName("Fields")
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        # So that the arrow keys go from column to column.
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
        triggers = QAbstractItemView.EditTrigger
        self.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed)
        self.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.header().setStretchLastSection(True)
        self.itemChanged.connect(self._item_changed)

    def show_fields(
        self, features: Sequence[Feature], typed: Mapping[str, FieldMap]
    ) -> None:
        """List the fields of a source, and what was typed for them."""
        self._features = {feature.name: feature for feature in features}
        self._typed = {k: v for k, v in typed.items() if k in self._features}
        self._names = {}
        self._filling = True
        self.clear()
        for feature in features:
            shape = f" {list(feature.shape)}" if feature.shape else ""
            item = QTreeWidgetItem([feature.name, f"{feature.dtype}{shape}"])
            flags = Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsEditable
            item.setFlags(item.flags() | flags)
            for column, text in ABOUT.items():
                item.setToolTip(column, text)
            self.addTopLevelItem(item)
        self._filling = False
        self._fill()
        row = max(self.sizeHintForRow(0), self.fontMetrics().height() + 4)
        shown = min(max(len(features), 1), ROWS_SHOWN)
        frame = self.header().sizeHint().height() + 4
        # Where there is room all of them are shown, without scrolling.
        self.setMinimumHeight(frame + shown * row)
        self.setMaximumHeight(frame + max(len(features), 1) * row)
        self.setToolTip(counted(len(features), "field"))

    def show_names(self, names: Mapping[str, str]) -> None:
        """Say what they are called in the dataset; ``–`` for what is not in it."""
        self._names = names
        self._fill()

    def _fill(self) -> None:
        self._filling = True
        for row in range(self.topLevelItemCount()):
            item = self.topLevelItem(row)
            assert item is not None
            feature = self._features[item.text(FIELD)]
            one = self._typed.get(feature.name, FieldMap(feature.name, BY_ROLE))
            on = bool(one.target)
            item.setCheckState(
                FIELD, Qt.CheckState.Checked if on else Qt.CheckState.Unchecked
            )
            named = one.target not in ("", BY_ROLE)
            told = self._names.get(feature.name, "–") if self._names else ""
            for column, text, typed in (
                (NAME, one.target if named else (told if on else "–"), named),
                (UNITS, units_text(one.units or feature.units), bool(one.units)),
                (DTYPE, one.dtype or "", bool(one.dtype)),
            ):
                item.setText(column, text)
                font = self.font()
                font.setBold(typed)
                item.setFont(column, font)
        self._filling = False

    @property
    def typed(self) -> dict[str, FieldMap]:
        """What was typed or left out, by field."""
        return dict(self._typed)

    def edit(  # type: ignore[override]  # Qt's own, of which this is one overload
        self,
        index: QModelIndex,
        trigger: QAbstractItemView.EditTrigger,
        event: QEvent,
    ) -> bool:
        """Let names, units and types be typed; a field is only checked or not."""
        if index.column() in (FIELD, KIND):
            if trigger is not QAbstractItemView.EditTrigger.EditKeyPressed:
                trigger = QAbstractItemView.EditTrigger.NoEditTriggers
            else:
                index = index.siblingAtColumn(NAME)
                self.setCurrentIndex(index)
        return bool(super().edit(index, trigger, event))

    def _item_changed(self, item: QTreeWidgetItem, column: int) -> None:
        if self._filling:
            return
        feature = self._features[item.text(FIELD)]
        one = self._typed.get(feature.name, FieldMap(feature.name, BY_ROLE))
        text = item.text(column).strip()
        if column == FIELD:
            on = item.checkState(FIELD) is Qt.CheckState.Checked
            if on == bool(one.target):
                return
            one = replace(one, target=BY_ROLE if on else "")
        elif column == NAME:
            before = self._names.get(feature.name)
            same = text == before and one.target == BY_ROLE
            one = replace(one, target=BY_ROLE if same or text in ("", "–") else text)
        elif column == UNITS:
            same = text == units_text(feature.units)
            units = () if same or not text else tuple(_parts(text))
            one = replace(one, units=units)
        elif column == DTYPE:
            one = replace(one, dtype=text or None)
        self._typed[feature.name] = one
        if one == FieldMap(feature.name, BY_ROLE):
            del self._typed[feature.name]
        self._fill()
        self.changed.emit()


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def units_text(units: Sequence[str | None]) -> str:
    """Units of components: one if they are all the same, ``?`` where unknown."""
    told = ["?" if unit is None else unit for unit in units]
    if not told or all(unit is None for unit in units):
        return ""
    return told[0] if len(set(told)) == 1 else ", ".join(told)
