"""Spheres and capsules against one another: points or segments, each with a radius.

The closest points of two segments follow Ericson, Real-Time Collision Detection (2005),
section 5.1.9, with a regularised denominator for segments that are nearly parallel.
"""

from __future__ import annotations

import torch
from torch import Tensor

from isoscope.gpu.contact.candidates import (
    SHARING_DEPTH,
    Candidates,
    Posed,
    shared_along,
)
from isoscope.gpu.contact.vectors import along, clamp, cross, direction, dot

# Squared sine of the angle at which two segments begin to count as parallel.
PARALLEL = {torch.float32: 1e-6, torch.float64: 1e-10}


def sphere_sphere(a: Posed, b: Posed) -> Candidates:
    """One point on the line of centres."""
    return _balls(
        a.center.unsqueeze(1),
        a.size[:, None, 0],
        b.center.unsqueeze(1),
        b.size[:, None, 0],
        torch.ones_like(a.center[:, :1] + b.center[:, :1]),
    )


def sphere_capsule(sphere: Posed, capsule: Posed) -> Candidates:
    """One point towards the nearest point of the capsule's axis."""
    half = capsule.size[:, 1]
    place = clamp(dot(sphere.center - capsule.center, capsule.axis), -half, half)
    nearest = capsule.center + along(capsule.axis, place)
    return _balls(
        sphere.center.unsqueeze(1),
        sphere.size[:, None, 0],
        nearest.unsqueeze(1),
        capsule.size[:, None, 0],
        torch.ones_like(place).unsqueeze(1),
    )


def capsule_capsule(a: Posed, b: Posed) -> Candidates:
    """Three points: where the axes are nearest, and the ends of what is abreast."""
    half_a, half_b = a.size[:, 1], b.size[:, 1]
    offset = a.center - b.center
    cosine = dot(a.axis, b.axis)
    along_a, along_b = dot(a.axis, offset), dot(b.axis, offset)
    normal = cross(a.axis, b.axis)
    sine2 = dot(normal, normal) + PARALLEL[offset.dtype]
    # Points on a: offset + s a. The nearest s of the lines, then both in turn.
    first = clamp((cosine * along_b - along_a) / sine2, -half_a, half_a)
    on_b = clamp(cosine * first + along_b, -half_b, half_b)
    nearest = clamp(cosine * on_b - along_a, -half_a, half_a)
    reach = cosine.abs() * half_b
    low = clamp(-along_a - reach, -half_a, half_a)
    high = clamp(-along_a + reach, -half_a, half_a)
    place_a = torch.stack((nearest, low, high), 1)
    half = half_b.unsqueeze(1)
    place_b = clamp(cosine.unsqueeze(1) * place_a + along_b.unsqueeze(1), -half, half)
    points_a = a.center.unsqueeze(1) + along(a.axis.unsqueeze(1), place_a)
    points_b = b.center.unsqueeze(1) + along(b.axis.unsqueeze(1), place_b)
    radius_a, radius_b = a.size[:, None, 0], b.size[:, None, 0]
    found = _balls(points_a, radius_a, points_b, radius_b, torch.ones_like(place_a))
    depth = SHARING_DEPTH * torch.minimum(a.size[:, 0], b.size[:, 0])
    share = shared_along(found.distance, depth)
    return Candidates(found.position, found.normal, found.distance, share)


def _balls(
    a: Tensor, radius_a: Tensor, b: Tensor, radius_b: Tensor, share: Tensor
) -> Candidates:
    """Balls at points [n, k, 3, W] with radii [n, 1, 1]."""
    up = torch.eye(3, dtype=a.dtype, device=a.device)[2].unsqueeze(-1)
    normal, length = direction(a - b, up)
    distance = length - radius_a - radius_b
    position = b + along(normal, radius_b + 0.5 * distance)
    return Candidates(position, normal, distance, share)
