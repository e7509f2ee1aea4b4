"""A label of one line that is cut with an ellipsis instead of widening the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

Part = tuple[str, bool]  # text, and whether it is bold
ELIDE = Qt.TextElideMode.ElideRight


class ElidedLabel(QWidget):
    """One line of text, parts of it bold; the whole text is its tooltip when cut."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts: tuple[Part, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(text for text, _ in self._parts)

    def set_text(self, *parts: str | Part) -> None:
        """Show these parts, one after the other."""
        new = tuple((p, False) if isinstance(p, str) else p for p in parts)
        if new == self._parts:
            return
        self._parts = new
        self.setAccessibleName(self.text)
        self._tell_cut()
        self.update()

    def _fonts(self) -> tuple[QFont, QFont]:
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        return self.font(), bold

    def _width(self) -> int:
        metrics = [QFontMetrics(font) for font in self._fonts()]
        return sum(metrics[b].horizontalAdvance(text) for text, b in self._parts) + 2

    def _tell_cut(self) -> None:
        self.setToolTip(self.text if self._width() > self.width() else "")

    def sizeHint(self) -> QSize:  # noqa: N802
        """All of it on one line."""
        return QSize(self._width(), self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Room for a word; the rest is cut."""
        return QSize(40, self.fontMetrics().height())

    def resizeEvent(self, _event: object) -> None:  # noqa: N802
        """Say the whole text when it no longer fits."""
        self._tell_cut()

    def shown(self) -> tuple[Part, ...]:
        """What there is room for: the longest plain part is cut first.

        What is bold is what matters, so it goes last.
        """
        over = self._width() - self.width()
        if over <= 0:
            return self._parts
        metrics = [QFontMetrics(font) for font in self._fonts()]
        widths = [0 if b else metrics[0].horizontalAdvance(t) for t, b in self._parts]
        longest = max(range(len(widths)), key=widths.__getitem__, default=0)
        return tuple(
            (metrics[0].elidedText(text, ELIDE, max(widths[at] - over, 0)), bold)
            if at == longest
            else (text, bold)
            for at, (text, bold) in enumerate(self._parts)
        )

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draw what fits."""
        painter = QPainter(self)
        painter.setPen(self.palette().windowText().color())
        fonts, left = self._fonts(), 0
        for text, bold in self.shown():
            painter.setFont(fonts[bold])
            room = self.width() - left
            if room <= 0:
                break
            metrics = painter.fontMetrics()
            fits = metrics.elidedText(text, ELIDE, room)
            painter.drawText(
                left, 0, room, self.height(), Qt.AlignmentFlag.AlignVCenter, fits
            )
            left += metrics.horizontalAdvance(text)
