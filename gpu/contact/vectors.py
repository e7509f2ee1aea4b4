"""Vectors and frames of pairs: components on the last axis but one, worlds last.

A vector is ``[..., 3, W]``, a matrix ``[..., 3, 3, W]`` with rows before columns. Sums
are written out (see `isoscope.gpu.device`), and nothing writes to its arguments or into
an ``out``, so that forward mode, reverse mode and ``vmap`` all pass. No constant is
made from Python numbers, which would be a copy to the device each time.
"""

from __future__ import annotations

import torch
from torch import Tensor

# The square of a length below which two points count as one [m²].
COINCIDENT = 1e-24


def dot(a: Tensor, b: Tensor) -> Tensor:
    """Multiply vectors ``[..., 3, W]`` to ``[..., W]``; two components also do."""
    return total(a * b, -2)


def total(terms: Tensor, dim: int) -> Tensor:
    """Add up the entries along one axis, first to last."""
    first, *rest = terms.unbind(dim)
    for term in rest:
        first = first + term
    return first


def cross(a: Tensor, b: Tensor) -> Tensor:
    """Return the vector product of ``[..., 3, W]``."""
    ax, ay, az = a.unbind(-2)
    bx, by, bz = b.unbind(-2)
    return torch.stack((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx), -2)


def to_world(matrix: Tensor, vector: Tensor) -> Tensor:
    """Turn a vector of a frame into the world's axes: R a."""
    return total(matrix * vector.unsqueeze(-3), -2)


def to_frame(matrix: Tensor, vector: Tensor) -> Tensor:
    """Turn a vector of the world into a frame's axes: Rᵀ a."""
    return total(matrix * vector.unsqueeze(-2), -3)


def along(vector: Tensor, length: Tensor) -> Tensor:
    """Scale vectors ``[..., 3, W]`` by lengths ``[..., W]``."""
    return vector * length.unsqueeze(-2)


def clamp(value: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Bring a value between two bounds."""
    return torch.minimum(torch.maximum(value, low), high)


def safe_reciprocal(value: Tensor) -> Tensor:
    """Return 1 / value; near zero, a large finite number of its sign."""
    tiny = 1e-12
    small = value.abs() < tiny
    return sign(value) / torch.where(small, tiny, value.abs())


def direction(offset: Tensor, otherwise: Tensor) -> tuple[Tensor, Tensor]:
    """Split an offset into unit vector and length, with finite gradients at zero.

    Parameters
    ----------
    offset
        ``[..., 3, W]``.
    otherwise
        Unit vector where the offset is zero; broadcasts.

    Returns
    -------
    tuple
        ``[..., 3, W]`` and the length ``[..., W]``, 0 where they coincide.
    """
    square = dot(offset, offset)
    apart = square > COINCIDENT
    length = torch.sqrt(torch.where(apart, square, 1.0))
    unit = torch.where(apart.unsqueeze(-2), along(offset, 1.0 / length), otherwise)
    return unit, torch.where(apart, length, 0.0)


def sign(value: Tensor) -> Tensor:
    """Return -1 below zero and 1 elsewhere; it has no gradient."""
    return torch.where(value < 0, -1.0, 1.0).to(value.dtype)


def largest_of_three(values: Tensor) -> Tensor:
    """Mark the largest of three entries ``[..., 3, W]``: the first of equals."""
    x, y, z = values.unbind(-2)
    first = (x >= y) & (x >= z)
    second = ~first & (y >= z)
    return torch.stack((first, second, ~first & ~second), -2)
