"""vispy's scene graph with the bodies of the scene panel, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from vispy import gloo, scene
from vispy.visuals.transforms import MatrixTransform

from isoscope.core.errors import IsoscopeError
from isoscope.widgets.scene.draw.canvas import SAMPLES
from isoscope.widgets.scene.model import SceneModel
from isoscope.widgets.scene.state import Intent
from isoscope.widgets.theme import DARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from PySide6.QtWidgets import QWidget

    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.camera import Camera

COLOUR = (0.45, 0.6, 0.85, 1.0)


class SceneAlone:
    """A window with a vispy canvas, as large as a widget and seen as by a camera.

    Parameters
    ----------
    recording
        Whose bodies to draw.
    like
        The widget whose size it takes.
    camera
        Where it is seen from.

    Attributes
    ----------
    drawn
        Frames so far.
    """

    def __init__(self, recording: Recording, like: QWidget, camera: Camera) -> None:
        self._model = SceneModel()
        self._model.follow(recording)
        self._placed: dict[int, tuple[Array, Mapping[int, Array]]] = {}
        self.drawn = 0
        self.renderer = ""
        width, height = like.width(), like.height()
        self._canvas: Any = scene.SceneCanvas(
            app="pyside6",
            size=(width, height),
            dpi=96,
            bgcolor=DARK.scene_bottom,
            config={"samples": SAMPLES, "depth_size": 24},
            show=False,
        )
        root = scene.Node(parent=self._canvas.scene)
        root.transform = MatrixTransform(_pixels(camera, width, height).T)
        self._bodies = self._make_bodies(root)
        self._canvas.events.draw.connect(self._count, position="last")
        self._canvas.show()

    def _make_bodies(self, root: Any) -> dict[int, tuple[Any, Array]]:
        bodies = {}
        for index, shape in enumerate(self._model.shapes.all):
            if shape.mesh is None or len(shape.mesh.faces) == 0:
                continue
            body = scene.visuals.Mesh(
                vertices=shape.mesh.positions,
                faces=shape.mesh.faces,
                color=COLOUR,
                shading="smooth",
                parent=root,
            )
            body.transform = MatrixTransform()
            bodies[index] = (body, shape.mesh.faces)
        if not bodies:
            raise IsoscopeError(
                "measuring seeks: no actor of this recording has a mesh to draw"
            )
        return bodies

    @property
    def size(self) -> tuple[int, int]:
        """Of the canvas in physical pixels."""
        width, height = self._canvas.physical_size
        return int(width), int(height)

    def prepare(self, rows: Iterable[int]) -> None:
        """Find out beforehand where the bodies are, so that only drawing is timed."""
        for row in rows:
            live = self._model.picture(row, Intent(), DARK).live
            self._placed[row] = (live.transforms, dict(live.surfaces))

    def redraw(self, row: int) -> None:
        """Put the bodies where they are in this row, and have a frame drawn."""
        transforms, surfaces = self._placed[row]
        for index, (body, faces) in self._bodies.items():
            body.visible = bool(np.isfinite(transforms[index]).all())
            if body.visible:
                matrix = np.eye(4)
                matrix[:3] = transforms[index]
                body.transform.matrix = matrix.T  # vispy multiplies rows
            if index in surfaces:
                body.set_data(vertices=surfaces[index], faces=faces, color=COLOUR)
        self._canvas.update()

    def close(self) -> None:
        """Close the window."""
        self._canvas.close()

    def _count(self, _event: object) -> None:
        if not self.renderer:
            self.renderer = str(gloo.gl.glGetParameter(gloo.gl.GL_RENDERER))
        self.drawn += 1


def _pixels(camera: Camera, width: int, height: int) -> Array:
    """From the world to what vispy's scene graph is drawn in: pixels from the top."""
    to_pixels = np.array(
        [
            [width / 2, 0, 0, width / 2],
            [0, -height / 2, 0, height / 2],
            [0, 0, 1, 0],
            [0, 0, 0, 1],
        ]
    )
    seen: Array = to_pixels @ camera.projection(width / height) @ camera.view()
    return seen
