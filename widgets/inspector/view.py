"""The inspector's tree view: paints from the nodes, refreshes only what is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from isoscope.widgets.inspector.model import (
    NAME,
    TYPE,
    UNIT,
    VALUE,
    InspectorModel,
)
from isoscope.widgets.inspector.nodes import GROUPS, Kind, Node
from isoscope.widgets.inspector.texts import ABSENT
from isoscope.widgets.look import blend, mono, scaled
from isoscope.widgets.theme import DARK, Tokens

if TYPE_CHECKING:
    from PySide6.QtCore import QPersistentModelIndex
    from PySide6.QtGui import QPaintEvent, QResizeEvent

    AnyIndex = QModelIndex | QPersistentModelIndex

PAD_PX = 6
NARROW_PX = 380  # of the view: narrower, types are told below and in the tooltip


class CellPainter(QStyledItemDelegate):
    """Paints a cell by itself: styled items cost ten times as much."""

    def __init__(self, parent: QWidget, model: InspectorModel) -> None:
        super().__init__(parent)
        self._model = model
        self.set_look(DARK, parent.font())

    def set_look(self, t: Tokens, base: QFont) -> None:
        """Take colours and fonts."""
        self._t = t
        self._bold, self._plain = scaled(base, 1.0, bold=True), QFont(base)
        self._small, self._mono = scaled(base, 0.88), mono(base, 0.9)
        self._metrics = {
            column: QFontMetrics(font)
            for column, font in (
                (NAME, self._plain),
                (TYPE, self._small),
                (VALUE, self._mono),
                (UNIT, self._small),
            )
        }
        self._height = QFontMetrics(base).height() + 6
        names = QFontMetrics(base)  # values stand on the names' base line
        self._base = (self._height + names.ascent() - names.descent()) // 2
        self._hairline, self._ink, self._quiet = (
            QPen(QColor(colour)) for colour in (t.border, t.text, t.dim)
        )
        self._character_px = max(self._metrics[VALUE].horizontalAdvance("0"), 1)
        self._selected = blend(t.panel, t.accent, 0.22)
        self._group = QColor(t.raised)

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:  # noqa: N802
        """Rows of one height."""
        return QSize(60, self._height)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex
    ) -> None:
        """Background, text, hairline."""
        model, column = self._model, index.column()
        node = model.node(index)
        if node is None:
            return
        box: QRect = option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(box, self._selected)
        elif not node.is_value and node.kind is not Kind.CREATION:
            painter.fillRect(box, self._group)
        if column == VALUE and node.is_value:
            self._paint_value(painter, box, node)
        else:
            self._paint_text(painter, box, node, column)
        painter.setPen(self._hairline)
        y = box.bottom()
        painter.drawLine(box.left(), y, box.right(), y)

    def _paint_value(self, painter: QPainter, box: QRect, node: Node) -> None:
        """The cells that a cursor move repaints: all characters are of one width."""
        room = (box.width() - PAD_PX - 3) // self._character_px
        text = self._model.text(node, VALUE, room)
        if len(text) > room:
            text = text[: max(room - 1, 0)] + "…"
        painter.setPen(self._quiet if text == ABSENT else self._ink)
        painter.setFont(self._mono)
        painter.drawText(box.left() + PAD_PX, box.top() + self._base, text)

    def _paint_text(
        self, painter: QPainter, box: QRect, node: Node, column: int
    ) -> None:
        inner = box.adjusted(2 if column == NAME else PAD_PX, 0, -3, 0)
        text = self._model.text(node, column, inner.width() // self._character_px)
        if not text:
            return
        painter.setPen(QColor(self._colour(node, column)))
        painter.setFont(self._font(node, column))
        shown = self._metrics[column].elidedText(
            text, Qt.TextElideMode.ElideRight, inner.width()
        )
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        painter.drawText(inner, flags, shown)

    def _font(self, node: Node, column: int) -> QFont:
        if column == NAME:
            group = node.kind in GROUPS
            return self._bold if group else self._plain
        return self._small

    def _colour(self, node: Node, column: int) -> str:
        t, row = self._t, self._model.row
        if node.kind is Kind.CREATION:
            return t.dim
        if column in (TYPE, UNIT):
            return t.warning if column == TYPE and node.is_odd(row) else t.dim
        if column == VALUE:
            return t.dim
        if node.actor is not None and not node.actor.alive(row):
            return t.dim
        return t.text


class InspectorView(QTreeView):
    """The tree; remembers which row it was painted for."""

    def __init__(self, model: InspectorModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._inspected = model
        self.painted_row = -1
        self._shown_row = -1
        self._tokens = DARK
        self.setModel(model)
        self.cells = CellPainter(self, model)
        self.setItemDelegate(self.cells)
        self.setUniformRowHeights(True)
        self.setIndentation(12)
        self.setAllColumnsShowFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setAccessibleName("Fields at the cursor")
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionsMovable(False)
        header.setMinimumSectionSize(30)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(VALUE, QHeaderView.ResizeMode.Stretch)
        self._sized = False

    def set_look(self, t: Tokens) -> None:
        """Take colours and fonts."""
        self.cells.set_look(t, self.font())
        self._tokens = t
        self.header().setFont(scaled(self.font(), 0.88))
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Give the columns their first widths; where it is narrow, leave types out."""
        super().resizeEvent(event)
        self.setColumnHidden(TYPE, self.width() < NARROW_PX)
        if not self._sized and self.width() > 100:
            self._sized = True
            metrics = QFontMetrics(self.font())
            small = QFontMetrics(scaled(self.font(), 0.88))
            long = "translationCom" if self.width() < 460 else "contacts_distance"
            wide = metrics.horizontalAdvance(long) + 34
            self.setColumnWidth(NAME, min(wide, self.width() * 2 // 5))
            self.setColumnWidth(TYPE, small.horizontalAdvance("f4 (2,3)") + 10)
            self.setColumnWidth(UNIT, small.horizontalAdvance("m or rad") + 10)

    def refresh_values(self) -> None:
        """Paint what is seen for the model's row: the values, or all where it changes.

        The view is told directly, and of one rectangle: for a `dataChanged` of more
        than one cell, and for a region of two rectangles, Qt paints every column.
        """
        box = self.viewport().rect()
        if self._inspected.same_look(self._shown_row):
            box.setLeft(self.columnViewportPosition(VALUE))
            box.setWidth(self.columnWidth(VALUE))
        self._shown_row = self._inspected.row
        self.viewport().update(box)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint, and remember for which row."""
        super().paintEvent(event)
        self.painted_row = self._inspected.row

    def drawBranches(self, painter: QPainter, rect: QRect, index: AnyIndex) -> None:  # noqa: N802
        """Continue the row's background below the arrow."""
        node = self._inspected.node(index)
        t = self._tokens
        if node is not None and node is self._inspected.node(self.currentIndex()):
            painter.fillRect(rect, blend(t.panel, t.accent, 0.22))
        elif node is not None and node.kind in GROUPS:
            painter.fillRect(rect, QColor(t.raised))
        painter.setPen(QColor(t.border))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        super().drawBranches(painter, rect, index)
