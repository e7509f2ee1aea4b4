"""Spheres, capsules and boxes (A) on planes (B)."""

from __future__ import annotations

import torch
from torch import Tensor

from isoscope.gpu.contact.candidates import (
    SHARING_DEPTH,
    Candidates,
    Posed,
    near_deepest,
    shared,
)
from isoscope.gpu.contact.vectors import along, dot


def sphere_plane(sphere: Posed, plane: Posed) -> Candidates:
    """One point below the sphere's centre."""
    center = sphere.center.unsqueeze(1)
    position, distance = _above(center, plane, sphere.size[:, None, 0])
    share = torch.ones_like(distance)
    return Candidates(position, _normals(plane, distance), distance, share)


def capsule_plane(capsule: Posed, plane: Posed) -> Candidates:
    """One point below each end; lying flat both carry half, else the lower one all."""
    half = capsule.size[:, 1]
    arm = along(capsule.axis, half)
    ends = torch.stack((capsule.center - arm, capsule.center + arm), 1)
    position, distance = _above(ends, plane, capsule.size[:, None, 0])
    first, second = distance.unbind(1)
    upper = 0.5 * near_deepest(second - first, SHARING_DEPTH * capsule.size[:, 0])
    lower_first = first <= second
    share = torch.stack(
        (
            torch.where(lower_first, 1.0 - upper, upper),
            torch.where(lower_first, upper, 1.0 - upper),
        ),
        1,
    )
    return Candidates(position, _normals(plane, distance), distance, share)


def box_plane(box: Posed, plane: Posed) -> Candidates:
    """The eight corners."""
    points = box.center.unsqueeze(1)
    for axis in (box.matrix * box.size.unsqueeze(1)).unsqueeze(1).unbind(3):
        points = torch.cat((points - axis, points + axis), 1)
    position, distance = _above(points, plane, torch.zeros_like(box.size[:, None, 0]))
    depth = SHARING_DEPTH * box.size.amin(1, keepdim=True)
    share = shared(distance, torch.ones_like(distance), depth)
    return Candidates(position, _normals(plane, distance), distance, share)


def _above(points: Tensor, plane: Posed, radius: Tensor) -> tuple[Tensor, Tensor]:
    """Contact points and gaps of balls at `points` [n, k, 3, W], radii [n, 1, 1]."""
    normal = plane.axis.unsqueeze(1)
    height = dot(points - plane.center.unsqueeze(1), normal)
    distance = height - radius
    return points - along(normal, radius + 0.5 * distance), distance


def _normals(plane: Posed, distance: Tensor) -> Tensor:
    n, k, _ = distance.shape
    return plane.axis.unsqueeze(1).expand(n, k, 3, -1)
