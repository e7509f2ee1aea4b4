"""A tree at a joint position, in float64: poses, and the mass matrix as a plain sum.

Slow and simple on purpose. It serves building (is the mass matrix regular at the start,
how stiff should a limit be) and checking the fast code; nothing steps with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.gpu.model.inertia import symmetric
from isoscope.gpu.model.rotations import about, matrix, normalised

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from isoscope.gpu.model.spec import Quaternion
    from isoscope.gpu.model.tree import Tree, TreeLink

    Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RestPose:
    """Where the links are.

    Attributes
    ----------
    position
        Of the links' origins in the world [m], (L, 3).
    rotation
        Matrices that turn a link's axes into the world's, (L, 3, 3).
    center
        Centres of mass in the world [m], (L, 3).
    """

    position: Array
    rotation: Array
    center: Array


def rest_pose(tree: Tree, q: Sequence[float] | None = None) -> RestPose:
    """Pose of all links at `q`; None: at the start."""
    values = tree.start if q is None else [float(value) for value in q]
    count = len(tree.links)
    position = np.zeros((count, 3))
    rotation = np.zeros((count, 3, 3))
    center = np.zeros((count, 3))
    for link in tree.links:
        base = position[link.parent] if link.parent >= 0 else np.zeros(3)
        turn = rotation[link.parent] if link.parent >= 0 else np.eye(3)
        placed = base + turn @ np.array(link.position)
        frame = turn @ matrix(link.rotation)
        moved, turned = _joint_motion(link, values)
        i = link.index
        position[i] = placed + frame @ moved
        rotation[i] = frame @ turned
        center[i] = position[i] + rotation[i] @ np.array(link.center)
    return RestPose(position, rotation, center)


def _joint_motion(link: TreeLink, q: Sequence[float]) -> tuple[Array, Array]:
    start = link.position_start
    axis = np.array(link.axis)
    if link.joint == "prismatic":
        return axis * q[start], np.eye(3)
    if link.joint == "revolute":
        return np.zeros(3), matrix(about(link.axis, q[start]))
    if link.joint == "spherical":
        return np.zeros(3), matrix(_unit(q[start : start + 4]))
    if link.joint == "free":
        moved = np.array(q[start : start + 3])
        return moved, matrix(_unit(q[start + 3 : start + 7]))
    return np.zeros(3), np.eye(3)


def _unit(values: Sequence[float]) -> Quaternion:
    x, y, z, w = normalised(values)
    return (x, y, z, w)


def motion_axes(tree: Tree, pose: RestPose) -> tuple[Array, Array]:
    """Each degree of freedom as a twist about the world's origin.

    Returns
    -------
    linear, angular
        Velocity of the point at the world's origin, and angular velocity, both in the
        world's axes, that a unit velocity gives what the joint carries, (nv, 3).
    """
    linear = np.zeros((tree.nv, 3))
    angular = np.zeros((tree.nv, 3))
    for link in tree.links:
        rows = slice(link.velocity_start, link.velocity_start + link.velocities)
        turn, origin = pose.rotation[link.index], pose.position[link.index]
        slides = np.zeros((link.velocities, 3))
        turns = np.zeros((link.velocities, 3))
        if link.joint == "prismatic":
            slides[0] = turn @ np.array(link.axis)
        elif link.joint == "revolute":
            turns[0] = turn @ np.array(link.axis)
        elif link.joint == "spherical":
            turns[:] = turn.T
        elif link.joint == "free":
            slides[:3] = np.eye(3)
            turns[3:] = turn.T
        linear[rows] = slides - np.cross(turns, origin)
        angular[rows] = turns
    return linear, angular


def rest_mass_matrix(tree: Tree, q: Sequence[float] | None = None) -> Array:
    """The mass matrix at `q`, (nv, nv), no armature: the sum of JᵀIJ over the links."""
    pose = rest_pose(tree, q)
    linear, angular = motion_axes(tree, pose)
    moves = _carried_by(tree)
    total = np.zeros((tree.nv, tree.nv))
    for link in tree.links:
        i = link.index
        if link.mass == 0.0:
            continue
        columns = moves[i][:, None]
        turning = angular * columns
        going = (linear + np.cross(angular, pose.center[i])) * columns
        turn = pose.rotation[i]
        world_inertia = turn @ symmetric(link.inertia) @ turn.T
        total += link.mass * going @ going.T + turning @ world_inertia @ turning.T
    return total


def _carried_by(tree: Tree) -> Array:
    """1 where a degree of freedom moves a link, (L, nv)."""
    moves = np.zeros((len(tree.links), tree.nv))
    for link in tree.links:
        if link.parent >= 0:
            moves[link.index] = moves[link.parent]
        start = link.velocity_start
        moves[link.index, start : start + link.velocities] = 1.0
    return moves
