"""One sentence on top: what this is, what is wrong with it, how far it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QStyle, QStyleOption
from PySide6.QtWidgets import QWidget as _QWidget

from isoscope.widgets.elided import ElidedLabel, Part

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from isoscope.widgets.theme import Tokens

Tone = Literal["plain", "warning", "error"]
# Told by shape as well as by colour.
SHAPES: dict[str, str] = {"error": "▲", "warning": "●", "note": "○", "plain": ""}
LINE_PX = 2.0


@dataclass(frozen=True, slots=True)
class Sentence:
    """What the bar shows.

    Attributes
    ----------
    parts
        The sentence; a part is text, or text and whether it is bold.
    tone
        How bad it is; a shape and the background say so.
    buttons
        What can be done about it: (id, text), at the right end.
    progress
        0 to 1 while something runs, None otherwise.
    """

    parts: tuple[str | Part, ...]
    tone: Tone = "plain"
    buttons: tuple[tuple[str, str], ...] = ()
    progress: float | None = field(default=None)


class SentenceBar(_QWidget):
    """The bar; its buttons are told by their id."""

    pressed = Signal(str)

    def __init__(self, parent: _QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sentence_bar")
        self.sentence = Sentence(())
        self._line = QColor()
        self._mark = QLabel()
        self._mark.setObjectName("sentence_mark")
        self._mark.hide()
        self.label = ElidedLabel()
        self.buttons: dict[str, QPushButton] = {}
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(11, 5, 11, 5)
        self._row.setSpacing(8)
        self._row.addWidget(self._mark)
        self._row.addWidget(self.label, 1)
        self.setMinimumHeight(self.fontMetrics().height() + 16)

    def show_sentence(self, sentence: Sentence) -> None:
        """Show another sentence; the same one costs nothing."""
        old, self.sentence = self.sentence, sentence
        if sentence == old:
            return
        self.label.set_text(*sentence.parts)
        if sentence.tone != old.tone:
            self._mark.setText(SHAPES[sentence.tone])
            self._mark.setVisible(bool(SHAPES[sentence.tone]))
            for widget in (self, self._mark):
                widget.setProperty("tone", sentence.tone)
                widget.style().unpolish(widget)
                widget.style().polish(widget)
        if sentence.buttons != old.buttons:
            self._set_buttons(sentence.buttons)
        self.update()

    def apply_theme(self, tokens: Tokens) -> None:
        """Take the colour of the progress line."""
        self._line = QColor(tokens.accent)
        self.update()

    def _set_buttons(self, buttons: tuple[tuple[str, str], ...]) -> None:
        for button in self.buttons.values():
            self._row.removeWidget(button)
            button.hide()
            button.deleteLater()
        self.buttons = {}
        for key, text in buttons:
            button = QPushButton(text)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, key=key: self.pressed.emit(key))
            self._row.addWidget(button)
            self.buttons[key] = button

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draw the background by the style sheet, and the progress as a thin line."""
        painter, option = QPainter(self), QStyleOption()
        option.initFrom(self)
        self.style().drawPrimitive(
            QStyle.PrimitiveElement.PE_Widget, option, painter, self
        )
        progress = self.sentence.progress
        if progress is not None:
            width = self.width() * min(max(progress, 0.0), 1.0)
            line = QRectF(0, self.height() - LINE_PX, width, LINE_PX)
            painter.fillRect(line, self._line)
