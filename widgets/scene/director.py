"""Where the camera is put: at first, when something is framed, and while tracking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.widgets.scene.camera import first_camera, look_along

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.camera import Camera
    from isoscope.widgets.scene.control import CameraControl
    from isoscope.widgets.scene.model import SceneModel

_AROUND = 1.35  # how much more than the bodies is seen at first where they drift


class Director:
    """Moves one view's camera by what its model shows.

    `tracking` says whether the camera goes along with the selected actor or, without
    one, with all that move. It begins so where bodies drift far through the recording,
    since no picture of all of it would show them.
    """

    def __init__(self, model: SceneModel, control: CameraControl) -> None:
        self.tracking = False
        self._model = model
        self._control = control
        self._tracked: tuple[int, int | None, Array] | None = None

    def opened(self, aspect: float) -> None:
        """Choose the first view of what was surveyed, unless the user has one."""
        if self._control.touched:
            return
        survey = self._model.survey
        self.tracking = survey.drifts
        self._tracked = None
        low, high = self._model.box_of(None)
        if survey.drifts:
            middle, half = (low + high) / 2, _AROUND * (high - low) / 2
            low, high = middle - half, middle + half
        self._control.jump(first_camera(low, high, survey.up, aspect))

    def kept(self) -> tuple[Camera, bool] | None:
        """The view that the user chose, to come back to; None without one."""
        control = self._control
        return (control.camera, self.tracking) if control.touched else None

    def resume(self, kept: tuple[Camera, bool] | None) -> None:
        """Come back to a view that was kept; without one, the next is a first view."""
        self._control.stop()
        self._control.touched = kept is not None
        self._tracked = None
        if kept is not None:
            camera, self.tracking = kept
            self._control.jump(camera)

    def toggle_tracking(self) -> None:
        """Go along, or stand still, from now on."""
        self._control.touched = True
        self.tracking = not self.tracking

    def frame(self, low: Array, high: Array, aspect: float) -> None:
        """Fly to where this box fills the picture."""
        control = self._control
        control.fly(control.camera.framed(np.array(low), np.array(high), aspect))

    def look_along(self, axis: int, sign: int) -> None:
        """Fly to where a world axis (0 to 2) is looked along, from this end."""
        self._control.touched = True
        self._control.fly(look_along(self._control.camera, axis, sign))

    def follow(self, selected: int | None) -> None:
        """Go along with what is tracked, after the state has changed."""
        centre = self._model.centre_of(selected) if self.tracking else None
        if centre is None:
            self._tracked = None
            return
        last = self._tracked
        self._tracked = (id(self._model.recording), selected, centre)
        # Another actor to track doesn't move the camera; only its moves do.
        if last is not None and last[:2] == self._tracked[:2]:
            self._control.shift(centre - last[2])
