"""The keys, as a page over the window; made from the one table."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from isoscope.widgets.keys import SCOPES, Action, Scope, groups
from isoscope.widgets.overlay import Overlay

COLUMNS = 3


def key_text(key: str) -> str:
    """A key as people know it here: ``"Ctrl+K"``, with ⌘ on a Mac."""
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText) or key


class KeysPage(Overlay):
    """Every key, by where it acts and what it is about."""

    def __init__(self, parent: QWidget, footer: str = "") -> None:
        super().__init__(parent, 1080)
        title = QLabel("Keys")
        title.setObjectName("card_title")
        hint = QLabel("Plain keys are ignored while a text box has the focus.")
        hint.setObjectName("dim")
        head = QHBoxLayout()
        head.setContentsMargins(20, 16, 20, 8)
        head.addWidget(title)
        head.addStretch()
        head.addWidget(hint)
        self.body.addLayout(head)
        area = QScrollArea()
        area.setObjectName("keys_area")
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        page = self._page()
        area.setWidget(page)
        area.setMinimumHeight(page.sizeHint().height() + 4)
        self.body.addWidget(area)
        if footer:
            foot = QLabel(footer)
            foot.setObjectName("card_foot")
            foot.setIndent(0)
            self.body.addWidget(foot)

    def _page(self) -> QWidget:
        page = QWidget()
        columns = QHBoxLayout(page)
        columns.setContentsMargins(20, 0, 20, 14)
        columns.setSpacing(28)
        blocks: list[tuple[str, list[Action]]] = []
        for scope in SCOPES:
            blocks += [(_heading(scope, name), rows) for name, rows in groups(scope)]
        for blocks_here in _balanced(blocks, COLUMNS):
            column = QVBoxLayout()
            column.setSpacing(4)
            for heading, rows in blocks_here:
                label = QLabel(heading)
                label.setObjectName("keys_heading")
                label.setIndent(0)
                column.addWidget(label)
                column.addLayout(_rows(rows))
            column.addStretch()
            columns.addLayout(column, 1)
        return page


def _heading(scope: Scope, group: str) -> str:
    return group if scope == "everywhere" else f"{group} · {SCOPES[scope].lower()}"


def _rows(actions: list[Action]) -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(12)
    grid.setVerticalSpacing(3)
    grid.setColumnStretch(0, 1)
    for row, action in enumerate(actions):
        text = QLabel(action.text.removesuffix("…"))
        text.setToolTip(action.about)
        keys = QLabel("  ".join(escape(key_text(key)) for key in action.keys))
        keys.setObjectName("key")
        grid.addWidget(text, row, 0)
        grid.addWidget(keys, row, 1, Qt.AlignmentFlag.AlignRight)
    return grid


def _balanced(
    blocks: list[tuple[str, list[Action]]], columns: int
) -> list[list[tuple[str, list[Action]]]]:
    """The blocks, in order, in columns of about the same height."""
    heights = [len(rows) + 2 for _, rows in blocks]
    each = sum(heights) / columns
    result: list[list[tuple[str, list[Action]]]] = [[] for _ in range(columns)]
    filled = 0.0
    for block, height in zip(blocks, heights, strict=True):
        column = min(int((filled + height / 2) / each), columns - 1)
        result[column].append(block)
        filled += height
    return result
