"""Quaternions (x y z w) and rotation matrices in float64, for reading models.

The simulator's own, batched ones are elsewhere; these serve compiling, where clearness
counts. A rotation turns vectors of the inner frame into the outer one's axes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isoscope.gpu.model.spec import NO_TURN

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from isoscope.gpu.model.spec import Quaternion, Vector

    Array = npt.NDArray[np.float64]


def normalised(values: Sequence[float]) -> tuple[float, ...]:
    """The same direction with length 1; what has length 1 already keeps its bits."""
    length = math.sqrt(sum(value * value for value in values))
    return tuple(value / length for value in values)


def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """First `b`, then `a`."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def inverse(q: Quaternion) -> Quaternion:
    """The opposite turn of a unit quaternion."""
    x, y, z, w = q
    return (-x, -y, -z, w)


def about(axis: Vector, angle: float) -> Quaternion:
    """A turn by an angle [rad] about a unit axis."""
    s = math.sin(angle / 2)
    return (axis[0] * s, axis[1] * s, axis[2] * s, math.cos(angle / 2))


def matrix(q: Quaternion) -> Array:
    """The rotation matrix, (3, 3), of a unit quaternion."""
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def from_matrix(r: Array) -> Quaternion:
    """The unit quaternion, w not negative, of a rotation matrix.

    Source: Shepperd, Quaternion from rotation matrix, J. Guidance and Control 1(3),
    1978: the largest of the four is computed first, so nothing cancels.
    """
    trace = float(np.trace(r))
    squares = [float(r[0, 0]), float(r[1, 1]), float(r[2, 2]), trace]
    largest = max(range(4), key=squares.__getitem__)
    q = [0.0] * 4
    if largest == 3:
        q = [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], 1 + trace]
    else:
        i = largest
        j, k = (i + 1) % 3, (i + 2) % 3
        q[i] = 1 + 2 * r[i, i] - trace
        q[j] = r[j, i] + r[i, j]
        q[k] = r[k, i] + r[i, k]
        q[3] = r[k, j] - r[j, k]
    sign = -1.0 if q[3] < 0 else 1.0
    x, y, z, w = normalised([sign * float(value) for value in q])
    return (x, y, z, w)


def turned(q: Quaternion, v: Vector) -> Vector:
    """A vector in the outer frame's axes."""
    x, y, z = (float(value) for value in matrix(q) @ np.asarray(v, dtype=np.float64))
    return (x, y, z)


def z_to(direction: Sequence[float]) -> Quaternion:
    """The shortest turn that takes z into a direction (not zero)."""
    dx, dy, dz = normalised(direction)
    across = math.hypot(dx, dy)
    if across == 0.0:
        return NO_TURN if dz > 0 else (1.0, 0.0, 0.0, 0.0)
    # the quaternion of z x d and 1 + z·d, normalised; below, 1 + dz is written as
    # across²/(1 - dz) and all divided by across, so that nothing cancels
    if dz > 0:
        x, y, z, w = normalised([-dy, dx, 0.0, 1 + dz])
    else:
        x, y, z, w = normalised([-dy / across, dx / across, 0.0, across / (1 - dz)])
    return (x, y, z, w)
