"""The line above each plot: whose field it is, and its values at the cursor.

Every value has a slot of fixed width, so that nothing moves while the numbers change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter

from isoscope.widgets.look import mono, scaled

if TYPE_CHECKING:
    from isoscope.widgets.signals.resolve import PlotSpec
    from isoscope.widgets.theme import Tokens

WIDEST = "-0.000000"
SPACE_PX = 6
SLOT_SPACE_PX = 9


def value_text(value: float | None) -> str:
    """A value in as many digits as fit into its slot; the word for none."""
    if value is None:
        return "absent"
    if not math.isfinite(value):
        return str(value)
    texts = (f"{value:.{digits}g}" for digits in (6, 5, 4, 3))
    return next((text for text in texts if len(text) <= len(WIDEST)), f"{value:.3g}")


@dataclass(frozen=True, slots=True)
class Fonts:
    """The fonts of a legend."""

    name: QFont
    plain: QFont
    value: QFont

    @classmethod
    def of(cls, base: QFont) -> Fonts:
        """Derived from the panel's font."""
        return cls(scaled(base, 0.95, bold=True), scaled(base, 0.95), mono(base, 0.92))


def draw_legend(
    painter: QPainter, box: QRect, spec: PlotSpec, row: int, fonts: Fonts, t: Tokens
) -> None:
    """Draw one plot's line into `box`: the title at the left, values at the right."""
    flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
    left = _draw_values(painter, box, spec, row, fonts, t)
    x = box.left()
    parts = [(spec.actor, fonts.name, t.text), (spec.field, fonts.plain, t.text)]
    wanted = sum(
        QFontMetrics(font).horizontalAdvance(text) + SPACE_PX for text, font, _ in parts
    )
    if spec.field and x + wanted > left - SLOT_SPACE_PX:
        parts = parts[1:]  # which field it is says more than whose
    for text, font, colour in parts:
        room = left - x - SLOT_SPACE_PX
        if not text or room < 12:
            continue
        metrics = QFontMetrics(font)
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
        painter.setFont(font)
        painter.setPen(QColor(colour))
        painter.drawText(QRect(x, box.top(), room, box.height()), flags, shown)
        x += metrics.horizontalAdvance(shown) + SPACE_PX


def _draw_values(
    painter: QPainter, box: QRect, spec: PlotSpec, row: int, fonts: Fonts, t: Tokens
) -> int:
    """Draw the slots from the right; returns where they begin."""
    metrics, names = QFontMetrics(fonts.value), QFontMetrics(fonts.name)
    slot = metrics.horizontalAdvance(WIDEST)
    flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
    right = Qt.AlignmentFlag.AlignRight
    widths = [
        slot + (names.horizontalAdvance(curve.name) + 4 if curve.name else 0)
        for curve in spec.curves
    ]
    shown, used = 0, 0
    for width in widths:  # as many as leave a quarter of the line to the title
        if used + width + SLOT_SPACE_PX > box.width() * 0.75:
            break
        used += width + SLOT_SPACE_PX
        shown += 1
    x = box.right() + 1 - used
    begin = x
    for curve, width in zip(spec.curves[:shown], widths, strict=False):
        value = curve.rows.at(row)
        x += SLOT_SPACE_PX
        if curve.name:
            painter.setFont(fonts.name)
            painter.setPen(QColor(curve.colour_in(t)))
            painter.drawText(
                QRect(x, box.top(), width, box.height()), flags, curve.name
            )
        painter.setFont(fonts.value)
        painter.setPen(QColor(t.dim if value is None else t.text))
        painter.drawText(
            QRect(x, box.top(), width, box.height()), flags | right, value_text(value)
        )
        x += width
    return begin
