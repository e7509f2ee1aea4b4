"""The table of episodes: 10,000 of them cost what the visible ones cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QRect, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from isoscope.widgets.curate.episodes_model import (
    END,
    ENV,
    FINDINGS,
    HEADS,
    ID,
    RIGHT,
    SPARK,
    TAGS,
    VERDICT,
    EpisodesModel,
)
from isoscope.widgets.curate.rows import end_of
from isoscope.widgets.curate.series import key_of
from isoscope.widgets.curate.sparks import Sparks
from isoscope.widgets.look import blend, scaled
from isoscope.widgets.theme import DARK

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent

    from isoscope.core.dataset.curate.edits import Item
    from isoscope.widgets.curate.episodes_model import AnyIndex
    from isoscope.widgets.curate.series import Series
    from isoscope.widgets.theme import Tokens

MEASURED = 200  # rows whose width is asked
PAD_PX, CHIP_PX, SPARK_PX = 7, 9, 130


class EpisodeCells(QStyledItemDelegate):
    """Paints a cell; what is rejected is struck through and dim."""

    def __init__(self, table: QTableView) -> None:
        super().__init__(table)
        self._table = table
        self.sparks = Sparks()
        self.set_look(DARK)

    def set_look(self, t: Tokens) -> None:
        """Take colours and fonts."""
        self._t = t
        self.font = scaled(self._table.font(), 0.92)
        self.struck = scaled(self._table.font(), 0.92)
        self.struck.setStrikeOut(True)
        self.metrics = QFontMetrics(self.font)
        self._selected = blend(t.panel, t.accent, 0.2)
        self._over = blend(t.panel, t.text, 0.04)
        self.sparks.clear()

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex
    ) -> None:
        """Background, text or curve, hairline."""
        model: Any = index.model()
        row, column = index.row(), index.column()
        item: Item = model.items[row]
        box: QRect = option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(box, self._selected)
        inner = box.adjusted(PAD_PX, 0, -PAD_PX, 0)
        rejected = item.verdict == "rejected"
        if column == SPARK:
            self._spark(painter, inner, model.series.get(key_of(item)), rejected)
        else:
            if column == ENV:
                inner.setLeft(self._chip(painter, inner, model.episodes[row].env))
            painter.setFont(self.struck if rejected and column == ID else self.font)
            painter.setPen(QColor(self._ink(model, row, column)))
            side = (
                Qt.AlignmentFlag.AlignRight
                if column in RIGHT
                else Qt.AlignmentFlag.AlignLeft
            )
            text = self.metrics.elidedText(
                model.text(row, column), Qt.TextElideMode.ElideRight, inner.width()
            )
            flags = side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
            painter.drawText(inner, flags, text)
        painter.setPen(QColor(self._t.border))
        painter.drawLine(box.bottomLeft(), box.bottomRight())

    def _ink(self, model: EpisodesModel, row: int, column: int) -> str:
        t, item = self._t, model.items[row]
        if column == VERDICT:
            inks = {"accepted": t.ok, "rejected": t.error, None: t.dim}
            return inks[item.verdict]
        if item.verdict == "rejected":
            return t.dim
        if column == FINDINGS:
            touching = model.touches(item) or []
            found = {model.findings[at].severity for at in touching}
            if "error" in found:
                return t.error
            return t.warning if "warning" in found else t.dim
        if column == END:
            end = end_of(item, model.episodes[row])
            return t.warning if end in ("incomplete", "unknown") else t.text
        return t.accent if column == TAGS else t.text

    def _chip(self, painter: QPainter, box: QRect, env: int | None) -> int:
        """A chip of the environment's colour; gives where it ends."""
        if env is None:
            return box.left()
        chip = QRect(box.left(), box.center().y() - CHIP_PX // 2, CHIP_PX, CHIP_PX)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._t.environment(env)))
        painter.drawRoundedRect(chip, 2, 2)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        return box.left() + CHIP_PX + 6

    def _spark(
        self, painter: QPainter, box: QRect, series: Series | None, rejected: bool
    ) -> None:
        if series is None:
            return
        ink = QColor(self._t.dim if rejected else self._t.accent)
        size = box.adjusted(0, 3, 0, -4)
        ratio = self._table.devicePixelRatioF()
        drawn = self.sparks.picture(series, size.size(), ink, ratio)
        painter.drawPixmap(size.topLeft(), drawn)

    def width_of(self, model: EpisodesModel, row: int, column: int) -> int:
        """How wide a cell wants to be."""
        chip = CHIP_PX + 6 if column == ENV else 0
        text = self.metrics.horizontalAdvance(model.text(row, column))
        return text + 2 * PAD_PX + chip + 2


class EpisodesTable(QTableView):
    """The view: whole rows are chosen, several of them if wanted."""

    scrolled = Signal()

    def __init__(self, model: EpisodesModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModel(model)
        self._model = model
        self.cells = EpisodeCells(self)
        self.setItemDelegate(self.cells)
        self.setAccessibleName("Episodes")
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = self.horizontalHeader()
        header.setMinimumSectionSize(30)
        header.setHighlightSections(False)
        header.setSectionsClickable(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        self.verticalScrollBar().valueChanged.connect(self.scrolled)

    def set_look(self, t: Tokens) -> None:
        """Take colours and fonts."""
        self.cells.set_look(t)
        self.verticalHeader().setDefaultSectionSize(self.cells.metrics.height() + 8)
        self.fit_columns()
        self.viewport().update()

    def fit_columns(self) -> None:
        """Make each column as wide as its first cells and its head need."""
        rows = range(min(len(self._model.items), MEASURED))
        for column, head in enumerate(HEADS[:-1]):
            wide = self.cells.metrics.horizontalAdvance(head) + 2 * PAD_PX + 8
            if column == SPARK:
                wide = SPARK_PX
            else:
                cells = [self.cells.width_of(self._model, r, column) for r in rows]
                wide = max([wide, *cells])
            self.horizontalHeader().resizeSection(column, min(wide, 320))

    def selectRow(self, row: int) -> None:  # noqa: N802
        """Choose one row alone, whatever modifier keys are down just now."""
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(
            self._model.index(row, 0), flags.ClearAndSelect | flags.Rows
        )

    def select_rows(self, rows: list[int]) -> None:
        """Choose these, ascending, beside what is chosen; told once for all of them."""
        spans, begin = QItemSelection(), 0
        for at in range(1, len(rows) + 1):
            if at == len(rows) or rows[at] != rows[at - 1] + 1:
                first = self._model.index(rows[begin], 0)
                spans.select(first, self._model.index(rows[at - 1], len(HEADS) - 1))
                begin = at
        self.selectionModel().select(spans, QItemSelectionModel.SelectionFlag.Select)

    def visible_rows(self) -> range:
        """The rows that are in view."""
        if not self._model.items:
            return range(0)
        first = self.rowAt(0)
        last = self.rowAt(self.viewport().height() - 1)
        stop = len(self._model.items) if last < 0 else last + 1
        return range(max(first, 0), stop)

    def chosen(self) -> list[Item]:
        """The items of the selected rows, from top to bottom."""
        # By ranges: an index for each of 10,000 rows takes half a second.
        ranges: Any = self.selectionModel().selection()  # its stub can't be iterated
        rows = {row for span in ranges for row in range(span.top(), span.bottom() + 1)}
        return [self._model.items[row] for row in sorted(rows)]

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Up and Down move, Ctrl+A chooses all; the rest is the window's."""
        key = event.key()
        moves = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
        ctrl = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        chosen = self.selectionModel().hasSelection()
        if key in moves and not chosen and self._model.items:
            # The focus alone makes a row the current one: begin with it.
            self.selectRow(max(self.currentIndex().row(), 0))
            self.activated.emit(self.currentIndex())
        elif key in moves or (key == Qt.Key.Key_A and ctrl):
            super().keyPressEvent(event)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self.currentIndex().isValid():
                self.activated.emit(self.currentIndex())
        else:
            event.ignore()
