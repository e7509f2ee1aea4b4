"""What is behind and below the bodies: a gradient, and a ground with a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from vispy import gloo

from isoscope.widgets.scene.draw import shaders

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.camera import Camera

_SQUARE = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32)
# How far the grid reaches, in units of how far away the camera is.
_REACH = 9.0
# The finest lines' distance is about this part of the camera's.
_FINENESS = 0.03


def grid_spacing(distance_m: float) -> tuple[float, float]:
    """Distance of the finer lines [m], a power of ten, and how strong they are, 0..1.

    They grow fainter as the camera moves away, until the next spacing takes over, so
    that nothing jumps.
    """
    exact = float(np.log10(max(distance_m * _FINENESS, 1e-12)))
    decade = float(np.ceil(exact))
    return 10.0**decade, decade - exact


class Backdrop:
    """The gradient behind everything."""

    def __init__(self) -> None:
        self._program = gloo.Program(shaders.BACKDROP_VERTEX, shaders.BACKDROP_FRAGMENT)
        self._program["a_corner"] = _SQUARE

    def draw(self, top: Array, bottom: Array) -> None:
        """Fill the view; colours are sRGB [3]."""
        self._program["u_top"] = top
        self._program["u_bottom"] = bottom
        self._program.draw("triangle_strip")


class Ground:
    """A horizontal plane with grid lines that follows the camera."""

    def __init__(self) -> None:
        self._program = gloo.Program(shaders.GROUND_VERTEX, shaders.GROUND_FRAGMENT)
        self._program["a_corner"] = _SQUARE

    def draw(
        self,
        camera: Camera,
        clip: Array,
        height_m: float,
        origin: Array,
        line: Array,
        surface: Array,
        strength: float,
        scale: float,
    ) -> None:
        """Draw it.

        Parameters
        ----------
        height_m
            Along the up axis, in the world.
        origin
            [3]: what the clip matrix takes as zero.
        line, surface
            sRGB [3] of the lines, sRGB and alpha [4] of the plane itself.
        strength
            Of the lines, 0..1.
        scale
            Physical pixels per pixel of the design.
        """
        right, ahead = camera.level
        height = height_m - float(camera.up @ origin)
        reach = _REACH * max(
            camera.distance, abs(float(camera.up @ camera.eye) - height_m)
        )
        target = camera.target - origin
        centre = target + (height - float(camera.up @ target)) * camera.up
        spacing, fine = grid_spacing(reach / _REACH)
        # Lines go through the world's origin, taken modulo the coarsest spacing so that
        # single precision holds far away.
        shift = np.mod([float(right @ origin), float(ahead @ origin)], 100 * spacing)
        program = self._program
        program["u_clip"] = clip
        program["u_centre"] = centre
        program["u_right"] = right
        program["u_ahead"] = ahead
        program["u_reach"] = reach
        program["u_line"] = line
        program["u_surface"] = surface
        program["u_shift"] = shift
        program["u_spacing"] = spacing
        program["u_fine"] = fine
        program["u_strength"] = strength
        program["u_pixels"] = scale
        program.draw("triangle_strip")

    def draw_again(self) -> None:
        """Draw the same once more, into another viewport."""
        self._program.draw("triangle_strip")
