"""The top row: name, menus, and at the right the layout and the palette."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QMenu,
    QMenuBar,
    QPushButton,
    QSizePolicy,
    QWidget,
)


class Header(QFrame):
    """Name, menu bar, layout button, palette button."""

    start_asked = Signal()
    palette_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self.brand = QPushButton()
        self.brand.setObjectName("brand")
        self.brand.setText("Isoscope")
        self.brand.setToolTip("Start page")
        self.brand.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.brand.clicked.connect(self.start_asked)
        self.menu_bar = QMenuBar()
        self.menu_bar.setSizePolicy(
            QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred
        )
        self.layout_menu = QMenu(self)
        self.layout_button = self._button("Layout", "Arrange the panels")
        self.layout_button.setMenu(self.layout_menu)
        self.palette_button = self._button(
            "Find a command", "Commands, recordings, actors, fields, positions"
        )
        self.palette_button.clicked.connect(self.palette_asked)
        line = QHBoxLayout(self)
        line.setContentsMargins(11, 3, 11, 3)
        line.setSpacing(8)
        line.addWidget(self.brand)
        line.addWidget(self.menu_bar)
        line.addStretch()
        line.addWidget(self.layout_button)
        line.addWidget(self.palette_button)

    def _button(self, text: str, tip: str) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName("header_button")
        button.setToolTip(tip)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    def show_layout(self, title: str) -> None:
        """Say which layout is on."""
        self.layout_button.setText(f"Layout: {title} ▾")
