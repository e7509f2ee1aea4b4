"""The table below the clocks' plots: painted, since it changes with every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from isoscope.widgets.look import mono, scaled
from isoscope.widgets.theme import DARK, Tokens

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

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
        self._names, self._values = scaled(self.font(), 0.9), mono(self.font(), 0.88)
        self.line_px = QFontMetrics(self._names).height() + 2
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
        return min(max(self.width() // COLUMN_PX, 1), MOST_COLUMNS)

    @property
    def grid(self) -> tuple[int, int]:
        """Lines of a column, and columns that have something in them."""
        # What matters least comes last, and is left out where there is no room.
        room = max((self.height() - 8) // self.line_px, 1)
        lines = min(-(-max(len(self.facts), USUAL_FACTS) // self.columns), room)
        used = min(-(-len(self.facts) // lines), self.columns)
        return lines, max(used, 1)

    def height_in(self, width: int) -> int:
        """Height that the usual number of facts needs in this width."""
        columns = min(max(width // COLUMN_PX, 1), MOST_COLUMNS)
        return -(-USUAL_FACTS // columns) * self.line_px + 10

    def sizeHint(self) -> QSize:  # noqa: N802
        """For the usual number of facts."""
        return QSize(2 * COLUMN_PX, self.height_in(self.width() or 2 * COLUMN_PX))

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Paint them column by column."""
        t, (lines, columns) = self._t, self.grid
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(t.panel))
        painter.fillRect(QRect(0, 0, self.width(), 1), QColor(t.border))
        wide = (self.width() - 2 * PAD_PX) // columns
        metrics = QFontMetrics(self._names)
        advance, names = metrics.horizontalAdvance, [fact.name for fact in self.facts]
        names_px = [
            min(max(map(advance, names[at : at + lines]), default=0) + 8, wide // 2)
            for at in range(0, lines * columns, lines)
        ]
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        values = QFontMetrics(self._values)
        for i, fact in enumerate(self.facts[: lines * columns]):
            left, name_px = PAD_PX + (i // lines) * wide, names_px[i // lines]
            top = 5 + (i % lines) * self.line_px
            painter.setFont(self._names)
            painter.setPen(QColor(t.dim))
            painter.drawText(QRect(left, top, name_px, self.line_px), flags, fact.name)
            painter.setFont(self._values)
            painter.setPen(QColor(getattr(t, fact.tone)))
            wide_px = wide - name_px - 6
            text = values.elidedText(fact.value, Qt.TextElideMode.ElideRight, wide_px)
            box = QRect(left + name_px, top, wide_px, self.line_px)
            painter.drawText(box, flags, text)
        painter.end()
        self._stale = False
