"""The claims bar: what can be said of what is on screen, each claim by itself.

A sign, a word and a colour tell the answer, so that no two of them are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from isoscope.widgets.look import blend, scaled
from isoscope.widgets.theme import DARK, Tokens

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from isoscope.core.replay.forms import Claim, ClaimAnswer, Claims

SIGNS: dict[ClaimAnswer, str] = {"yes": "✓", "no": "✗", "not_checkable": "?"}
WORDS: dict[ClaimAnswer, str] = {
    "yes": "yes",
    "no": "no",
    "not_checkable": "not checkable",
}
NAMES = ("same configuration", "within tolerance", "bit for bit")
PAD = 10.0
GAP = 3.0
LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft


def claim_lines(claims: Claims) -> list[tuple[str, Claim]]:
    """Name and claim, in the order in which they are told."""
    each = (claims.same_configuration, claims.within_tolerance, claims.bit_for_bit)
    return list(zip(NAMES, each, strict=True))


def claims_in_short(claims: Claims) -> str:
    """``"same configuration ✕ · within tolerance ✕ · bit for bit ✕"``."""
    return " · ".join(f"{name} {SIGNS[c.answer]}" for name, c in claim_lines(claims))


class ClaimsBar(QWidget):
    """Three lines: sign, claim, answer, and why."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("claims")
        self._claims: Claims | None = None
        self._t: Tokens = DARK
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def lines(self) -> list[tuple[str, str, str]]:
        """Claim, answer in words, and why."""
        if self._claims is None:
            return []
        return [
            (name, WORDS[claim.answer], claim.reason)
            for name, claim in claim_lines(self._claims)
        ]

    def show_claims(self, claims: Claims | None) -> None:
        """Show these, or none."""
        self._claims = claims
        said = "; ".join(": ".join(line[:2]) for line in self.lines)
        self.setAccessibleName(f"Claims: {said}" if said else "No claims yet")
        self.setToolTip(
            "\n".join(f"{name}: {word}. {why}" for name, word, why in self.lines)
        )
        self.setVisible(claims is not None)
        self.updateGeometry()
        self.update()

    def set_look(self, t: Tokens) -> None:
        """Take a theme's colours."""
        self._t = t
        self.update()

    @property
    def _line(self) -> float:
        return float(self.fontMetrics().height()) + 7

    def sizeHint(self) -> QSize:  # noqa: N802
        """Three lines."""
        return QSize(220, round(3 * (self._line + GAP) + 6))

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """As high, and narrow."""
        return QSize(160, self.sizeHint().height())

    def _ink(self, answer: ClaimAnswer) -> QColor:
        t = self._t
        names = {"yes": t.ok, "no": t.error, "not_checkable": t.warning}
        return QColor(names[answer])

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Paint the lines; what has no room is cut with an ellipsis."""
        if self._claims is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bold, small = scaled(self.font(), 1.0, bold=True), scaled(self.font(), 0.92)
        names = QFontMetricsF(bold)
        name_px = max(names.horizontalAdvance(name) for name in NAMES) + 10
        words = [WORDS[c.answer] for _, c in claim_lines(self._claims)]
        word_px = max(names.horizontalAdvance(word) for word in words) + 14
        y = 3.0
        for name, claim in claim_lines(self._claims):
            ink = self._ink(claim.answer)
            box = QRectF(PAD, y, self.width() - 2 * PAD, self._line)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(blend(self._t.panel, ink.name(), 0.13))
            painter.drawRoundedRect(box, 4, 4)
            painter.setBrush(ink)
            painter.drawRoundedRect(QRectF(box.x(), box.y(), 3, box.height()), 1.5, 1.5)
            self._sign(painter, claim.answer, box)
            x = box.x() + 28
            painter.setFont(bold)
            painter.setPen(QColor(self._t.text))
            painter.drawText(QRectF(x, y, name_px, box.height()), LEFT, name)
            painter.setPen(ink)
            x += name_px
            word = WORDS[claim.answer]
            painter.drawText(QRectF(x, y, word_px, box.height()), LEFT, word)
            x += word_px
            room = box.right() - x - 8
            painter.setFont(small)
            painter.setPen(QColor(self._t.dim))
            why = QFontMetricsF(small).elidedText(
                claim.reason, Qt.TextElideMode.ElideRight, room
            )
            painter.drawText(QRectF(x, y, room, box.height()), LEFT, why)
            y += self._line + GAP
        painter.end()

    def _sign(self, painter: QPainter, answer: ClaimAnswer, box: QRectF) -> None:
        """A tick, a cross, or a question mark."""
        ink, y = self._ink(answer), box.center().y()
        x, r = box.x() + 16, 4.5
        pen = QPen(ink, 2.0)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        if answer == "yes":
            tick = [QPointF(x - r, y), QPointF(x - 1, y + r), QPointF(x + r, y - r)]
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPolyline(QPolygonF(tick))
        elif answer == "no":
            painter.drawLine(QPointF(x - r, y - r), QPointF(x + r, y + r))
            painter.drawLine(QPointF(x - r, y + r), QPointF(x + r, y - r))
        else:
            painter.setFont(scaled(self.font(), 1.0, bold=True))
            place = QRectF(x - 8, box.y(), 16, box.height())
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, "?")
