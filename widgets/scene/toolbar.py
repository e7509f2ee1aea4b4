"""The strip of buttons at the scene's top right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from isoscope.widgets.icons import icon

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.widgets.theme import Tokens

_ICON_PX = 18


@dataclass(frozen=True, slots=True)
class Tool:
    """One button.

    Attributes
    ----------
    key
        Its name in code.
    icon
        qtawesome's name of its picture.
    text
        What it does, for the tooltip and for screen readers.
    shortcut
        Its key, as shown.
    toggle
        Whether it stays pressed.
    """

    key: str
    icon: str
    text: str
    shortcut: str
    toggle: bool = True


TOOLS = (
    Tool(
        "frame",
        "mdi6.image-filter-center-focus",
        "Frame the selected actor",
        "F",
        False,
    ),
    Tool("track", "mdi6.crosshairs", "Camera goes along with what moves", "V"),
    Tool("contacts", "mdi6.ray-start-arrow", "Contact points and force arrows", "C"),
    Tool("trails", "mdi6.vector-polyline", "Trails of centres of mass", "T"),
    Tool("wireframe", "mdi6.cube-outline", "Wireframe", "X"),
    Tool(
        "interpolate",
        "mdi6.vector-curve",
        "Interpolate between native steps; what is made up is marked",
        "",
    ),
    Tool("overlay", "mdi6.ghost-outline", "Next overlay", "O", False),
    Tool("grid", "mdi6.view-grid-outline", "One small scene for each environment", "G"),
    Tool("beside", "mdi6.compare", "Recorded and stepped again side by side", "B"),
)


class SceneToolbar(QWidget):
    """Flat icon buttons over the picture.

    Parameters
    ----------
    pressed
        Called with a tool's key.
    """

    def __init__(self, parent: QWidget, pressed: Callable[[str], None]) -> None:
        super().__init__(parent)
        self.setObjectName("scene-toolbar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(self)
        row.setContentsMargins(3, 3, 3, 3)
        row.setSpacing(1)
        self._buttons: dict[str, QToolButton] = {}
        self._notes: dict[str, str] = {}
        self._keys = {tool.key: tool.shortcut for tool in TOOLS}
        for tool in TOOLS:
            button = QToolButton(self)
            button.setObjectName(f"scene-{tool.key}")
            button.setAutoRaise(True)
            button.setCheckable(tool.toggle)
            button.setIconSize(QSize(_ICON_PX, _ICON_PX))
            # The focus stays with the picture, so that its keys go on working.
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.setAccessibleName(tool.text)
            button.clicked.connect(lambda _=False, key=tool.key: pressed(key))
            row.addWidget(button)
            self._buttons[tool.key] = button
            self.set_note(tool.key, "")

    def button(self, key: str) -> QToolButton:
        """The button of this tool."""
        return self._buttons[key]

    def set_checked(self, key: str, checked: bool) -> None:
        """Show a toggle as pressed or not."""
        self._buttons[key].setChecked(checked)

    def set_shown(self, key: str, shown: bool) -> None:
        """Show a button only where it does something."""
        button = self._buttons[key]
        if button.isVisibleTo(self) != shown:
            button.setVisible(shown)
            self.adjustSize()

    def set_note(self, key: str, note: str) -> None:
        """Put a line below the tooltip of a tool."""
        if self._notes.get(key) != note:
            self._notes[key] = note
            self._say(key)

    def set_shortcut(self, key: str, shortcut: str) -> None:
        """Say another key in the tooltip of a tool; empty for none."""
        self._keys[key] = shortcut
        self._say(key)

    def _say(self, key: str) -> None:
        tool = next(t for t in TOOLS if t.key == key)
        shortcut = f"  ({self._keys[key]})" if self._keys[key] else ""
        note = self._notes.get(key, "")
        more = f"\n{note}" if note else ""
        self._buttons[key].setToolTip(f"{tool.text}{shortcut}{more}")

    def apply(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        panel = QColor(tokens.panel)
        back = f"rgba({panel.red()},{panel.green()},{panel.blue()},190)"
        self.setStyleSheet(
            f"#scene-toolbar{{background:{back};border-radius:7px;}}"
            "QToolButton{border:none;border-radius:5px;padding:3px;}"
            f"QToolButton:hover{{background:{tokens.raised};}}"
            f"QToolButton:checked{{background:{tokens.border};}}"
        )
        for tool in TOOLS:
            colours = tokens.dim, tokens.accent, tokens.faint
            self._buttons[tool.key].setIcon(icon(tool.icon, _ICON_PX, *colours))
        self.adjustSize()
