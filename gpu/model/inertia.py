"""Inertia tensors: when they are possible, those of solid shapes, and their sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

Six = tuple[float, float, float, float, float, float]

# How much the sum of two principal moments may fall short of the third, relatively: a
# flat body has equality, and what was turned or rounded is off by a little.
TRIANGLE_TOLERANCE = 1e-6


def symmetric(six: Sequence[float]) -> Array:
    """The matrix, (3, 3), of xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def six_numbers(matrix: Array) -> Six:
    """The numbers xx, yy, zz, xy, xz, yz of a symmetric matrix, (3, 3)."""
    m = 0.5 * (matrix + matrix.T)
    values = m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]
    a, b, c, d, e, f = (float(value) for value in values)
    return (a, b, c, d, e, f)


def impossible_inertia(six: Sequence[float]) -> str:
    """Why no rigid body has this inertia about its centre of mass; "" if one does.

    All zero is the inertia of a point, and possible.
    """
    if not any(six):
        return ""
    low, middle, high = sorted(
        float(value) for value in np.linalg.eigvalsh(symmetric(six))
    )
    if low <= 0.0:
        return (
            f"its inertia is not positive definite: a principal moment is {low:.6g}, "
            f"the others {middle:.6g} and {high:.6g}"
        )
    if low + middle < high * (1 - TRIANGLE_TOLERANCE):
        return (
            f"no body has principal moments of {low:.6g}, {middle:.6g} and {high:.6g}: "
            "two must be at least as much as the third"
        )
    return ""


def moved(inertia: Array, mass: float, offset: Sequence[float] | Array) -> Array:
    """Inertia about a point at `offset` from the centre of mass (Steiner), (3, 3)."""
    d = np.asarray(offset, dtype=np.float64)
    return np.asarray(inertia + mass * (float(d @ d) * np.eye(3) - np.outer(d, d)))


def box_inertia(mass: float, half: Sequence[float]) -> Array:
    """Of a solid box with these half lengths, about its centre, (3, 3)."""
    x, y, z = (value * value for value in half)
    return np.diag([y + z, x + z, x + y]) * (mass / 3)


def sphere_inertia(mass: float, radius: float) -> Array:
    """Of a solid sphere about its centre, (3, 3)."""
    return np.eye(3) * (0.4 * mass * radius * radius)


def ellipsoid_inertia(mass: float, radii: Sequence[float]) -> Array:
    """Of a solid ellipsoid about its centre, (3, 3)."""
    x, y, z = (value * value for value in radii)
    return np.diag([y + z, x + z, x + y]) * (mass / 5)


def cylinder_inertia(mass: float, radius: float, half: float) -> Array:
    """Of a solid cylinder along z about its centre, (3, 3)."""
    across = mass * (radius * radius / 4 + half * half / 3)
    return np.diag([across, across, mass * radius * radius / 2])


def capsule_inertia(mass: float, radius: float, half: float) -> Array:
    """Of a solid capsule along z about its centre, (3, 3).

    A cylinder and two half balls, each 3/8 of a radius outside the cylinder's end.
    """
    length = 2 * half
    # the balls' part of the volume, πr² taken out
    ball = mass * (4 / 3 * radius) / (length + 4 / 3 * radius)
    middle = mass - ball
    r2 = radius * radius
    along = middle * r2 / 2 + ball * 0.4 * r2
    across = middle * (r2 / 4 + half * half / 3)
    across += ball * (0.4 * r2 + length * length / 4 + 3 / 8 * length * radius)
    return np.diag([across, across, along])


def capsule_volume(radius: float, half: float) -> float:
    """Of a capsule with a straight part of twice `half` [m³]."""
    return math.pi * radius * radius * (2 * half + 4 / 3 * radius)
