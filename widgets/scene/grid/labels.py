"""What is written over the cells: names, chips, a frame around the chosen one.

Painted by Qt in one widget, so that text is sharp at any scale and is in every
screenshot. It takes no mouse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QWidget

from isoscope.widgets.look import scaled
from isoscope.widgets.scene.grid.arrange import GAP
from isoscope.widgets.theme import DARK

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from isoscope.widgets.scene.grid.arrange import Arrangement, Box
    from isoscope.widgets.scene.grid.cells import Cell
    from isoscope.widgets.theme import Tokens

PAD = 6.0
CHIP_PAD = 5.0
LEAST_DETAIL_PX = 92  # of a cell's width: below it only the name is written
LEAST_CHIP_PX = 26  # below it chips are left out and a mark stays


class CellLabels(QWidget):
    """The words over the cells."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self._cells: tuple[Cell, ...] = ()
        self._where: Arrangement | None = None
        self._t = DARK
        self.hide()

    def show_cells(
        self, cells: tuple[Cell, ...], where: Arrangement, t: Tokens
    ) -> None:
        """Write these from the next frame on."""
        new = (cells, where, t)
        if new != (self._cells, self._where, self._t):
            self._cells, self._where, self._t = new
            self.setAccessibleDescription(
                "; ".join(
                    f"{c.name} {c.detail} {' '.join(chip.text for chip in c.chips)}"
                    for c in cells
                )
            )
            self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Paint frames first, then words, so that none is cut by a frame."""
        if self._where is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        boxes = [self._where.box(n) for n in range(len(self._cells))]
        self._paint_gaps(painter, boxes)
        for cell, box in zip(self._cells, boxes, strict=True):
            self._paint_cell(painter, cell, box)
        painter.end()

    def _paint_gaps(self, painter: QPainter, boxes: list[Box]) -> None:
        colour = QColor(self._t.window)
        for box in boxes:
            right, below = box.x + box.width, box.y + box.height
            painter.fillRect(QRectF(right, box.y, GAP, box.height + GAP), colour)
            painter.fillRect(QRectF(box.x, below, box.width, GAP), colour)
            painter.fillRect(QRectF(box.x, box.y - GAP, box.width, GAP), colour)

    def _paint_cell(self, painter: QPainter, cell: Cell, box: Box) -> None:
        t = self._t
        if cell.row < 0:
            veil = QColor(t.scene_bottom)
            veil.setAlpha(150)
            painter.fillRect(QRectF(box.x, box.y, box.width, box.height), veil)
        wrong = next((c for c in cell.chips if c.tone in ("error", "warning")), None)
        if cell.chosen:
            painter.setPen(QPen(QColor(t.accent), 2.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            frame = QRectF(box.x + 1, box.y + 1, box.width - 2, box.height - 2)
            painter.drawRect(frame)
        small = box.width < LEAST_DETAIL_PX
        font = scaled(self.font(), 0.82 if small else 0.92, bold=cell.chosen)
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        # A bar of the environment's colour, which its bodies have, too.
        line = QRectF(box.x + PAD, box.y + 5, box.width - 2 * PAD, metrics.height())
        painter.fillRect(
            QRectF(line.x(), line.y() + 2, 3, line.height() - 4), cell.colour
        )
        line.adjust(7, 0, 0, 0)
        painter.setPen(QColor(t.text))
        left = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        name = str(cell.env) if small and cell.env >= 0 else cell.name
        painter.drawText(line, left, name)
        if not small:
            line.adjust(metrics.horizontalAdvance(name) + 7, 0, 0, 0)
            painter.setPen(QColor(t.dim))
            for words in (cell.detail, cell.short):
                if metrics.horizontalAdvance(words) <= line.width():
                    painter.drawText(line, left, words)
                    break
        self._paint_chips(painter, cell, box)
        if small and wrong is not None:
            painter.setPen(QColor(getattr(t, wrong.tone)))
            painter.drawText(line, Qt.AlignmentFlag.AlignRight, "▲")

    def _paint_chips(self, painter: QPainter, cell: Cell, box: Box) -> None:
        """From the lower left corner to the right, as many as there is room for."""
        t, font = self._t, scaled(self.font(), 0.8)
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        high = metrics.height() + 2
        x, y = box.x + PAD, box.y + box.height - high - 3
        if y < box.y + metrics.height() + 8:
            return  # the name has all the room
        for chip in cell.chips:
            room = box.x + box.width - PAD - x - 2 * CHIP_PAD
            if room < LEAST_CHIP_PX:
                break
            cut = metrics.horizontalAdvance(chip.text) > room
            text = chip.short if cut and chip.short else chip.text
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
            wide = metrics.horizontalAdvance(text) + 2 * CHIP_PAD
            colour = QColor(getattr(t, chip.tone))
            glass = QColor(t.panel)
            glass.setAlpha(215)
            painter.setPen(QPen(colour, 1.0))
            painter.setBrush(glass)
            place = QRectF(x + 0.5, y + 0.5, wide - 1, high - 1)
            painter.drawRoundedRect(place, 4, 4)
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)
            x += wide + 4
