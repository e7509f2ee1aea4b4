"""The tree of open documents: its items, and how they are painted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from PySide6.QtCore import QModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QPainter,
    QPen,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from isoscope.widgets.icons import icon
from isoscope.widgets.look import blend, scaled
from isoscope.widgets.sentence_bar import SHAPES
from isoscope.widgets.session import Document, Phase
from isoscope.widgets.sources.rows import Kind, Row
from isoscope.widgets.sources.texts import env_text, progress_of, state_text
from isoscope.widgets.theme import DARK, Tokens

if TYPE_CHECKING:
    from PySide6.QtCore import QPersistentModelIndex

    AnyIndex = QModelIndex | QPersistentModelIndex

ROW, DOCUMENT = Qt.ItemDataRole.UserRole + 1, Qt.ItemDataRole.UserRole + 2
ICONS = {
    "document": "mdi6.file-outline",
    "rigid": "mdi6.cube-outline",
    "articulated": "mdi6.robot-industrial-outline",
    "soft": "mdi6.water-outline",
    "static": "mdi6.land-fields",
    "error": "mdi6.close-octagon-outline",
    "warning": "mdi6.alert-outline",
    "note": "mdi6.information-outline",
}
ICON_PX = 16
CHECK_PX = 13
CHIP_PX = 10
BUTTON_PX = 26


class SourcesModel(QStandardItemModel):
    """One top row a document; below it what `rows.sections` gives.

    Column 0 holds everything, column 1 the button of a document that is being indexed.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setColumnCount(2)

    def add_document(self, document: Document) -> QStandardItem:
        """A row for a document, without what stands below it."""
        item = QStandardItem(document.name)
        item.setEditable(False)
        item.setData(Row(Kind.DOCUMENT, document.name, icon="document"), ROW)
        item.setData(document, DOCUMENT)
        button = QStandardItem()
        button.setEditable(False)
        self.appendRow([item, button])
        return item

    def item_of(self, document: Document) -> QStandardItem | None:
        """The top row of a document."""
        for at in range(self.rowCount()):
            item = self.item(at)
            if item.data(DOCUMENT) is document:
                return item
        return None

    def fill(self, item: QStandardItem, rows: tuple[Row, ...]) -> None:
        """Put these rows below a document."""
        document: Document = item.data(DOCUMENT)
        item.removeRows(0, item.rowCount())
        for row in rows:
            item.appendRow(self._made(row, document))

    def _made(self, row: Row, document: Document) -> QStandardItem:
        item = QStandardItem(row.text)
        item.setEditable(False)
        item.setData(row, ROW)
        item.setData(document, DOCUMENT)
        item.setToolTip(row.tip)
        if row.checkable:
            item.setCheckable(True)
            item.setCheckState(_checked(document, row))
        said = " ".join(part for part in (row.text, row.right) if part)
        item.setData(said, Qt.ItemDataRole.AccessibleTextRole)
        for child in row.children:
            item.appendRow(self._made(child, document))
        return item

    def update_checks(self, item: QStandardItem) -> None:
        """Read again which actors are drawn."""
        row: Row = item.data(ROW)
        if row.checkable:
            item.setCheckState(_checked(item.data(DOCUMENT), row))
        for child in below(item):
            self.update_checks(child)


def below(item: QStandardItem) -> list[QStandardItem]:
    """The rows below an item."""
    return [item.child(at) for at in range(item.rowCount())]


def _first(index: AnyIndex) -> QModelIndex:
    """The index in column 0 of the same row."""
    return index.sibling(index.row(), 0)


def _checked(document: Document, row: Row) -> Qt.CheckState:
    if row.env is not None:
        hidden = row.env in document.hidden_envs
        return Qt.CheckState.Unchecked if hidden else Qt.CheckState.Checked
    shown = row.actor not in document.hidden
    links = [link.actor not in document.hidden for link in row.children]
    if links and not all(shown == link for link in links):
        return Qt.CheckState.PartiallyChecked
    return Qt.CheckState.Checked if shown else Qt.CheckState.Unchecked


class RowPainter(QStyledItemDelegate):
    """Paints a document in two lines and everything else in one."""

    def __init__(self, parent: QTreeView) -> None:
        super().__init__(parent)
        self.active: Document | None = None
        self.cursor = 0  # of the active document
        # What was painted last of a document, and of its environments' places.
        self.said: WeakKeyDictionary[Document, dict[int | None, str]] = (
            WeakKeyDictionary()
        )
        self._checks: dict[int, QRect] = {}  # places in a row, by its height
        self.set_look(DARK, parent.font())

    def set_look(self, t: Tokens, base: QFont) -> None:
        """Take colours and fonts."""
        self._t = t
        self._checks = {}
        self._plain, self._bold = QFont(base), scaled(base, 1.0, bold=True)
        self._small = scaled(base, 0.88)
        self._selected = blend(t.panel, t.accent, 0.22)
        self._line = QFontMetrics(base).height()
        self._small_line = QFontMetrics(self._small).height()

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:  # noqa: N802
        """A document is higher."""
        row: Row | None = _first(index).data(ROW)
        if row is not None and row.kind is Kind.DOCUMENT:
            return QSize(100, self._line + self._small_line + 12)
        return QSize(100, self._line + 6)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex
    ) -> None:
        """Background, check box, icon, texts."""
        row: Row | None = index.data(ROW)
        box: QRect = option.rect
        state = option.state
        painter.save()
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        if chosen:
            painter.fillRect(box, self._selected)
        elif _first(index).data(DOCUMENT) is self.active and (
            not index.parent().isValid()
        ):
            painter.fillRect(box, QColor(self._t.raised))
        if row is None:
            painter.restore()
            return
        if row.kind is Kind.DOCUMENT:
            self._document(painter, box, index.data(DOCUMENT))
        else:
            left = box.left() + 2
            if row.checkable:
                left = self._check(painter, option, index)
            self._texts(painter, box, left, row, index.data(DOCUMENT))
        painter.restore()

    def _check(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: AnyIndex,
    ) -> int:
        """A check box where the style says that it is clicked; returns its right."""
        row_box: QRect = option.rect
        known = self._checks.get(row_box.height())
        if known is None:
            asked = QStyleOptionViewItem(option)
            self.initStyleOption(asked, index)
            widget: QWidget = asked.widget
            known = widget.style().subElementRect(
                QStyle.SubElement.SE_ItemViewItemCheckIndicator, asked, widget
            )
            known = known.translated(-row_box.topLeft())
            self._checks[row_box.height()] = known
        place = known.translated(row_box.topLeft())
        centre, t = place.center(), self._t
        box = QRect(0, 0, CHECK_PX, CHECK_PX)
        box.moveCenter(centre)
        check = Qt.CheckState(index.data(Qt.ItemDataRole.CheckStateRole))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(t.dim), 1))
        painter.setBrush(QColor(t.raised))
        painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
        painter.setPen(QPen(QColor(t.text), 1.6))
        x, y = box.left(), box.top()
        if check is Qt.CheckState.Checked:
            painter.drawPolyline(
                [
                    QPointF(x + 3, y + 6.8),
                    QPointF(x + 5.6, y + 9.4),
                    QPointF(x + 10, y + 4),
                ]
            )
        elif check is Qt.CheckState.PartiallyChecked:
            painter.drawLine(QPointF(x + 3.5, y + 6.5), QPointF(x + 9.5, y + 6.5))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        return place.right() + 5

    def _texts(
        self, painter: QPainter, box: QRect, left: int, row: Row, document: Document
    ) -> None:
        t = self._t
        section = row.kind in (Kind.SECTION, Kind.SCENE)
        hidden = row.actor is not None and row.actor in document.hidden
        hidden |= row.env is not None and row.env in document.hidden_envs
        colour = t.dim if section or hidden else t.text
        says = row.right
        if row.env is not None:
            at = self.cursor if document is self.active else document.cursor
            says = env_text(document, row.env, at)
            self.said.setdefault(document, {})[row.env] = says
            left = self._chip(painter, box, left, t.environment(row.env))
        if row.icon:
            tint = {"error": t.error, "warning": t.warning}.get(row.icon, t.dim)
            place = QRect(left, box.center().y() - ICON_PX // 2 + 1, ICON_PX, ICON_PX)
            icon(ICONS[row.icon], ICON_PX, tint).paint(painter, place)
            left += ICON_PX + 5
        right = box.right() - 5
        font = self._small if section else self._plain
        if row.env is not None and row.env == document.focus:
            font = self._bold
        # The name has the right of way, as far as it needs not more than most of it.
        wanted = QFontMetrics(font).horizontalAdvance(row.text) + 6
        room = right - left - min(wanted, round((right - left) * 0.75))
        severity, count = row.badge
        badge = f"{SHAPES[severity]} {count}" if count else ""
        if row.env is not None:
            room = right - left - wanted
            badge, says = self._fitted(row.env, document, badge, says, room)
        tint = {"error": t.error, "warning": t.warning}.get(severity, t.dim)
        for text, ink in ((says, t.dim), (badge, tint)):
            if text and (room > 14 or row.env is not None):
                place = QRect(right - room, box.top(), room, box.height())
                end = Qt.AlignmentFlag.AlignRight
                width = self._draw(painter, place, text, self._small, ink, end) + 6
                right, room = right - width, room - width
        place = QRect(left, box.top(), max(right - left, 0), box.height())
        self._draw(painter, place, row.text, font, colour)

    def _fitted(
        self, env: int, document: Document, badge: str, says: str, room: int
    ) -> tuple[str, str]:
        """The longest badge and place of an environment that fit into so many px.

        Where none does, the place is cut: a part of it says more than nothing.
        """
        at = self.cursor if document is self.active else document.cursor
        short = env_text(document, env, at, short=True)
        small = QFontMetrics(self._small)
        for sign, place in ((badge, says), (badge, short), (badge[:1], short)):
            if small.horizontalAdvance(sign + place) + 6 * bool(sign) <= room:
                return sign, place
        sign = badge[:1]
        left = room - small.horizontalAdvance(sign) - 6 * bool(sign)
        return sign, small.elidedText(short, Qt.TextElideMode.ElideRight, max(left, 0))

    def _chip(self, painter: QPainter, box: QRect, left: int, colour: str) -> int:
        """The colour of an environment; returns where the text begins."""
        chip = QRectF(left + 1, box.center().y() - CHIP_PX / 2 + 1, CHIP_PX, CHIP_PX)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawRoundedRect(chip, 2, 2)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        return left + CHIP_PX + 7

    def _document(self, painter: QPainter, box: QRect, document: Document) -> None:
        t, active = self._t, document is self.active
        failed = document.phase is Phase.FAILED
        if active:
            bar = QRect(box.left(), box.top() + 6, 3, box.height() - 12)
            painter.fillRect(bar, QColor(t.accent))
        left, top = box.left() + 8, box.top() + 5
        width = box.right() - 8 - left
        name = "error" if failed else "document"
        tint = t.error if failed else t.accent if active else t.dim
        place = QRect(left, top, ICON_PX, ICON_PX)
        icon(ICONS[name], ICON_PX, tint).paint(painter, place)
        left, width = left + ICON_PX + 5, width - ICON_PX - 5
        font = self._bold if active else self._plain
        self._draw(
            painter,
            QRect(left, top, width, self._line),
            document.name,
            font,
            t.text,
            elide=Qt.TextElideMode.ElideMiddle,
        )
        below = QRect(left, top + self._line + 1, width, self._small_line)
        colour = t.error if failed else t.dim
        said = state_text(document)
        self.said.setdefault(document, {})[None] = said
        used = self._draw(painter, below, said, self._small, colour)
        share = progress_of(document)
        if share is not None:
            bar = QRect(left + used + 8, below.center().y() - 1, width - used - 8, 4)
            painter.fillRect(bar, QColor(t.border))
            bar.setWidth(round(bar.width() * share))
            painter.fillRect(bar, QColor(t.accent))

    def _draw(
        self,
        painter: QPainter,
        box: QRect,
        text: str,
        font: QFont,
        colour: str,
        align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> int:
        """Draw a line of text; returns its width."""
        metrics = QFontMetrics(font)
        shown = metrics.elidedText(text, elide, box.width())
        painter.setFont(font)
        painter.setPen(QColor(colour))
        # On one line whatever is in a name.
        flags = align | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(box, flags.value | Qt.TextFlag.TextSingleLine.value, shown)
        return metrics.horizontalAdvance(shown)


class SourcesTree(QTreeView):
    """The view."""

    def __init__(self, model: SourcesModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tokens = DARK
        self.setModel(model)
        self.rows = RowPainter(self)
        self.setItemDelegate(self.rows)
        self.setHeaderHidden(True)
        self.setIndentation(13)
        self.setExpandsOnDoubleClick(True)
        self.setAllColumnsShowFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setAccessibleName("Open recordings")
        header = self.header()
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(BUTTON_PX)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Fixed)
        header.resizeSection(1, BUTTON_PX + 4)
        self.setColumnHidden(1, True)

    def set_look(self, t: Tokens) -> None:
        """Take colours and fonts."""
        self.rows.set_look(t, self.font())
        self._tokens = t
        self.viewport().update()

    def item_at(self, index: AnyIndex) -> tuple[Row, Document] | None:
        """What a row is, and of which document."""
        row: Any = _first(index).data(ROW)
        document: Any = _first(index).data(DOCUMENT)
        return None if row is None or document is None else (row, document)

    def use_whole_width(self, item: QStandardItem) -> None:
        """Give the rows below a document's the place of its button, too."""
        for at, child in enumerate(below(item)):
            self.setFirstColumnSpanned(at, item.index(), True)
            self.use_whole_width(child)

    def catch_up(self) -> None:
        """Paint the rows in sight that say something else by now."""
        index = self.indexAt(self.viewport().rect().topLeft())
        while index.isValid():
            box = self.visualRect(index)
            if box.top() > self.viewport().height():
                return
            row: Row | None = index.data(ROW)
            document: Document | None = index.data(DOCUMENT)
            if row is not None and document is not None:
                of_document = row.kind is Kind.DOCUMENT
                if of_document:
                    now = state_text(document)
                    busy = progress_of(document) is not None
                elif row.env is not None:
                    now, busy = env_text(document, row.env, self._at(document)), False
                if (of_document or row.env is not None) and (
                    busy or self.rows.said.get(document, {}).get(row.env) != now
                ):
                    self.viewport().update(box)
            index = self.indexBelow(index)

    def _at(self, document: Document) -> int:
        return self.rows.cursor if document is self.rows.active else document.cursor

    def drawBranches(self, painter: QPainter, rect: QRect, index: AnyIndex) -> None:  # noqa: N802
        """Continue the row's background below the arrow."""
        first, t = _first(index), self._tokens
        if self.selectionModel().isSelected(first):
            painter.fillRect(rect, blend(t.panel, t.accent, 0.22))
        elif not first.parent().isValid() and first.data(DOCUMENT) is self.rows.active:
            painter.fillRect(rect, QColor(t.raised))
        super().drawBranches(painter, rect, index)
