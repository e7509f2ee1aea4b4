"""Plain panels in the places of those that need OpenGL or that a test isn't about."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtWidgets import QLabel, QLineEdit, QVBoxLayout

from isoscope.app.panels import PANELS
from isoscope.widgets.panel import Panel


class Plain(Panel):
    """Shows its name and has a text box."""

    def __init__(self, session, parent=None):
        super().__init__(session, parent)
        self.line = QLineEdit()
        layout = QVBoxLayout(self)
        layout.addWidget(QLabel(self.title))
        layout.addWidget(self.line)
        self.rows_seen: list[int] = []
        self.released = False
        self.observe(session.clock.changed, lambda new, old: self._see(new.row))

    def _see(self, row: int) -> None:
        self.rows_seen.append(row)

    def release(self) -> None:
        super().release()
        self.released = True


def _plain(name: str) -> type[Plain]:
    class Named(Plain):
        key: ClassVar[str] = name
        title: ClassVar[str] = name.capitalize()

    return Named


for _key in PANELS:
    globals()[_key.capitalize()] = _plain(_key)

ALL = {key: f"{__name__}:{key.capitalize()}" for key in PANELS}
# The transport drives the clock, so it is always the real one.
ALL["transport"] = PANELS["transport"]
WITHOUT_GL = PANELS | {"scene": ALL["scene"]}
