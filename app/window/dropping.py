"""Files dropped anywhere on the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData

MARGIN_PX = 14


def dropped_files(data: QMimeData) -> list[str]:
    """The local files in what is dragged."""
    urls = data.urls() if data.hasUrls() else []
    return [url.toLocalFile() for url in urls if url.isLocalFile()]


class DropVeil(QLabel):
    """Says, while files are dragged over the window, what a drop will do."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._covered = parent
        self.setObjectName("drop_veil")
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_for(self, files: list[str]) -> None:
        """Cover the window."""
        many = "it" if len(files) == 1 else f"these {len(files)} files"
        self.setText(f"Drop to open {many}")
        margins = (MARGIN_PX, MARGIN_PX, -MARGIN_PX, -MARGIN_PX)
        self.setGeometry(self._covered.rect().adjusted(*margins))
        self.show()
        self.raise_()
