"""What the mouse does in the Scene panel: chooses, frames, asks what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QToolTip

from isoscope.widgets.scene.caption import about_floor
from isoscope.widgets.scene.commands import SceneCommands
from isoscope.widgets.scene.pick import pick

if TYPE_CHECKING:
    from PySide6.QtCore import QPoint
    from PySide6.QtWidgets import QWidget

    from isoscope.widgets.scene.view import SceneView
    from isoscope.widgets.session import Session

_PICK_BARE = 0.03  # of the scene's size: how near a click must be to a cross


class ScenePointing(SceneCommands):
    """The Scene panel under the pointer: bodies or, in the grid, environments."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._view: SceneView | None = None

    def _under(self, x: float, y: float) -> int | None:
        if self._view is None:
            return None
        origin, direction = self._view.control.camera.ray(x, y)
        model = self.model
        reach = _PICK_BARE * model.survey.scale_m
        return pick(model.shapes, model.state, origin, direction, reach)

    def _clicked(self, x: float, y: float) -> None:
        if self.grid.on:
            self._choose_cell()
            return
        self.session.select(self._under(x, y))

    def _asked(self, x: float, y: float, place: QPoint) -> None:
        """Say what is under the resting pointer."""
        if self._view is not None:
            text = self.about(x, y)
            QToolTip.showText(place, text, self._view.canvas_widget)

    def about(self, x: float, y: float) -> str:
        """What is at a place of the picture, for people; empty for nothing.

        `x` and `y` as in `Camera.ray`.
        """
        view, model = self._view, self.model
        if view is None or model.recording is None:
            return ""
        if self.grid.on:
            cell = view.cell_at(view.control.pressed_at)
            return "" if cell is None else self.grid.about(cell)
        actor = self._under(x, y)
        if actor is not None:
            found = model.recording.actors[actor]
            return f"{found.name} ({found.type})\nClick selects, double click frames."
        return about_floor(model.shapes, model.survey, *view.control.camera.ray(x, y))

    def _choose_cell(self) -> bool:
        """Look at the environment whose cell was clicked; whether there is one."""
        view = self._view
        number = None if view is None else view.cell_at(view.control.pressed_at)
        if number is None or number >= len(self.grid.cells):
            return False
        env = self.grid.cells[number].env
        if env >= 0:
            self.session.focus(env)
        return True

    def _double_clicked(self, x: float, y: float) -> None:
        if self.grid.on:
            self.show_grid(not self._choose_cell())
            return
        actor = self._under(x, y)
        if actor is not None:
            self._frame(*self.model.box_of(actor))
