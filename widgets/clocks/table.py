"""The table below the clocks' plots: painted, since it changes with every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from isoscope.widgets.clocks.arranging import arranged
from isoscope.widgets.look import mono, scaled
from isoscope.widgets.theme import DARK, Tokens

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from isoscope.widgets.clocks.arranging import Placed
    from isoscope.widgets.clocks.facts import Fact

COLUMN_PX = 172
MOST_COLUMNS = 4
PAD_PX = 9
USUAL_FACTS = 20


class FactsTable(QWidget):
    """Names dim, values beside them, in as many columns as there is room for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.facts: list[Fact] = []
        self._t = DARK
        self._stale = True
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Clocks at the cursor")
        self.set_look(DARK)

    def set_look(self, t: Tokens) -> None:
        """Take colours and fonts."""
        self._t = t
        self.names_font, self.values_font = (
            scaled(self.font(), 0.9),
            mono(self.font(), 0.88),
        )
        self.line_px = QFontMetrics(self.names_font).height() + 2
        self.updateGeometry()
        self.update()

    def show_facts(self, facts: list[Fact]) -> None:
        """Show these."""
        if facts != self.facts:
            self.facts = facts
            self.setAccessibleDescription(
                "; ".join(f"{f.name} {f.value}" for f in facts)
            )
            self._stale = True
            self.update()

    @property
    def painted(self) -> bool:
        """Whether what is on the screen is up to date."""
        return not self._stale

    @property
    def columns(self) -> int:
        """Columns at the present width."""
        return _columns_in(self.width())

    @property
    def grid(self) -> tuple[int, int]:
        """Lines of a column, and columns that have something in them."""
        # What matters least comes last, and is left out where there is no room.
        most = max(len(self.facts), USUAL_FACTS)
        lines = min(-(-most // self.columns), self._room)
        used = min(-(-len(self.facts) // lines), self.columns)
        return lines, max(used, 1)

    @property
    def _room(self) -> int:
        """Lines that there is room for."""
        return max((self.height() - 8) // self.line_px, 1)

    def placed(self) -> list[Placed]:
        """Where each fact stands."""
        if not self.facts:
            return []
        return arranged(
            self.facts,
            self.grid,
            (self.width() - 2 * PAD_PX, self._room),
            QFontMetrics(self.names_font).horizontalAdvance,
            QFontMetrics(self.values_font).horizontalAdvance,
        )

    def height_in(self, width: int) -> int:
        """Height that the usual number of facts needs in this width."""
        return -(-USUAL_FACTS // _columns_in(width)) * self.line_px + 10

    def sizeHint(self) -> QSize:  # noqa: N802
        """For the usual number of facts."""
        return QSize(2 * COLUMN_PX, self.height_in(self.width() or 2 * COLUMN_PX))

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Paint them where they stand."""
        t = self._t
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(t.panel))
        painter.fillRect(QRect(0, 0, self.width(), 1), QColor(t.border))
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        values = QFontMetrics(self.values_font)
        for placed in self.placed():
            fact, left = placed.fact, PAD_PX + placed.left_px
            top = 5 + placed.line * self.line_px
            painter.setFont(self.names_font)
            painter.setPen(QColor(t.dim))
            box = QRect(left, top, placed.name_px, self.line_px)
            painter.drawText(box, flags, fact.name)
            painter.setFont(self.values_font)
            painter.setPen(QColor(getattr(t, fact.tone)))
            right = Qt.TextElideMode.ElideRight
            for below, line in enumerate(placed.lines):
                text = values.elidedText(line, right, placed.value_px)
                box = QRect(
                    left + placed.name_px,
                    top + below * self.line_px,
                    placed.value_px,
                    self.line_px,
                )
                painter.drawText(box, flags, text)
        painter.end()
        self._stale = False


def _columns_in(width: int) -> int:
    return min(max(width // COLUMN_PX, 1), MOST_COLUMNS)
