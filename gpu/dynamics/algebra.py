"""Vectors, rotations, quaternions and spatial vectors over any type of scalar.

Spatial algebra as in Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 2 and
appendix A: motions are (angular, linear), forces (couple, force), and a transform X has
a rotation E and a displacement r. Quaternions are x y z w.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from isoscope.gpu.dynamics.expression import Scalar, cos, sin, sqrt, where_less

Vector: TypeAlias = tuple[Scalar, Scalar, Scalar]
Matrix: TypeAlias = tuple[Vector, Vector, Vector]
Quaternion: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar]

ZERO: Vector = (0.0, 0.0, 0.0)
UNIT: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
UNTURNED: Quaternion = (0.0, 0.0, 0.0, 1.0)

# what rounding leaves of a zero or a one in a placement's rotation
ROUNDING = 4e-16
# below this square of half the angle the exponential map is a series
SMALL_ANGLE_SQUARED = 1e-4


def add(a: Vector, b: Vector) -> Vector:
    """Return a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sub(a: Vector, b: Vector) -> Vector:
    """Return a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(s: Scalar, a: Vector) -> Vector:
    """Return s a."""
    return (s * a[0], s * a[1], s * a[2])


def dot(a: Vector, b: Vector) -> Scalar:
    """Return a · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def transpose(m: Matrix) -> Matrix:
    """Return mᵀ."""
    return (
        (m[0][0], m[1][0], m[2][0]),
        (m[0][1], m[1][1], m[2][1]),
        (m[0][2], m[1][2], m[2][2]),
    )


def turn(m: Matrix, a: Vector) -> Vector:
    """Return m a."""
    return (dot(m[0], a), dot(m[1], a), dot(m[2], a))


def turn_back(m: Matrix, a: Vector) -> Vector:
    """Return mᵀ a."""
    return turn(transpose(m), a)


def product(a: Matrix, b: Matrix) -> Matrix:
    """Return a b."""
    columns = transpose(b)
    return (turn(columns, a[0]), turn(columns, a[1]), turn(columns, a[2]))


def axis_rotation(axis: tuple[float, float, float], angle: Scalar) -> Matrix:
    """Return the matrix that turns by `angle` about the constant unit vector `axis`.

    Rodrigues' formula: cos θ 1 + sin θ [a]x + (1 - cos θ) a aᵀ.
    """
    c, s = cos(angle), sin(angle)
    x, y, z = axis

    def along(a: float, b: float, same: float) -> Scalar:
        # a b + (same - a b) cos θ, so that an axis along a frame's leaves no 1 - c
        return a * b + (same - a * b) * c

    return (
        (along(x, x, 1.0), along(x, y, 0.0) - z * s, along(x, z, 0.0) + y * s),
        (along(x, y, 0.0) + z * s, along(y, y, 1.0), along(y, z, 0.0) - x * s),
        (along(x, z, 0.0) - y * s, along(y, z, 0.0) + x * s, along(z, z, 1.0)),
    )


def axis_quaternion(axis: tuple[float, float, float], angle: Scalar) -> Quaternion:
    """Return the quaternion that turns by `angle` about the unit vector `axis`."""
    half = 0.5 * angle
    s = sin(half)
    return (axis[0] * s, axis[1] * s, axis[2] * s, cos(half))


def quaternion_product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the quaternion that turns by b, then by a."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def quaternion_matrix(q: Quaternion) -> Matrix:
    """Return the matrix of a unit quaternion."""
    x, y, z, w = q
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return (
        (1.0 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1.0 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1.0 - (xx + yy)),
    )


def constant_rotation(q: tuple[float, float, float, float]) -> Matrix:
    """Return a placement's matrix, with what rounding left of 0 and ±1 taken away."""
    length = math.sqrt(sum(part * part for part in q))
    x, y, z, w = (part / length for part in q)
    rows = quaternion_matrix((x, y, z, w))

    def clean(entry: Scalar) -> float:
        number = float(entry)  # type: ignore[arg-type]  # plain floats went in
        nearest = round(number)
        return float(nearest) if abs(number - nearest) <= ROUNDING else number

    a, b, c = (tuple(clean(entry) for entry in row) for row in rows)
    return ((a[0], a[1], a[2]), (b[0], b[1], b[2]), (c[0], c[1], c[2]))


def normalized(q: Quaternion) -> Quaternion:
    """Return q / |q|."""
    x, y, z, w = q
    length = sqrt(x * x + y * y + z * z + w * w)
    return (x / length, y / length, z / length, w / length)


def exponential(half: Vector) -> Quaternion:
    """Return the quaternion exp(half): a turn by 2 |half| about half's direction.

    The series near zero keeps the value and its derivative finite there; both forms
    agree to float64's rounding where they meet.
    """
    s = dot(half, half)
    safe = where_less(s, SMALL_ANGLE_SQUARED, 1.0, s)
    angle = sqrt(safe)
    sine = 1.0 - s * (1.0 / 6.0 - s * (1.0 / 120.0))
    cosine = 1.0 - s * (0.5 - s * (1.0 / 24.0 - s * (1.0 / 720.0)))
    ratio = where_less(s, SMALL_ANGLE_SQUARED, sine, sin(angle) / angle)
    return (
        *scale(ratio, half),
        where_less(s, SMALL_ANGLE_SQUARED, cosine, cos(angle)),
    )


@dataclass(frozen=True, slots=True)
class Spatial:
    """A spatial motion or force: (angular, linear) or (couple, force)."""

    angular: Vector
    linear: Vector

    def __add__(self, other: Spatial) -> Spatial:
        return Spatial(add(self.angular, other.angular), add(self.linear, other.linear))

    def __sub__(self, other: Spatial) -> Spatial:
        return Spatial(sub(self.angular, other.angular), sub(self.linear, other.linear))

    def dot(self, other: Spatial) -> Scalar:
        """Return the product of a motion and a force (power, where that is meant)."""
        return dot(self.angular, other.angular) + dot(self.linear, other.linear)

    def scaled(self, s: Scalar) -> Spatial:
        """Return s times it."""
        return Spatial(scale(s, self.angular), scale(s, self.linear))

    def cross_motion(self, other: Spatial) -> Spatial:
        """Return self x other for a motion `other` (equation 2.31)."""
        return Spatial(
            cross(self.angular, other.angular),
            add(cross(self.angular, other.linear), cross(self.linear, other.angular)),
        )

    def cross_force(self, other: Spatial) -> Spatial:
        """Return self x* other for a force `other` (equation 2.32)."""
        return Spatial(
            add(cross(self.angular, other.angular), cross(self.linear, other.linear)),
            cross(self.angular, other.linear),
        )


AT_REST = Spatial(ZERO, ZERO)


@dataclass(frozen=True, slots=True)
class Inertia:
    """A rigid body's inertia about its frame's origin.

    Attributes
    ----------
    first
        Mass times centre of mass.
    xx, yy, zz, xy, xz, yz
        The rotational inertia about the origin.
    """

    mass: Scalar
    first: Vector
    rotational: tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]

    @staticmethod
    def about_origin(
        mass: Scalar,
        center: Vector,
        about_center: tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar],
    ) -> Inertia:
        """Move an inertia about the centre of mass to the origin (equation 2.62)."""
        x, y, z = center
        hx, hy, hz = first = scale(mass, center)
        xx, yy, zz, xy, xz, yz = about_center
        return Inertia(
            mass,
            first,
            (
                xx + (hy * y + hz * z),
                yy + (hx * x + hz * z),
                zz + (hx * x + hy * y),
                xy - hx * y,
                xz - hx * z,
                yz - hy * z,
            ),
        )

    def matrix(self) -> Matrix:
        """Return the rotational part as a matrix."""
        xx, yy, zz, xy, xz, yz = self.rotational
        return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))

    def times(self, motion: Spatial) -> Spatial:
        """Return the momentum of `motion`, or the force of an acceleration."""
        return Spatial(
            add(turn(self.matrix(), motion.angular), cross(self.first, motion.linear)),
            sub(scale(self.mass, motion.linear), cross(self.first, motion.angular)),
        )

    def __add__(self, other: Inertia) -> Inertia:
        a, b = self.rotational, other.rotational
        return Inertia(
            self.mass + other.mass,
            add(self.first, other.first),
            (
                a[0] + b[0],
                a[1] + b[1],
                a[2] + b[2],
                a[3] + b[3],
                a[4] + b[4],
                a[5] + b[5],
            ),
        )


@dataclass(frozen=True, slots=True)
class Transform:
    """The coordinate transform from frame A to frame B.

    Attributes
    ----------
    rotation
        E: turns A's coordinates into B's.
    displacement
        r: B's origin in A's coordinates.
    """

    rotation: Matrix
    displacement: Vector

    def motion(self, motion: Spatial) -> Spatial:
        """Return a motion given in A in B's coordinates: X m."""
        return Spatial(
            turn(self.rotation, motion.angular),
            turn(
                self.rotation,
                sub(motion.linear, cross(self.displacement, motion.angular)),
            ),
        )

    def force_back(self, force: Spatial) -> Spatial:
        """Return a force given in B in A's coordinates: Xᵀ f."""
        turned = turn_back(self.rotation, force.linear)
        return Spatial(
            add(
                turn_back(self.rotation, force.angular),
                cross(self.displacement, turned),
            ),
            turned,
        )

    def inertia_back(self, inertia: Inertia) -> Inertia:
        """Return an inertia given in B in A's coordinates: Xᵀ I X."""
        r = self.displacement
        first = turn_back(self.rotation, inertia.first)
        moved = add(first, scale(inertia.mass, r))
        back = transpose(self.rotation)
        half = product(back, inertia.matrix())
        # Eᵀ I E is symmetric: only six of its entries are wanted
        rotational = tuple(
            dot(half[i], back[j])
            for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        )
        # -[r]x[h]x - [h + m r]x[r]x, entry by entry
        h, k = first, moved
        rx, ry, rz = r
        shift = (
            (ry * h[1] + rz * h[2]) + (k[1] * ry + k[2] * rz),
            (rx * h[0] + rz * h[2]) + (k[0] * rx + k[2] * rz),
            (rx * h[0] + ry * h[1]) + (k[0] * rx + k[1] * ry),
            -(ry * h[0] + k[1] * rx),
            -(rz * h[0] + k[2] * rx),
            -(rz * h[1] + k[2] * ry),
        )
        xx, yy, zz, xy, xz, yz = (a + b for a, b in zip(rotational, shift, strict=True))
        return Inertia(inertia.mass, moved, (xx, yy, zz, xy, xz, yz))
