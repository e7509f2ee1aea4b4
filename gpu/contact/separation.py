"""Along which direction two boxes are furthest apart, or least deep in each other.

The fifteen candidates of the separating axis theorem: three face normals of each box
and nine products of edges (Gottschalk, Lin and Manocha, OBBTree, SIGGRAPH 1996).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from isoscope.gpu.contact.vectors import along, cross, dot, sign, to_frame, total

if TYPE_CHECKING:
    from torch import Tensor

    from isoscope.gpu.contact.candidates import Posed

# Squared sine below which two edges count as parallel and have no direction.
PARALLEL_EDGES = 1e-6
# Boxes touch by edges where those are clearly nearer than faces, and another direction.
EDGE_PREFERENCE = 0.95
EDGE_COSINE = 0.995
# Of two faces nearly alike A's is taken, whatever the rounding.
FACE_PREFERENCE = 1e-3


@dataclass(frozen=True, slots=True)
class Separation:
    """How n pairs of boxes lie to one another.

    Attributes
    ----------
    face
        One True of six, A's three axes and then B's, [n, 6, W].
    distance
        Gap along the better of face and edges; a lower bound of what is between boxes
        that are apart, [n, W].
    by_edges
        Whether edges touch rather than faces, [n, W].
    edge_normal
        Unit vector from B to A, square to both edges, [n, 3, W].
    edge_distance
        Gap along it, [n, W].
    edge_a, edge_b
        Which edge directions, one True of three each, [n, 3, W].
    """

    face: Tensor
    distance: Tensor
    by_edges: Tensor
    edge_normal: Tensor
    edge_distance: Tensor
    edge_a: Tensor
    edge_b: Tensor


def separate(a: Posed, b: Posed) -> Separation:
    """Compare all fifteen directions."""
    offset = a.center - b.center
    # cosines[:, i, j] is A's axis i on B's axis j
    columns_a, columns_b = a.matrix.transpose(1, 2), b.matrix.transpose(1, 2)
    cosines = total(columns_a.unsqueeze(2) * columns_b.unsqueeze(1), 3)
    spread = cosines.abs()
    on_a, on_b = to_frame(a.matrix, offset), to_frame(b.matrix, offset)
    faces_a = on_a.abs() - a.size - total(spread * b.size.unsqueeze(1), 2)
    faces_b = on_b.abs() - b.size - total(spread * a.size.unsqueeze(2), 1)
    scale = torch.minimum(a.size.amin(1), b.size.amin(1)) * FACE_PREFERENCE
    ranked = torch.cat((faces_a, faces_b - scale.unsqueeze(1)), 1)
    face = first_largest(ranked)
    # a sum with one term that is not zero has no order
    face_distance = torch.where(face, torch.cat((faces_a, faces_b), 1), 0.0).sum(1)

    gaps, sines = _edges(cosines, spread, on_a, a.size, b.size)
    chosen = first_largest(gaps.flatten(1, 2))
    edge_distance = torch.where(chosen, gaps.flatten(1, 2), 0.0).sum(1)
    grid = chosen.reshape(gaps.shape)
    edge_a, edge_b = grid.any(2), grid.any(1)
    normal = cross(picked(a.matrix, edge_a), picked(b.matrix, edge_b))
    sine = torch.where(chosen, sines.flatten(1, 2), 0.0).sum(1)
    normal = along(normal, 1.0 / torch.where(sine > 0, sine, 1.0))
    normal = along(normal, sign(dot(normal, offset)))
    flat = torch.where(
        face[:, :3].any(1, keepdim=True),
        picked(a.matrix, face[:, :3]),
        picked(b.matrix, face[:, 3:]),
    )
    by_edges = (
        (edge_distance > EDGE_PREFERENCE * face_distance)
        & (edge_distance > face_distance)
        & (dot(normal, flat).abs() < EDGE_COSINE)
    )
    return Separation(
        face,
        torch.where(by_edges, edge_distance, face_distance),
        by_edges,
        normal,
        edge_distance,
        edge_a,
        edge_b,
    )


def picked(matrix: Tensor, column: Tensor) -> Tensor:
    """Take the marked column of matrices [n, 3, 3, W], marks [n, 3, W]."""
    return torch.where(column.unsqueeze(1), matrix, 0.0).sum(2)


def first_largest(values: Tensor) -> Tensor:
    """Mark the largest along axis 1, the first of equals."""
    largest = values == values.amax(1, keepdim=True)
    return largest & (torch.cumsum(largest, 1) == 1)


def _edges(
    cosines: Tensor, spread: Tensor, on_a: Tensor, half_a: Tensor, half_b: Tensor
) -> tuple[Tensor, Tensor]:
    """Gaps along the nine products of edges, and their lengths, [n, 3, 3, W]."""
    # the offset on A's axis i x B's axis j, in A's frame
    reach = (
        _after(on_a, 1).unsqueeze(2) * _next(cosines, 1)
        - _next(on_a, 1).unsqueeze(2) * _after(cosines, 1)
    ).abs()
    wide_a = _next(half_a, 1).unsqueeze(2) * _after(spread, 1)
    wide_a = wide_a + _after(half_a, 1).unsqueeze(2) * _next(spread, 1)
    wide_b = _next(half_b, 1).unsqueeze(1) * _after(spread, 2)
    wide_b = wide_b + _after(half_b, 1).unsqueeze(1) * _next(spread, 2)
    square = 1.0 - cosines * cosines
    usable = square > PARALLEL_EDGES
    sine = torch.sqrt(torch.where(usable, square, 1.0))
    gap = (reach - wide_a - wide_b) / sine
    return torch.where(usable, gap, -torch.inf), sine


def _next(values: Tensor, dim: int) -> Tensor:
    """Take entries 1, 2, 0."""
    return torch.roll(values, -1, dim)


def _after(values: Tensor, dim: int) -> Tensor:
    """Take entries 2, 0, 1."""
    return torch.roll(values, 1, dim)
