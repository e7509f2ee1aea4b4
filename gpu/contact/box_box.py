"""Boxes on boxes: the outline that two faces share, or the crossing of two edges."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from isoscope.gpu.contact.candidates import (
    SHARING_DEPTH,
    Candidates,
    Posed,
    shared,
)
from isoscope.gpu.contact.clipping import shared_outline
from isoscope.gpu.contact.separation import Separation, picked, separate
from isoscope.gpu.contact.vectors import (
    along,
    dot,
    largest_of_three,
    safe_reciprocal,
    sign,
    to_frame,
    to_world,
)

POINTS = 16


def box_box(a: Posed, b: Posed) -> Candidates:
    """Sixteen points of the faces' outline; where edges cross, only the first."""
    found = separate(a, b)
    faces = _by_faces(a, b, found)
    crossing = _crossing(a, b, found)
    by_edges = found.by_edges.unsqueeze(1)
    first = torch.arange(POINTS, device=a.center.device).unsqueeze(-1) == 0
    gap = found.edge_distance.unsqueeze(1)
    return Candidates(
        torch.where(by_edges.unsqueeze(2), crossing.unsqueeze(1), faces.position),
        torch.where(
            by_edges.unsqueeze(2), found.edge_normal.unsqueeze(1), faces.normal
        ),
        torch.where(by_edges, gap, faces.distance),
        torch.where(by_edges, first.to(gap.dtype), faces.share),
    )


@dataclass(frozen=True, slots=True)
class _Face:
    """A face: its middle, the way out of the box, two axes along it, half lengths."""

    normal: Tensor
    middle: Tensor
    one: Tensor
    two: Tensor
    half_one: Tensor
    half_two: Tensor


def _face(box: Posed, column: Tensor, towards: Tensor) -> _Face:
    """Take the face of axis `column` that looks towards a direction."""
    after = torch.roll(column, 1, 1)
    normal = picked(box.matrix, column)
    normal = along(normal, sign(dot(normal, towards)))
    middle = box.center + along(normal, _entry(box.size, column))
    last = torch.roll(column, 2, 1)
    return _Face(
        normal,
        middle,
        picked(box.matrix, after),
        picked(box.matrix, last),
        _entry(box.size, after),
        _entry(box.size, last),
    )


def _entry(size: Tensor, mark: Tensor) -> Tensor:
    return torch.where(mark, size, 0.0).sum(1)


def _by_faces(a: Posed, b: Posed, found: Separation) -> Candidates:
    """The separating face of one box, and the other's that looks at it the most."""
    of_a = found.face[:, :3].any(1)
    wide = of_a.unsqueeze(1)
    base = _chosen(wide, a, b)
    other = _chosen(wide, b, a)
    column = torch.where(wide, found.face[:, :3], found.face[:, 3:])
    offset = other.center - base.center
    top = _face(base, column, offset)
    facing = to_frame(other.matrix, top.normal)
    bottom = _face(other, largest_of_three(facing.abs()), -top.normal)

    def flat(vector: Tensor) -> Tensor:
        return torch.stack((dot(vector, top.one), dot(vector, top.two)), 1)

    arm_one, arm_two = (
        along(bottom.one, bottom.half_one),
        along(bottom.two, bottom.half_two),
    )
    middle = bottom.middle - top.middle
    outline = shared_outline(
        torch.stack((top.half_one, top.half_two), 1),
        flat(middle),
        flat(arm_one),
        flat(arm_two),
    )
    first, second = outline.local.unbind(2)

    def height(vector: Tensor) -> Tensor:
        return dot(vector, top.normal).unsqueeze(1)

    distance = height(middle) + first * height(arm_one) + second * height(arm_two)
    x, y = outline.place.unbind(2)
    position = (
        top.middle.unsqueeze(1)
        + along(top.one.unsqueeze(1), x)
        + along(top.two.unsqueeze(1), y)
        + along(top.normal.unsqueeze(1), 0.5 * distance)
    )
    # from B to A, wherever the face is
    normal = torch.where(wide, -top.normal, top.normal).unsqueeze(1)
    depth = SHARING_DEPTH * torch.minimum(a.size.amin(1), b.size.amin(1))
    share = shared(distance, outline.extent, depth.unsqueeze(1))
    # A point that is not there is as far as the boxes are, but never counts.
    distance = torch.where(
        outline.extent > 0, distance, found.distance.unsqueeze(1).clamp(min=0.0)
    )
    return Candidates(position, normal.expand_as(position), distance, share)


def _chosen(of_first: Tensor, first: Posed, second: Posed) -> Posed:
    return Posed(
        torch.where(of_first, first.center, second.center),
        torch.where(of_first.unsqueeze(1), first.matrix, second.matrix),
        torch.where(of_first, first.size, second.size),
    )


def _crossing(a: Posed, b: Posed, found: Separation) -> Tensor:
    """The middle between two edges where they are nearest, [n, 3, W]."""
    normal = found.edge_normal
    on_a = _edge_middle(a, found.edge_a, -normal)
    on_b = _edge_middle(b, found.edge_b, normal)
    way_a, way_b = picked(a.matrix, found.edge_a), picked(b.matrix, found.edge_b)
    offset = on_a - on_b
    cosine = dot(way_a, way_b)
    along_a, along_b = dot(way_a, offset), dot(way_b, offset)
    scale = safe_reciprocal(1.0 - cosine * cosine)
    # near-parallel edges are never used; their place only has to be finite
    scale = torch.where(found.by_edges, scale, 0.0)
    place_a = (cosine * along_b - along_a) * scale
    place_b = (along_b - cosine * along_a) * scale
    nearest_a = on_a + along(way_a, place_a)
    nearest_b = on_b + along(way_b, place_b)
    return 0.5 * (nearest_a + nearest_b)


def _edge_middle(box: Posed, column: Tensor, towards: Tensor) -> Tensor:
    """The middle of the edge along axis `column` that is furthest in a direction."""
    facing = to_frame(box.matrix, towards)
    corner = torch.where(column, 0.0, sign(facing) * box.size)
    return box.center + to_world(box.matrix, corner)
