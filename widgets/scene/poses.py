"""Rigid transforms as arrays; a pose that isn't finite stays not a number.

Axis order: quaternions [..., 4] as x y z w, rotation matrices [..., 3, 3], transforms
[..., 3, 4]. Everything is float64; single precision comes last, on the graphics card.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

# Below this length a quaternion names no direction (float32 underflow is near 1e-38).
_SHORTEST = 1e-12


def rotation_matrices(quaternions: Array) -> Array:
    """Rotation matrices [..., 3, 3] of quaternions [..., 4]; NaN where there is none.

    They need not be of unit length; one that is zero or not finite gives NaN.
    """
    q = np.asarray(quaternions, np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        length = np.sqrt(np.einsum("...i,...i->...", q, q))
        x, y, z, w = np.moveaxis(
            q / np.where(length > _SHORTEST, length, np.nan)[..., None], -1, 0
        )
        out = np.empty((*q.shape[:-1], 3, 3))
        out[..., 0, 0] = 1 - 2 * (y * y + z * z)
        out[..., 0, 1] = 2 * (x * y - z * w)
        out[..., 0, 2] = 2 * (x * z + y * w)
        out[..., 1, 0] = 2 * (x * y + z * w)
        out[..., 1, 1] = 1 - 2 * (x * x + z * z)
        out[..., 1, 2] = 2 * (y * z - x * w)
        out[..., 2, 0] = 2 * (x * z - y * w)
        out[..., 2, 1] = 2 * (y * z + x * w)
        out[..., 2, 2] = 1 - 2 * (x * x + y * y)
    return out


def transforms(translations: Array, quaternions: Array) -> Array:
    """Transforms [..., 3, 4] of translations [..., 3] and quaternions [..., 4]."""
    at = np.asarray(translations, np.float64)
    return np.concatenate([rotation_matrices(quaternions), at[..., None]], axis=-1)


def apply(transform: Array, points: Array) -> Array:
    """World positions [n, 3] of local ones [n, 3] under one transform [3, 4]."""
    moved: Array = points @ transform[:, :3].T + transform[:, 3]
    return moved


def deformed_nodes(
    reference: Array,
    displacement: Array,
    *,
    step: Array,
    pivot: Array,
    eval_point: Array,
) -> Array:
    """World positions [n, 3] of a deformable body's nodes.

    The recorder writes each node's displacement [n, 3] in the body's own frame, whose
    motion is in it too: `pivot` is the rigid motion that fits the displaced nodes best,
    given by where it takes `eval_point`. The step's transform is where that fitted body
    is in the world, so the nodes are first brought back by the fit, then placed::

        fit(p) = R (p - eval_point) + t         R, t = pivot
        world  = step . inverse(fit) (reference + displacement)

    Found by what stays continuous and agrees with the recorded node velocities and
    contact points; the recorder's source (release 1.0.0) names the parts.

    Parameters
    ----------
    reference, displacement
        [n, 3] in metres, one row a node.
    step
        Transform [3, 4] of the actor in this row.
    pivot
        Transform [3, 4] made of pivotEvalTranslation and pivotEvalRotation.
    eval_point
        [3], the creation's rigidTransformEvalPoint.
    """
    displaced = reference.astype(np.float64) + displacement
    # The inverse of a rotation is its transpose, so it multiplies from the right.
    fitted = (displaced - pivot[:, 3]) @ pivot[:, :3] + eval_point
    return apply(step, fitted)
