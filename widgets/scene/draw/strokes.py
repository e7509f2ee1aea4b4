"""Lines, points and arrows of a width in pixels; `marks` makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from vispy import gloo

from isoscope.widgets.scene.draw import shaders

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.marks import Strokes

_CORNERS = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], np.float32)
_TRIANGLES = np.array([0, 1, 2, 0, 2, 3], np.uint32)
_VERTEX = np.dtype(
    [
        ("a_start", np.float32, 3),
        ("a_end", np.float32, 3),
        ("a_start_colour", np.float32, 4),
        ("a_end_colour", np.float32, 4),
        ("a_widths", np.float32, 2),
        ("a_corner", np.float32, 2),
    ]
)


class StrokeLayer:
    """Strokes that are drawn together."""

    def __init__(self) -> None:
        self._program = gloo.Program(shaders.STROKE_VERTEX, shaders.STROKE_FRAGMENT)
        self._count = 0
        self._indices: gloo.IndexBuffer | None = None
        self._reserved = 0
        self._buffer: gloo.VertexBuffer | None = None

    def update(self, strokes: Strokes, origin: Array) -> None:
        """Send these strokes instead of the ones before."""
        self._count = len(strokes)
        if not self._count:
            return
        vertices = np.zeros((self._count, 4), _VERTEX)
        vertices["a_start"] = (strokes.ends[:, 0] - origin)[:, None]
        vertices["a_end"] = (strokes.ends[:, 1] - origin)[:, None]
        vertices["a_start_colour"] = strokes.colours[:, None, 0]
        vertices["a_end_colour"] = strokes.colours[:, None, 1]
        vertices["a_widths"] = strokes.widths[:, None]
        vertices["a_corner"] = _CORNERS
        if self._buffer is None:
            self._buffer = gloo.VertexBuffer(vertices.reshape(-1))
            self._program.bind(self._buffer)
        else:
            self._buffer.set_data(vertices.reshape(-1))
        if self._count != self._reserved:
            quads = 4 * np.arange(self._count, dtype=np.uint32)[:, None] + _TRIANGLES
            self._indices = gloo.IndexBuffer(quads.reshape(-1))
            self._reserved = self._count

    def draw(
        self,
        clip: Array,
        size_px: tuple[int, int],
        scale: float,
        nearest: float,
        alpha: float = 1.0,
    ) -> None:
        """Draw them.

        Parameters
        ----------
        clip
            Clip-from-world matrix, as gloo takes it.
        size_px, scale
            Of the view, and physical pixels per pixel of the design.
        nearest
            Depth [m] that a stroke is cut at, before the eye.
        alpha
            Of all of them.
        """
        if not self._count:
            return
        program = self._program
        program["u_clip"] = clip
        program["u_size"] = size_px
        program["u_scale"] = scale
        program["u_nearest"] = nearest
        program["u_alpha"] = alpha
        program.draw("triangles", self._indices)
