"""What stands in the Scene panel's place where OpenGL is missing or failed."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from isoscope.widgets.scene.draw import support


def explanation(problem: str, parent: QWidget) -> QLabel:
    """A label that says what is missing, and what to do."""
    text = (
        f"<b>No 3D view</b><br><br>{problem}<br><br>"
        f"On Debian and Ubuntu it needs the packages<br>{support.PACKAGES}.<br>"
        "<code>isoscope doctor</code> checks this machine.<br><br>"
        "Timeline, signals and inspector work without it."
    )
    label = QLabel(text, parent)
    label.setObjectName("scene-missing")
    label.setAlignment(Qt.AlignmentFlag.AlignCenter)
    label.setWordWrap(True)
    return label
