"""The outline that two faces share: a parallelogram laid on a rectangle, edge by edge.

Every edge of either face is cut to the part that lies within the other; what is left of
all eight is the outline. An edge is cut by the parameters at which it crosses the two
pairs of sides of the other (Liang and Barsky, A New Concept and Method for Line
Clipping, ACM Transactions on Graphics 3 (1984)). Each end of a part stands for half of
its length, so that a corner that two edges share counts once and edges on top of one
another don't count for more than they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from isoscope.gpu.contact.vectors import along, clamp, dot, safe_reciprocal

# Edges that lie on the other's outline are within it in spite of rounding.
ON_OUTLINE = 1e-5
# Keeps the root's gradient finite [m²].
SHORTEST = 1e-30


@dataclass(frozen=True, slots=True)
class Outline:
    """Sixteen points of n outlines.

    Attributes
    ----------
    place
        In the rectangle's axes [n, 16, 2, W].
    local
        The same points in the parallelogram's, from -1 to 1 inside [n, 16, 2, W].
    extent
        The length that each stands for; 0 where there is none [n, 16, W].
    """

    place: Tensor
    local: Tensor
    extent: Tensor


def shared_outline(half: Tensor, middle: Tensor, one: Tensor, two: Tensor) -> Outline:
    """Find the outline of what a rectangle and a parallelogram share.

    Parameters
    ----------
    half
        Half lengths of the rectangle, whose middle is the origin, [n, 2, W].
    middle, one, two
        The parallelogram ``middle + a one + b two``, |a| <= 1 and |b| <= 1, each
        [n, 2, W]; `one` and `two` must not be parallel.
    """
    x, y = half.unbind(1)
    wide = torch.ones_like(middle[:, 0])
    none = torch.zeros_like(wide)
    # The same edges in the rectangle's axes and in the parallelogram's.
    inner, inner_way = _edges(middle, one, two)
    right, up = torch.stack((wide, none), 1), torch.stack((none, wide), 1)
    nowhere = torch.stack((none, none), 1)
    inner_local, inner_way_local = _edges(nowhere, right, up)
    outer, outer_way = _edges(nowhere, along(right, x), along(up, y))
    rows = _inverse(one, two)
    outer_local = _apply(rows, outer - middle.unsqueeze(1))
    outer_way_local = _apply(rows, outer_way)

    place, way = torch.cat((inner, outer), 1), torch.cat((inner_way, outer_way), 1)
    local = torch.cat((inner_local, outer_local), 1)
    local_way = torch.cat((inner_way_local, outer_way_local), 1)
    # Edges of the one are cut in the axes of the other.
    bound = half.unsqueeze(1).expand_as(inner)
    low, high = _cut(
        torch.cat((inner, outer_local), 1),
        torch.cat((inner_way, outer_way_local), 1),
        torch.cat((bound, torch.ones_like(outer_local)), 1) * (1.0 + ON_OUTLINE),
    )
    length = torch.sqrt(torch.clamp(dot(way, way), min=SHORTEST))
    extent = 0.5 * length * torch.clamp(high - low, min=0.0)
    return Outline(
        torch.cat((place + along(way, low), place + along(way, high)), 1),
        torch.cat((local + along(local_way, low), local + along(local_way, high)), 1),
        torch.cat((extent, extent), 1),
    )


def _edges(middle: Tensor, one: Tensor, two: Tensor) -> tuple[Tensor, Tensor]:
    """Middles and half lengths of a parallelogram's four edges, [n, 4, 2, W] each."""
    return (
        torch.stack((middle + one, middle - one, middle + two, middle - two), 1),
        torch.stack((two, two, one, one), 1),
    )


def _cut(start: Tensor, way: Tensor, bound: Tensor) -> tuple[Tensor, Tensor]:
    """Parameters in [-1, 1] between which ``start + t way`` is within the bounds."""
    slope = safe_reciprocal(way)
    one, two = (-bound - start) * slope, (bound - start) * slope
    enter = torch.minimum(one, two).amax(2)
    leave = torch.maximum(one, two).amin(2)
    edge = torch.ones_like(enter)
    return clamp(enter, -edge, edge), clamp(leave, -edge, edge)


def _inverse(one: Tensor, two: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of the matrix that takes places to local coordinates, [n, 2, W] each."""
    ax, ay = one.unbind(1)
    bx, by = two.unbind(1)
    scale = safe_reciprocal(ax * by - bx * ay)
    return torch.stack((by * scale, -bx * scale), 1), torch.stack(
        (-ay * scale, ax * scale), 1
    )


def _apply(rows: tuple[Tensor, Tensor], vectors: Tensor) -> Tensor:
    first, second = rows
    return torch.stack(
        (dot(vectors, first.unsqueeze(1)), dot(vectors, second.unsqueeze(1))), 2
    )
