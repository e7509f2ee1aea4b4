"""The principal frame of a link's inertia, as recordings give it in rotationCom."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from isoscope.gpu.model.inertia import symmetric

Array = np.ndarray[Any, np.dtype[Any]]


def principal_frames(inertia: Array) -> Array:
    """Orientations in the link's frame, quaternions x y z w.

    Parameters
    ----------
    inertia
        [6L, K]: xx yy zz xy xz yz of each link.

    Returns
    -------
    ndarray
        float64 [K, L, 4]. Of the frames that name and point the axes differently the
        one nearest to the link's own; no turn where the inertia is diagonal.
    """
    columns = np.asarray(inertia, np.float64)
    links, worlds = len(columns) // 6, columns.shape[1]
    frames = np.zeros((worlds, links, 4))
    for world in range(worlds):
        for link in range(links):
            six = columns[6 * link : 6 * link + 6, world]
            frames[world, link] = _frame(six)
    return frames


def turned(rotation: Array, frame: Array) -> Array:
    """The product of quaternions x y z w: first `frame`, then `rotation`.

    Parameters
    ----------
    rotation
        [W, 4].
    frame
        [1 or W, 4].

    Returns
    -------
    ndarray
        [W, 4], in the rotation's dtype.
    """
    a = rotation.astype(np.float64)
    b = frame
    av, aw, bv, bw = a[:, :3], a[:, 3:], b[:, :3], b[:, 3:]
    vector = aw * bv + bw * av + np.cross(av, bv)
    scalar = aw * bw - (av * bv).sum(1, keepdims=True)
    product: Array = np.concatenate((vector, scalar), 1).astype(rotation.dtype)
    return product


def _frame(six: Array) -> Array:
    if not np.isfinite(six).all():
        return np.full(4, np.nan)
    if not six[3:].any():
        return np.array([0.0, 0.0, 0.0, 1.0])
    _, axes = np.linalg.eigh(symmetric(six.tolist()))
    order = max(
        permutations(range(3)),
        key=lambda p: sum(abs(axes[i, p[i]]) for i in range(3)),
    )
    axes = axes[:, order]
    axes = axes * np.where(np.diag(axes) < 0, -1.0, 1.0)
    if np.linalg.det(axes) < 0:
        weakest = int(np.argmin(np.diag(axes)))
        axes[:, weakest] *= -1
    return _quaternion(axes)


def _quaternion(matrix: Array) -> Array:
    """Of a rotation matrix; by its largest component (Shepperd, 1978)."""
    diagonal = np.diag(matrix)
    squares = np.array([*(2 * diagonal - diagonal.sum() + 1), diagonal.sum() + 1])
    largest = int(np.argmax(squares))
    x = np.zeros(4)
    i, j, k = (largest, (largest + 1) % 3, (largest + 2) % 3)
    if largest == 3:
        x[0] = matrix[2, 1] - matrix[1, 2]
        x[1] = matrix[0, 2] - matrix[2, 0]
        x[2] = matrix[1, 0] - matrix[0, 1]
        x[3] = squares[3]
    else:
        x[i] = squares[i]
        x[j] = matrix[j, i] + matrix[i, j]
        x[k] = matrix[k, i] + matrix[i, k]
        x[3] = matrix[k, j] - matrix[j, k]
    quaternion: Array = x / np.linalg.norm(x)
    return quaternion if quaternion[3] >= 0 else -quaternion
