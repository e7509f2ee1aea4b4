"""The findings' table, and how its cells are painted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from isoscope.widgets.findings.rows import GROUPS, SHAPES, Row
from isoscope.widgets.look import blend, scaled
from isoscope.widgets.theme import DARK, Tokens

if TYPE_CHECKING:
    from PySide6.QtCore import QPersistentModelIndex
    from PySide6.QtGui import QKeyEvent

    AnyIndex = QModelIndex | QPersistentModelIndex

SEVERITY, KIND, WHO, PLACE, EVIDENCE = range(5)
HEADS = ("Severity", "Kind", "Environment", "Episode/control step", "Evidence")
PAD_PX = 7
CHIP_PX = 9
MEASURED = 200  # rows whose width is asked
ROOT = QModelIndex()


class FindingsModel(QAbstractTableModel):
    """The rows; all of a row's cells are texts."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.rows: list[Row] = []

    def show_rows(self, rows: list[Row]) -> None:
        """Show these instead."""
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = ROOT) -> int:  # noqa: N802
        """How many rows."""
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: AnyIndex = ROOT) -> int:  # noqa: N802
        """Severity, kind, environments, place, evidence."""
        return 0 if parent.isValid() else len(HEADS)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """A cell's text; for the tooltip, what the row says."""
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        if role in (
            Qt.ItemDataRole.DisplayRole,
            Qt.ItemDataRole.AccessibleTextRole,
        ):
            return row.texts[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return getattr(row.of, "message", row.evidence)
        return None

    def headerData(  # noqa: N802
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        """What a column is, for those who are read the table."""
        if orientation is Qt.Orientation.Horizontal and (
            role == Qt.ItemDataRole.DisplayRole
        ):
            return HEADS[section]
        return None


class CellPainter(QStyledItemDelegate):
    """Paints severity by shape, word and colour, and environments with their chips."""

    def __init__(self, parent: QTableView) -> None:
        super().__init__(parent)
        self.set_look(DARK, parent.font())

    def set_look(self, t: Tokens, base: QFont) -> None:
        """Take colours and fonts."""
        self._t = t
        self.font = scaled(base, 0.92)
        self.metrics = QFontMetrics(self.font)
        self._selected = blend(t.panel, t.accent, 0.2)
        self._inks = {
            "error": t.error,
            "warning": t.warning,
            "note": t.dim,
            "not run": t.dim,
        }

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:  # noqa: N802
        """Rows of one height."""
        return QSize(60, self.metrics.height() + 8)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex
    ) -> None:
        """Background, text, hairline."""
        model: Any = index.model()
        row: Row = model.rows[index.row()]
        box: QRect = option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(box, self._selected)
        column = index.column()
        inner = box.adjusted(PAD_PX, 0, -2, 0)
        ink = self._t.text
        if column == SEVERITY:
            ink = self._inks[row.group]
        elif column == EVIDENCE or row.group == "not run":
            ink = self._t.dim
        if column == WHO:
            inner.setLeft(self._chips(painter, inner, row))
        painter.setFont(self.font)
        painter.setPen(QColor(ink))
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        text = self.metrics.elidedText(
            row.texts[column], Qt.TextElideMode.ElideRight, inner.width()
        )
        painter.drawText(inner, flags, text)
        painter.setPen(QColor(self._t.border))
        painter.drawLine(box.bottomLeft(), box.bottomRight())

    def _chips(self, painter: QPainter, box: QRect, row: Row) -> int:
        """A chip of the colour of the environment it is about; gives where it ends."""
        if not row.envs:
            return box.left()
        chip = QRectF(box.left(), box.center().y() - CHIP_PX / 2 + 1, CHIP_PX, CHIP_PX)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._t.environment(row.envs[0])))
        painter.drawRoundedRect(chip, 2, 2)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        return box.left() + CHIP_PX + 6

    def width_of(self, row: Row, column: int) -> int:
        """How wide a cell wants to be."""
        chip = CHIP_PX + 6 if column == WHO and row.envs else 0
        return self.metrics.horizontalAdvance(row.texts[column]) + 2 * PAD_PX + chip


class FindingsTable(QTableView):
    """The view: whole rows are chosen, with the mouse or with Up and Down.

    Signals
    -------
    entered_row
        Return or Enter on a row; its index. What a click does is told by `clicked`,
        since some desktops activate a row by the click already.
    """

    entered_row = Signal(QModelIndex)

    def __init__(self, model: FindingsModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModel(model)
        self._model = model
        self.cells = CellPainter(self)
        self.setItemDelegate(self.cells)
        self.setAccessibleName("Findings")
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.horizontalHeader().hide()
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setMinimumSectionSize(20)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(EVIDENCE, QHeaderView.ResizeMode.Stretch)

    def set_look(self, t: Tokens) -> None:
        """Take colours and fonts."""
        self.cells.set_look(t, self.font())
        self.verticalHeader().setDefaultSectionSize(self.cells.metrics.height() + 8)
        self.fit_columns()
        self.viewport().update()

    def fit_columns(self) -> None:
        """Make each column as wide as its cells need, the last one as there is room."""
        rows = self._model.rows[:MEASURED]
        for column in (SEVERITY, KIND, WHO, PLACE):
            widths = [self.cells.width_of(row, column) for row in rows]
            self.horizontalHeader().resizeSection(column, max(widths, default=40))

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Up, Down and their like move; all other keys are the window's."""
        moves = (
            Qt.Key.Key_Up,
            Qt.Key.Key_Down,
            Qt.Key.Key_PageUp,
            Qt.Key.Key_PageDown,
        )
        if event.key() in moves:
            super().keyPressEvent(event)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            index = self.currentIndex()
            if index.isValid():
                self.entered_row.emit(index)
        else:
            event.ignore()


def group_text(group: str, count: int) -> str:
    """A filter's label: ``"▲ 1"``."""
    shapes: dict[str, str] = {key: SHAPES[key] for key in GROUPS}
    return f"{shapes[group]} {count}"
