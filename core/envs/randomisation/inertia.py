"""Inertia tensors that stay those of a body, however they are scaled.

A symmetric tensor I about the centre of mass belongs to a body if and only if its
second moments Σ = ½·tr(I)·1 - I are positive semi-definite (Wensing, Kim and Slotine,
2018); the triangle inequality of the principal inertias follows. Stretching a body by s
along an axis turns Σ into SΣS, which keeps that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# xx, yy, zz, xy, xz, yz, as models have them
_MATRIX = ((0, 3, 4), (3, 1, 5), (4, 5, 2))


def is_valid(inertia: Any, tolerance: float = 1e-9) -> Any:
    """Whether tensors [..., 6] are those of bodies: bool [...]; all zero counts as one.

    Parameters
    ----------
    tolerance
        How far below zero a second moment may be, relative to the greatest inertia.
    """
    values = np.asarray(inertia, np.float64)
    matrix = values[..., np.array(_MATRIX)]
    trace = values[..., 0] + values[..., 1] + values[..., 2]
    moments = 0.5 * trace[..., None, None] * np.eye(3) - matrix
    finite = np.asarray(np.isfinite(moments).all((-1, -2)))
    least = np.linalg.eigvalsh(np.where(finite[..., None, None], moments, 0.0))[..., 0]
    return finite & (least >= -tolerance * np.abs(values).max(-1))


def stretch(inertia: Any, x: Any, y: Any, z: Any, xp: Any) -> Any:
    """Stretch bodies of constant mass along their frames' axes.

    Parameters
    ----------
    inertia
        [..., 6]: xx, yy, zz, xy, xz, yz; of the scene's kind.
    x, y, z
        Positive factors [...].

    Returns
    -------
    [..., 6]
    """
    xx, yy, zz, xy, xz, yz = (inertia[..., i] for i in range(6))
    moment_x = (yy + zz - xx) * 0.5 * x * x
    moment_y = (xx + zz - yy) * 0.5 * y * y
    moment_z = (xx + yy - zz) * 0.5 * z * z
    parts = (
        moment_y + moment_z,
        moment_x + moment_z,
        moment_x + moment_y,
        xy * x * y,
        xz * x * z,
        yz * y * z,
    )
    return xp.stack(parts, -1)
