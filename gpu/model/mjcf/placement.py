"""Positions and the five ways to write an orientation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.gpu.model.rotations import (
    about,
    from_matrix,
    normalised,
    product,
    z_to,
)
from isoscope.gpu.model.spec import NO_TURN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.gpu.model.mjcf.reading import Attributes
    from isoscope.gpu.model.spec import Quaternion, Vector

WAYS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
AXES: dict[str, Vector] = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


def vector(a: Attributes, name: str) -> Vector:
    """Three numbers, (0, 0, 0) where they are not given."""
    x, y, z = a.floats(name, (0.0, 0.0, 0.0))
    return (x, y, z)


def orientation(a: Attributes) -> Quaternion:
    """The orientation, by whichever attribute gives it; the element's before defaults'.

    Source: MuJoCo's documentation, Modeling, "Frame orientations".
    """
    for name in WAYS:
        a.has(name)
    given = [name for name in WAYS if name in a.node.attributes] or [
        name for name in WAYS if name in a.values
    ]
    if not given:
        return NO_TURN
    if len(given) > 1:
        a.node.refuse(
            f"it has more than one orientation: {', '.join(given)}", "keep one"
        )
    way = given[0]
    if way == "quat":
        w, x, y, z = direction(a, way, a.floats(way, (0.0,) * 4))
        return (x, y, z, w)
    if way == "axisangle":
        *axis, angle = a.floats(way, (0.0,) * 4)
        x, y, z = direction(a, way, axis)
        return about((x, y, z), a.reading.angle(angle))
    if way == "zaxis":
        return z_to(direction(a, way, a.floats(way, (0.0,) * 3)))
    if way == "euler":
        return _euler(a)
    return _xy_axes(a)


def direction(a: Attributes, name: str, values: Sequence[float]) -> tuple[float, ...]:
    """Numbers made to have length 1; refuses those that have none."""
    if not any(values):
        a.node.refuse(f"{name} has length 0", "correct it")
    return normalised(values)


def _euler(a: Attributes) -> Quaternion:
    """Small letters turn about the moved axes, capital ones about the parent's."""
    total = NO_TURN
    angles = a.floats("euler", (0.0,) * 3)
    for letter, angle in zip(a.reading.settings.euler, angles, strict=True):
        turn = about(AXES[letter.lower()], a.reading.angle(angle))
        total = product(total, turn) if letter.islower() else product(turn, total)
    return total


def _xy_axes(a: Attributes) -> Quaternion:
    """The second axis is made orthogonal to the first."""
    values = a.floats("xyaxes", (0.0,) * 6)
    x = np.array(direction(a, "xyaxes", values[:3]))
    y = np.array(values[3:])
    y -= (y @ x) * x
    y = np.array(direction(a, "xyaxes", [float(value) for value in y]))
    return from_matrix(np.column_stack([x, y, np.cross(x, y)]))
