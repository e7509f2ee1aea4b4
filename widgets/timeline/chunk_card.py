"""The card beside the lanes that says all about the chunk that is looked at."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
)

from isoscope.widgets.look import dress

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from isoscope.core.timeline.chunk_words import ChunkFacts
    from isoscope.widgets.theme import Tokens

WIDE_PX = 330


class ChunkCard(QFrame):
    """Words about a chunk, and a button that puts them away."""

    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chunk_card")
        self.title = QLabel()
        self.title.setObjectName("chunk_title")
        self.title.setWordWrap(True)
        self.text = QLabel()
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.RichText)
        self.text.setAlignment(Qt.AlignmentFlag.AlignTop)
        # In a low dock there is no room for all of it.
        self.area = QScrollArea()
        self.area.setObjectName("chunk_area")
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setWidgetResizable(True)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setAccessibleName("About the chunk")
        self.area.setWidget(self.text)
        flags = Qt.TextInteractionFlag
        self.text.setTextInteractionFlags(flags.TextSelectableByMouse)
        self.close_button = QToolButton()
        self.close_button.setText("×")
        self.close_button.setProperty("flat", True)
        self.close_button.setToolTip("Look at no chunk (Escape)")
        self.close_button.setAccessibleName("Close the chunk's card")
        self.close_button.clicked.connect(self.closed)
        top = QHBoxLayout()
        top.addWidget(self.title, 1)
        top.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(9, 6, 6, 8)
        layout.setSpacing(4)
        layout.addLayout(top)
        layout.addWidget(self.area, 1)
        self.setFixedWidth(WIDE_PX)
        self.hide()

    def show_facts(self, facts: ChunkFacts | None, note: str = "") -> None:
        """Say these facts, and perhaps why it failed; None hides the card."""
        if facts is None:
            self.hide()
            return
        self.title.setText(facts.title)
        parts = [f"<b>{escape(facts.state)}</b>"]
        if facts.waits:
            parts.append(f"waits for {escape(facts.waits)}")
        if note:
            parts.append(escape(note))
        parts.append("<br>".join(escape(line) for line in facts.fragments))
        parts.append("<br>".join(escape(line) for line in facts.rows))
        text = "<p>" + "</p><p>".join(parts) + "</p>"
        if text != self.text.text():  # else what is selected would be lost
            self.text.setText(text)
        self.setAccessibleName(f"{facts.title}: {facts.state}")
        self.show()
        self.raise_()

    def set_look(self, t: Tokens) -> None:
        """Take the theme's colours."""
        dress(
            self,
            t,
            f"#chunk_card {{ background: {t.raised}; border: 1px solid {t.border};"
            " border-radius: 4px; }"
            "#chunk_area, #chunk_area > QWidget, #chunk_area > QWidget > QWidget"
            " { background: transparent; }"
            "#chunk_title { font-weight: bold; }",
        )
