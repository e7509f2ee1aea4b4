"""The window's content: bars, docks, start page, and the cards over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFrame, QStackedWidget, QVBoxLayout, QWidget

from isoscope.app.panels import TRANSPORT
from isoscope.app.window.docks import DockArea
from isoscope.app.window.dropping import DropVeil
from isoscope.app.window.header import Header
from isoscope.core.version import isoscope_version
from isoscope.widgets.attach_card import AttachCard
from isoscope.widgets.bookmark_card import BookmarkCard
from isoscope.widgets.keys_page import KeysPage
from isoscope.widgets.message_bar import MessageBar
from isoscope.widgets.palette import Palette
from isoscope.widgets.sentence_bar import SentenceBar
from isoscope.widgets.start_page import StartPage

if TYPE_CHECKING:
    from isoscope.widgets.panel import Panel
    from isoscope.widgets.theme import Tokens

MARGIN_PX = 6


class Frame(QWidget):
    """Where everything in the window is; it arranges, and decides nothing."""

    def __init__(self, panels: dict[str, Panel], tokens: Tokens) -> None:
        super().__init__()
        self.setObjectName("root")
        self.header = Header()
        self.sentence_bar = SentenceBar()
        self.message_bar = MessageBar()
        self.docks = DockArea({k: p for k, p in panels.items() if k != TRANSPORT})
        self.start_page = StartPage(isoscope_version())
        self.stack = QStackedWidget()
        self.workbench = self._workbench(panels.get(TRANSPORT))
        self.stack.addWidget(self.workbench)
        self.stack.addWidget(self.start_page)
        self.column = column = _column(self)
        for bar in (self.header, self.sentence_bar, self.message_bar):
            column.addWidget(bar)
        column.addWidget(self.stack, 1)
        self.palette_card = Palette(self, tokens)
        self.keys_page = KeysPage(self, f"Isoscope {isoscope_version()}")
        self.bookmark_card = BookmarkCard(self)
        self.attach_card = AttachCard(self)
        self.veil = DropVeil(self)
        self.apply_theme(tokens)

    def _workbench(self, transport: Panel | None) -> QWidget:
        bench = QWidget()
        column = _column(bench)
        around = QVBoxLayout()
        around.setContentsMargins(MARGIN_PX, MARGIN_PX, MARGIN_PX, MARGIN_PX)
        around.addWidget(self.docks)
        column.addLayout(around, 1)
        if transport is not None:
            bar = QFrame()
            bar.setObjectName("transport_bar")
            line = _column(bar)
            line.setContentsMargins(0, 1, 0, 0)
            line.addWidget(transport)
            column.addWidget(bar)
        return bench

    def apply_theme(self, tokens: Tokens) -> None:
        """Take the colours of what the style sheet doesn't draw."""
        self.sentence_bar.apply_theme(tokens)
        self.palette_card.apply_theme(tokens)

    @property
    def starting(self) -> bool:
        """Whether the start page is in front."""
        return self.stack.currentWidget() is self.start_page

    def show_start(self, show: bool) -> None:
        """Put the start page in front, or the docks."""
        self.stack.setCurrentWidget(self.start_page if show else self.workbench)


def _column(owner: QWidget) -> QVBoxLayout:
    layout = QVBoxLayout(owner)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    return layout
