"""The largest difference of each field, and the tolerance it is held to, to be set."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from isoscope.widgets.look import scaled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.replay.forms import FieldMaximum, Place

HEADS = ("field", "largest", "unit", "where", "steps", "tolerance")
FIELD, LARGEST, UNIT, WHERE, STEPS, TOLERANCE = range(6)
BY_RULE = "—"


def place_short(place: Place | None) -> str:
    """``"env 2 · 1/20"``."""
    if place is None:
        return ""
    parts = [] if place.env is None else [f"env {place.env}"]
    if place.episode is not None and place.control_step is not None:
        parts.append(f"{place.episode}/{place.control_step}")
    elif place.native is not None:
        parts.append(f"native {place.native}")
    return " · ".join(parts)


def _allowed(value: float | None) -> str:
    return BY_RULE if value is None else f"{value:g}"


class FieldsTable(QTableWidget):
    """A row a field; a click plots it, a double click or Enter goes to its largest.

    Tells `field_chosen` (its full name), `row_wanted`, and `tolerance_set` (the field's
    name, and a number or None).
    """

    field_chosen = Signal(str)
    row_wanted = Signal(int)
    tolerance_set = Signal(str, object)
    refused = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, len(HEADS), parent)
        self.setObjectName("replay-fields")
        self.setHorizontalHeaderLabels(HEADS)
        self.verticalHeader().hide()
        self.setShowGrid(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(
            QAbstractItemView.EditTrigger.EditKeyPressed
            | QAbstractItemView.EditTrigger.SelectedClicked
            | QAbstractItemView.EditTrigger.DoubleClicked
        )
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        head = self.horizontalHeader()
        head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        head.setSectionResizeMode(FIELD, QHeaderView.ResizeMode.Stretch)
        head.setHighlightSections(False)
        head.setDefaultAlignment(
            Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        )
        told = QTableWidgetItem(HEADS[TOLERANCE])
        told.setToolTip(
            "What a field may differ by, in its unit. A double click, or F2, sets it "
            "for all fields of that name; empty takes it back. Run again to judge by "
            "it."
        )
        self.setHorizontalHeaderItem(TOLERANCE, told)
        self._maxima: list[FieldMaximum] = []
        self._filling = False
        self.currentCellChanged.connect(self._chosen)
        self.itemChanged.connect(self._edited)
        self.cellDoubleClicked.connect(self._go)

    def show_maxima(
        self, maxima: list[FieldMaximum], tolerances: Mapping[str, float]
    ) -> None:
        """Show these, the largest first, with the tolerances that are set."""
        self._filling = True
        if maxima == self._maxima:
            for at, one in enumerate(maxima):
                self._show_tolerance(at, tolerances.get(one.field))
            self._filling = False
            return
        self._maxima = list(maxima)
        self.setRowCount(len(maxima))
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 7)
        for at, one in enumerate(maxima):
            named = tolerances.get(one.field)
            texts = (
                f"{one.actor}.{one.field}",
                f"{one.value:.4g}" if one.value else "0",
                one.unit or "",
                place_short(one.at),
                f"{one.differing_steps:,} of {one.compared_steps:,}",
                _allowed(named),
            )
            for column, text in enumerate(texts):
                item = QTableWidgetItem(text)
                flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
                if column == TOLERANCE:
                    flags |= Qt.ItemFlag.ItemIsEditable
                item.setFlags(flags)
                item.setFont(scaled(self.font(), 0.92))
                item.setToolTip(text if column == FIELD else "")
                self.setItem(at, column, item)
        self._filling = False

    def _show_tolerance(self, at: int, value: float | None) -> None:
        item = self.item(at, TOLERANCE)
        if item is not None:
            item.setText(_allowed(value))

    def choose(self, full_name: str) -> None:
        """Choose a field without telling it."""
        self._filling = True
        for at, one in enumerate(self._maxima):
            named = f"{one.actor}.{one.field}" == full_name
            if named and at != self.currentRow():  # else its column stays, too
                self.setCurrentCell(at, FIELD)
        self._filling = False

    def _chosen(self, row: int, _column: int, before: int, _c: int) -> None:
        if not self._filling and row != before and 0 <= row < len(self._maxima):
            one = self._maxima[row]
            self.field_chosen.emit(f"{one.actor}.{one.field}")

    def _go(self, row: int, column: int) -> None:
        place = self._maxima[row].at if row < len(self._maxima) else None
        if column != TOLERANCE and place is not None and place.native is not None:
            self.row_wanted.emit(place.native)

    def _edited(self, item: QTableWidgetItem) -> None:
        if self._filling or item.column() != TOLERANCE:
            return
        name, text = self._maxima[item.row()].field, item.text().strip()
        if text in ("", BY_RULE):
            self.tolerance_set.emit(name, None)
            return
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not (isfinite(value) and value >= 0):
            self.refused.emit(
                f"a tolerance of {text!r} for {name}: give a number of at least 0, in "
                "the field's unit"
            )
            self.tolerance_set.emit(name, None)
            return
        self.tolerance_set.emit(name, value)
