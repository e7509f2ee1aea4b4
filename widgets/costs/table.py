"""The table of costs: sections that fold, numbers to the right, bars behind shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QRegion,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from isoscope.widgets.costs.rows import ABOUT_HEADER, HEADER
from isoscope.widgets.look import blend, scaled
from isoscope.widgets.theme import DARK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.widgets.costs.rows import Row
    from isoscope.widgets.theme import Tokens

SHARE = HEADER.index("share")
ROWS_AT_ONCE = 10  # that are painted anew in one frame, where only numbers changed
KEY, BAR = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1
# Columns that go first where it is narrow: name, and the width that they need.
ROOM_PX = {"first step": 600, "p95": 480, "count": 400}
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class _ShareBar(QStyledItemDelegate):
    """Draws how large a share is behind it."""

    colour = QColor(DARK.accent)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """The bar first, then the text."""
        part = index.data(BAR)
        if part:
            box: QRect = option.rect
            wide = round((box.width() - 6) * float(part))
            bar = QRect(box.right() - 2 - wide, box.top() + 2, wide, box.height() - 4)
            painter.fillRect(bar, self.colour)
        super().paint(painter, option, index)


class CostsTable(QTreeWidget):
    """Rows of `rows_of`; what is folded or chosen stays so from one to the next."""

    copy_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._t = DARK
        self._folded: set[str] = set()
        self._rows: list[Row] = []
        self._shape: list[tuple[str, bool, bool, int, int]] = []
        self._lines: list[tuple[QTreeWidgetItem, Row]] = []  # all, as they stand
        self._longest: list[int] = []  # letters of each column's longest text
        self._unpainted: dict[int, None] = {}  # lines that changed, the oldest first
        self.setHeaderLabels(list(HEADER))
        for column, about in enumerate(ABOUT_HEADER):
            self.headerItem().setToolTip(column, about)
            if column:
                self.headerItem().setTextAlignment(column, _RIGHT)
        self.setAccessibleName("Costs")
        self.setUniformRowHeights(True)
        self.setRootIsDecorated(True)
        self.setIndentation(14)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        # Fitted when there are other rows or a longer text: to have Qt do it measures
        # every cell after each number that changed.
        for column in range(1, len(HEADER)):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
        self._bars = _ShareBar(self)
        self.setItemDelegateForColumn(SHARE, self._bars)
        self.itemCollapsed.connect(lambda item: self._folded.add(item.data(0, KEY)))
        self.itemExpanded.connect(lambda item: self._folded.discard(item.data(0, KEY)))

    def set_look(self, t: Tokens) -> None:
        """Take colours."""
        self._t = t
        self._bars.colour = blend(t.panel, t.accent, 0.30)
        self._shape = []  # all anew, in the other colours
        self.show_rows(self._rows)

    def show_rows(self, rows: list[Row]) -> None:
        """Show these; the place that was scrolled to and the chosen row stay."""
        flat = list(_flat(rows))
        shape = [
            (row.key, row.section, row.dim, len(row.cells), len(row.children))
            for row in flat
        ]
        if shape and shape == self._shape:
            # The same rows with other numbers, as in a live run: cheaper, and calm.
            self._rows = rows
            self._update(flat)
            return
        self._shape = shape
        current = self.currentItem()
        chosen = None if current is None else current.data(0, KEY)
        scrolled = self.verticalScrollBar().value()
        self._rows = rows
        self.blockSignals(True)
        self.clear()
        self.addTopLevelItems([self._item(row) for row in rows])
        for item in self.items():
            # After it is in the tree: before, Qt forgets it.
            item.setExpanded(item.data(0, KEY) not in self._folded)
            if not item.parent():
                item.setFirstColumnSpanned(not item.text(1))
            if chosen is not None and item.data(0, KEY) == chosen:
                self.setCurrentItem(item)
        self.blockSignals(False)
        self._lines = list(zip(self.items(), flat, strict=True))
        self._unpainted.clear()
        self._longest = []
        self._fit(flat)
        self.verticalScrollBar().setValue(scrolled)

    def _update(self, flat: list[Row]) -> None:
        """Write the numbers that are others by now; some lines are painted a frame."""
        model, waited = self.model(), bool(self._unpainted)
        blocked = model.blockSignals(True)  # a cell's own signal lays much out again
        for at, row in enumerate(flat):
            item, old = self._lines[at]
            if row != old:
                self._write(item, row, old)
                self._lines[at] = item, row
                self._unpainted.setdefault(at)
        model.blockSignals(blocked)
        if self._unpainted:
            self._fit(flat)
        if not waited:
            self._paint_more()

    def _paint_more(self) -> None:
        """Have the next lines that changed and are in sight painted."""
        sight = self.viewport().rect()
        region = QRegion()
        count = 0
        while self._unpainted and count < ROWS_AT_ONCE:
            at = next(iter(self._unpainted))
            del self._unpainted[at]
            box = self.visualItemRect(self._lines[at][0])
            if box.isValid() and box.intersects(sight):
                region += QRect(0, box.top(), sight.width(), box.height())
                count += 1
        if count:
            self.viewport().update(region)

    @property
    def painted(self) -> bool:
        """Whether no line in sight shows older numbers."""
        return not self._unpainted

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Paint; what was left for the next frame is asked for."""
        super().paintEvent(event)
        if self._unpainted:
            QTimer.singleShot(0, self, self._paint_more)

    def _fit(self, flat: list[Row]) -> None:
        """Widen the columns for texts that are longer than any before."""
        longest = [
            max((len(row.cells[c]) for row in flat if c < len(row.cells)), default=0)
            for c in range(len(HEADER))
        ]
        known = self._longest or [-1] * len(HEADER)
        self._longest = [max(pair) for pair in zip(longest, known, strict=True)]
        for column in range(1, len(HEADER)):
            if longest[column] > known[column]:
                self.resizeColumnToContents(column)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Leave out what matters least where names would be cut."""
        super().resizeEvent(event)
        for name, room in ROOM_PX.items():
            self.setColumnHidden(HEADER.index(name), self.width() < room)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Copy all of it, where Qt would copy a cell; otherwise as any tree."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_asked.emit()
            return
        super().keyPressEvent(event)

    def items(self) -> Iterator[QTreeWidgetItem]:
        """All items, from the top."""
        waiting = [self.topLevelItem(i) for i in range(self.topLevelItemCount())][::-1]
        while waiting:
            item = waiting.pop()
            if item is not None:
                yield item
                waiting += [item.child(i) for i in range(item.childCount())][::-1]

    def item_of(self, key: str) -> QTreeWidgetItem | None:
        """The item of a row's key."""
        return next((i for i in self.items() if i.data(0, KEY) == key), None)

    @staticmethod
    def _write(item: QTreeWidgetItem, row: Row, old: Row | None = None) -> None:
        """Put a row's texts into an item, where they are others than before."""
        before = () if old is None else old.cells
        for column, cell in enumerate(row.cells):
            if column >= len(before) or before[column] != cell:
                item.setText(column, cell)
            if old is None or old.about != row.about:
                item.setToolTip(column, row.about)
        if old is None or old.bar != row.bar:
            item.setData(SHARE, BAR, row.bar)

    def _item(self, row: Row) -> QTreeWidgetItem:
        item = QTreeWidgetItem(list(row.cells))
        item.setData(0, KEY, row.key)
        for column in range(1, len(HEADER)):
            item.setTextAlignment(column, _RIGHT)
        self._write(item, row)
        if row.section:
            self._dress(item, scaled(self.font(), 1.0, bold=True), self._t.dim)
        elif row.dim:
            self._dress(item, None, self._t.dim)
        item.addChildren([self._item(child) for child in row.children])
        return item

    def _dress(self, item: QTreeWidgetItem, font: Any, colour: str) -> None:
        for column in range(len(HEADER)):
            item.setForeground(column, QColor(colour))
            if font is not None:
                item.setFont(column, font)


def _flat(rows: list[Row]) -> Iterator[Row]:
    """All rows, each before its children."""
    for row in rows:
        yield row
        yield from _flat(list(row.children))
