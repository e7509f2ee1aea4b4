"""The camera: a point looked at, a direction, a distance. Pure mathematics, no window.

Angles: `yaw` turns about the up axis, `pitch` is how far the camera looks down. With +Y
up, yaw 0 looks along -Z with +X to the right. Matrices are the usual ones of OpenGL for
column vectors, ``clip = projection @ view @ world``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

FIELD_OF_VIEW = np.radians(38.0)  # vertical
_STEEPEST = np.radians(89.0)
_ZOOM_PER_NOTCH = 0.87
_FILLED = 0.78  # of the view, by what is framed
_FASTER = 4.0
RADIANS_PER_PIXEL = 0.0052


@dataclass(frozen=True, slots=True, eq=False)
class Camera:
    """Where the camera is. Every move gives a new one.

    Attributes
    ----------
    target
        [3] in metres: what it looks at and orbits about.
    distance
        From the eye to the target [m].
    yaw, pitch
        In radians.
    up
        Unit vector [3] along a coordinate axis.
    size
        How large the scene is [m]; sets speed and how far is seen.
    """

    target: Array = field(default_factory=lambda: np.zeros(3))
    distance: float = 5.0
    yaw: float = 0.5
    pitch: float = 0.35
    up: Array = field(default_factory=lambda: np.array([0.0, 1.0, 0.0]))
    size: float = 2.0

    @property
    def level(self) -> tuple[Array, Array]:
        """At yaw 0 and pitch 0: right [3] and forward [3]."""
        return _level(self.up)

    @property
    def axes(self) -> tuple[Array, Array, Array]:
        """Right, up and forward [3] of the picture, in the world; not to be changed."""
        return _axes(*self.direction)

    @property
    def direction(self) -> tuple[float, float, tuple[float, ...]]:
        """Yaw, pitch and up: all that its axes depend on."""
        return self.yaw, self.pitch, tuple(self.up.tolist())

    @property
    def field_of_view(self) -> float:
        """From the bottom to the top of the picture, in radians."""
        return float(FIELD_OF_VIEW)

    @property
    def eye(self) -> Array:
        """Where it is [3]."""
        at: Array = self.target - self.distance * self.axes[2]
        return at

    # -- moves ------------------------------------------------------------------------

    def orbited(self, dx_px: float, dy_px: float) -> Camera:
        """Turn about the target, following the pointer."""
        return self._turned(dx_px * RADIANS_PER_PIXEL, dy_px * RADIANS_PER_PIXEL)

    def looked(self, dx_px: float, dy_px: float) -> Camera:
        """Turn the head: the eye stays where it is."""
        eye = self.eye
        turn = 0.6 * RADIANS_PER_PIXEL
        turned = self._turned(dx_px * turn, dy_px * turn)
        return replace(turned, target=eye + turned.distance * turned.axes[2])

    def panned(self, dx_px: float, dy_px: float, height_px: float) -> Camera:
        """Move sideways so that what is at the target's depth follows the pointer."""
        right, upward, _ = self.axes
        metres = self._metres_per_pixel(height_px)
        return replace(
            self, target=self.target + metres * (dy_px * upward - dx_px * right)
        )

    def zoomed(self, notches: float, x: float = 0.0, y: float = 0.0) -> Camera:
        """Come nearer (above 0) to what is under the pointer.

        Parameters
        ----------
        notches
            Of the mouse wheel.
        x, y
            Pointer from the view's middle, in units of half its height, y upwards.
        """
        factor = _ZOOM_PER_NOTCH**notches
        distance = float(np.clip(self.distance * factor, 1e-7, 1e9))
        factor = distance / self.distance
        right, upward, _ = self.axes
        reach = self.distance * np.tan(FIELD_OF_VIEW / 2)
        shift = (1 - factor) * reach * (x * right + y * upward)
        return replace(self, target=self.target + shift, distance=distance)

    def moved(
        self, right: float, up: float, forward: float, dt_s: float, *, fast: bool
    ) -> Camera:
        """Fly for `dt_s` seconds; -1, 0 or 1 in each direction.

        Seconds, not frames: the way is the same at any frame rate. The speed follows
        the distance, so that small things are passed slowly.
        """
        to_right, _, ahead = self.axes
        way = right * to_right + up * self.up + forward * ahead
        length = float(np.linalg.norm(way))
        if length == 0.0:
            return self
        speed = 0.9 * max(self.distance, 0.05 * self.size) * (_FASTER if fast else 1)
        return replace(self, target=self.target + way / length * speed * dt_s)

    def shifted(self, way: Array) -> Camera:
        """Moved by this [3] without turning."""
        return replace(self, target=self.target + way)

    def framed(self, low: Array, high: Array, aspect: float) -> Camera:
        """Look at the box between these corners [3] from the same direction.

        Parameters
        ----------
        aspect
            Width of the view over its height.
        """
        corners = np.array(
            [[(low, high)[i >> a & 1][a] for a in range(3)] for i in range(8)]
        )
        middle = (low + high) / 2
        right, upward, forward = self.axes
        away = corners - middle
        tan_y = np.tan(FIELD_OF_VIEW / 2) * _FILLED
        tan_x = tan_y * max(aspect, 0.1)
        # |x| <= tan (distance + depth) for every corner
        needed = np.maximum(np.abs(away @ right) / tan_x, np.abs(away @ upward) / tan_y)
        # Not nearer than this, or something long and thin ends right before the eye.
        least = 0.75 * float(np.linalg.norm(high - low))
        distance = max(float((needed - away @ forward).max()), least, 1e-7)
        return replace(self, target=middle, distance=distance)

    # -- looking through it -----------------------------------------------------------

    def view(self) -> Array:
        """View matrix [4, 4]."""
        right, upward, forward = self.axes
        out = np.eye(4)
        out[:3, :3] = [right, upward, -forward]
        out[:3, 3] = -out[:3, :3] @ self.eye
        return out

    def near_far(self) -> tuple[float, float]:
        """Depths between which things are seen [m]."""
        far = self.distance + 30.0 * max(self.size, self.distance)
        return 0.01 * self.distance, far

    def projection(self, aspect: float) -> Array:
        """Projection matrix [4, 4] of a view of this width over height."""
        near, far = self.near_far()
        scale = 1 / np.tan(FIELD_OF_VIEW / 2)
        out = np.zeros((4, 4))
        out[0, 0] = scale / max(aspect, 1e-3)
        out[1, 1] = scale
        out[2, 2] = (far + near) / (near - far)
        out[2, 3] = 2 * far * near / (near - far)
        out[3, 2] = -1.0
        return out

    def ray(self, x: float, y: float) -> tuple[Array, Array]:
        """Origin [3] and unit direction [3] of the ray through a pixel.

        `x` and `y` as in `zoomed`.
        """
        right, upward, forward = self.axes
        tangent = np.tan(FIELD_OF_VIEW / 2)
        direction = forward + tangent * (x * right + y * upward)
        return self.eye, direction / np.linalg.norm(direction)

    # -- inside -----------------------------------------------------------------------

    def _turned(self, yaw: float, pitch: float) -> Camera:
        steep = float(np.clip(self.pitch + pitch, -_STEEPEST, _STEEPEST))
        around = (self.yaw + yaw + np.pi) % (2 * np.pi) - np.pi
        return replace(self, yaw=float(around), pitch=steep)

    def _metres_per_pixel(self, height_px: float) -> float:
        return 2 * self.distance * float(np.tan(FIELD_OF_VIEW / 2)) / max(height_px, 1)


def first_camera(low: Array, high: Array, up: Array, aspect: float) -> Camera:
    """A three-quarter view of the box between these corners [3].

    What is drawn out along one horizontal axis is looked at from the side, so that its
    length is seen.
    """
    camera = Camera(up=up, size=float(np.linalg.norm(high - low)))
    right, forward = camera.level
    wide, deep = (
        float(np.abs(right) @ (high - low)),
        float(np.abs(forward) @ (high - low)),
    )
    if wide > 2 * deep:
        yaw = np.radians(-24.0)
    elif deep > 2 * wide:
        yaw = np.radians(-66.0)
    else:
        yaw = np.radians(-34.0)
    turned = replace(camera, yaw=float(yaw), pitch=float(np.radians(20.0)))
    return turned.framed(low, high, aspect)


def between(start: Camera, end: Camera, part: float) -> Camera:
    """On the way from one camera to another; `part` runs from 0 to 1."""
    eased = part * part * (3 - 2 * part)
    turn = (end.yaw - start.yaw + np.pi) % (2 * np.pi) - np.pi
    return replace(
        end,
        target=start.target + eased * (end.target - start.target),
        distance=float(start.distance ** (1 - eased) * end.distance**eased),
        yaw=start.yaw + eased * float(turn),
        pitch=start.pitch + eased * (end.pitch - start.pitch),
    )


def look_along(camera: Camera, axis: int, sign: int) -> Camera:
    """The same distance and target, seen from the end of a world axis (0 to 2)."""
    towards = np.zeros(3)
    towards[axis] = -sign
    right, forward = camera.level
    if abs(float(towards @ camera.up)) > 0.5:
        steep = float(-np.sign(towards @ camera.up) * _STEEPEST)
        return replace(camera, pitch=steep, yaw=0.0)
    yaw = float(np.arctan2(towards @ right, towards @ forward))
    return replace(camera, pitch=0.0, yaw=yaw)


def _level(up: Array) -> tuple[Array, Array]:
    right = np.array([0.0, 1.0, 0.0] if up[0] != 0 else [1.0, 0.0, 0.0])
    forward: Array = np.cross(up, right)
    return right, forward


@lru_cache(maxsize=16)  # a picture asks for the same ones ten times
def _axes(
    yaw: float, pitch: float, up: tuple[float, ...]
) -> tuple[Array, Array, Array]:
    upward = np.array(up)
    right0, forward0 = _level(upward)
    sine, cosine = np.sin(yaw), np.cos(yaw)
    right = cosine * right0 - sine * forward0
    ahead = cosine * forward0 + sine * right0
    forward = np.cos(pitch) * ahead - np.sin(pitch) * upward
    axes = right, np.cross(right, forward), forward
    for axis in axes:
        axis.flags.writeable = False
    return axes
