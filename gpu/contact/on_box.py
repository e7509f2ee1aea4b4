"""Spheres and capsules (A) on boxes (B)."""

from __future__ import annotations

import torch
from torch import Tensor

from isoscope.gpu.contact.candidates import (
    SHARING_DEPTH,
    Candidates,
    Posed,
    shared_along,
)
from isoscope.gpu.contact.vectors import (
    along,
    clamp,
    direction,
    dot,
    largest_of_three,
    safe_reciprocal,
    sign,
    to_frame,
    to_world,
)

# A capsule along a box's edge lies on all of it although it is never quite parallel.
ALONG_EDGE = 0.03


def sphere_box(sphere: Posed, box: Posed) -> Candidates:
    """One point, towards the nearest point of the box."""
    place = to_frame(box.matrix, sphere.center - box.center).unsqueeze(1)
    normal, distance = box_distance(place, box.size.unsqueeze(1))
    return _balls(
        box, place, normal, distance, sphere.size[:, None, 0], torch.ones_like(distance)
    )


def capsule_box(capsule: Posed, box: Posed) -> Candidates:
    """Three points: the nearest of the axis, and the ends of what lies on the box."""
    half = capsule.size[:, 1]
    center = to_frame(box.matrix, capsule.center - box.center)
    axis = to_frame(box.matrix, capsule.axis)
    nearest = _nearest_place(center, axis, half, box.size)
    depth = SHARING_DEPTH * torch.minimum(capsule.size[:, 0], box.size.amin(1))
    low, high = _lying_places(center, axis, half, box.size, nearest, ALONG_EDGE * depth)
    places = torch.stack((nearest, low, high), 1)
    points = center.unsqueeze(1) + along(axis.unsqueeze(1), places)
    normal, distance = box_distance(points, box.size.unsqueeze(1))
    share = shared_along(distance, depth)
    return _balls(box, points, normal, distance, capsule.size[:, None, 0], share)


def box_distance(point: Tensor, half: Tensor) -> tuple[Tensor, Tensor]:
    """Signed distance of points to a box, in the box's frame.

    Parameters
    ----------
    point
        [..., 3, W].
    half
        The half lengths, [..., 3, 1].

    Returns
    -------
    tuple
        The unit vector away from the box [..., 3, W], and the distance [..., W]; inside
        it is the nearest face's, below 0.
    """
    beyond = point.abs() - half
    nearest_face = largest_of_three(beyond)
    face = torch.where(nearest_face, sign(point), 0.0)
    normal, length = direction(point - clamp(point, -half, half), face)
    inside = torch.clamp(beyond.amax(-2), max=0.0)
    return normal, torch.where(length > 0, length, inside)


def _nearest_place(center: Tensor, axis: Tensor, half: Tensor, box: Tensor) -> Tensor:
    """Where on the segment center + s axis, |s| <= half, the box is nearest, [n, W].

    The squared distance to a box is convex and, between the places where the axis
    crosses a face's plane, quadratic in s. Its slope is therefore increasing and linear
    between those: the zero lies between the last negative and the first other one.
    Where the axis runs through the box, it is the middle of what is inside.
    """
    slope = safe_reciprocal(axis)
    one, two = (-box - center) * slope, (box - center) * slope
    half = half.unsqueeze(1)
    zero = torch.zeros_like(center[:, :1])
    breaks = clamp(torch.cat((one, two, zero - half, zero + half), 1), -half, half)
    points = center.unsqueeze(1) + along(axis.unsqueeze(1), breaks)
    bound = box.unsqueeze(1)
    rise = dot(points - clamp(points, -bound, bound), axis.unsqueeze(1))
    falling = rise < 0
    last = torch.where(falling, breaks, -half).amax(1)
    first = torch.where(falling, half, breaks).amin(1)
    last_rise = torch.where(falling, rise, -torch.inf).amax(1)
    first_rise = torch.where(falling, torch.inf, rise).amin(1)
    both = torch.isfinite(last_rise) & torch.isfinite(first_rise)
    last_rise = torch.where(both, last_rise, 0.0)
    step = torch.where(both, first_rise, 1.0) - last_rise
    outside = last - (first - last) * last_rise / torch.where(step > 0, step, 1.0)
    # Never falling: the first end; never rising: the last one.
    outside = torch.where(
        both, outside, torch.where(falling[:, -1], half[:, 0], -half[:, 0])
    )
    enter = torch.maximum(torch.minimum(one, two).amax(1), -half[:, 0])
    leave = torch.minimum(torch.maximum(one, two).amin(1), half[:, 0])
    return torch.where(enter < leave, 0.5 * (enter + leave), outside)


def _lying_places(
    center: Tensor,
    axis: Tensor,
    half: Tensor,
    box: Tensor,
    nearest: Tensor,
    room: Tensor,
) -> tuple[Tensor, Tensor]:
    """Both ends of the part of the segment that is over the face it may lie on."""
    point = center + along(axis, nearest)
    normal, _ = box_distance(point, box)
    main = largest_of_three(normal.abs())
    wide = torch.maximum(box, point.abs()) + room.unsqueeze(1)
    slope = safe_reciprocal(axis)
    one, two = (-wide - center) * slope, (wide - center) * slope
    enter = torch.where(main, -torch.inf, torch.minimum(one, two)).amax(1)
    leave = torch.where(main, torch.inf, torch.maximum(one, two)).amin(1)
    return clamp(enter, -half, nearest), clamp(leave, nearest, half)


def _balls(
    box: Posed,
    points: Tensor,
    normal: Tensor,
    distance: Tensor,
    radius: Tensor,
    share: Tensor,
) -> Candidates:
    """Balls at points of the box's frame, whose centres are `distance` away from it."""
    gap = distance - radius
    middle = points - along(normal, radius + 0.5 * gap)
    matrix = box.matrix.unsqueeze(1)
    position = box.center.unsqueeze(1) + to_world(matrix, middle)
    return Candidates(position, to_world(matrix, normal), gap, share)
