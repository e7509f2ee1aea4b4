"""The principal frame of a link's inertia, as recordings give it in rotationCom."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.transfer import Ledger

Array = np.ndarray[Any, np.dtype[Any]]


class PrincipalFrames:
    """The principal frames of a scene's links, computed once for each inertia."""

    def __init__(self, ledger: Ledger, cause: str) -> None:
        self._ledger = ledger
        self._cause = cause
        self._known: tuple[Parameters, Array] | None = None

    def of(self, parameters: Parameters) -> Array:
        """Each link's principal frame in its own, float64 [1 or W, L, 4]."""
        known = self._known
        if known is None or known[0].inertia is not parameters.inertia:
            host = self._ledger.to_host(parameters.inertia, self._cause)
            known = self._known = parameters, principal_frames(host)
        return known[1]


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
    xx, yy, zz, xy, xz, yz = (
        np.asarray(inertia, np.float64).T.reshape(inertia.shape[1], -1, 6)
    ).transpose(2, 0, 1)
    matrices = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], -1)
    _, axes = np.linalg.eigh(matrices.reshape(*xx.shape, 3, 3))
    frames = _quaternions(_nearest(axes))
    diagonal = (xy == 0) & (xz == 0) & (yz == 0)
    frames[diagonal] = (0.0, 0.0, 0.0, 1.0)
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


def _nearest(axes: Array) -> Array:
    """Order and point columns [..., 3, 3] to be as near to no turn as they can."""
    ways = np.array(list(permutations(range(3))))
    # likeness[..., p]: of the diagonal where the columns are in the p-th order
    likeness = np.abs(axes)[..., np.arange(3), ways].sum(-1)
    best = ways[likeness.argmax(-1)]
    axes = np.take_along_axis(axes, best[..., None, :], -1)
    diagonal = np.diagonal(axes, axis1=-2, axis2=-1)
    axes = axes * np.where(diagonal < 0, -1.0, 1.0)[..., None, :]
    # a mirrored one is turned over along the column that this costs least
    weakest = np.diagonal(axes, axis1=-2, axis2=-1).argmin(-1)[..., None] == np.arange(
        3
    )
    mirrored = np.linalg.det(axes) < 0
    turned_over: Array = np.where(mirrored[..., None] & weakest, -1.0, 1.0)
    return axes * turned_over[..., None, :]


def _quaternions(m: Array) -> Array:
    """Of rotation matrices [..., 3, 3]; by their largest component (Shepperd, 1978)."""
    x, y, z = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    # four times the products of the components with one another, by rows
    xy, xz, yz = (m[..., j, i] + m[..., i, j] for i, j in ((0, 1), (0, 2), (1, 2)))
    xw, yw, zw = (m[..., j, i] - m[..., i, j] for i, j in ((1, 2), (2, 0), (0, 1)))
    products = np.stack(
        [
            np.stack([1 + x - y - z, xy, xz, xw], -1),
            np.stack([xy, 1 - x + y - z, yz, yw], -1),
            np.stack([xz, yz, 1 - x - y + z, zw], -1),
            np.stack([xw, yw, zw, 1 + x + y + z], -1),
        ],
        -2,
    )
    squares = np.diagonal(products, axis1=-2, axis2=-1)
    largest = squares.argmax(-1)[..., None, None]
    row = np.take_along_axis(products, largest, -2)[..., 0, :]
    row = row / np.linalg.norm(row, axis=-1, keepdims=True)
    quaternions: Array = np.where(row[..., 3:] < 0, -row, row)
    return quaternions
