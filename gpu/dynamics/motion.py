"""Where links are and how they move in the world, over any type of scalar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.gpu.dynamics.algebra import (
    UNTURNED,
    ZERO,
    Inertia,
    Matrix,
    Quaternion,
    Spatial,
    Vector,
    add,
    axis_quaternion,
    constant_rotation,
    cross,
    dot,
    product,
    quaternion_product,
    scale,
    turn,
    turn_back,
)
from isoscope.gpu.dynamics.featherstone import (
    joint_displacement,
    joint_rotation,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.gpu.dynamics.expression import Scalar
    from isoscope.gpu.model.tree import Tree, TreeLink


@dataclass(frozen=True, slots=True)
class Pose:
    """A link in the world.

    Attributes
    ----------
    matrix, quaternion
        From the link's axes to the world's.
    """

    position: Vector
    matrix: Matrix
    quaternion: Quaternion

    def point(self, velocity: Velocity, offset: Vector) -> tuple[Vector, Vector]:
        """Return where a point of the link is, and its velocity, in the world."""
        arm = turn(self.matrix, offset)
        return (
            add(self.position, arm),
            add(velocity.linear, cross(velocity.angular, arm)),
        )


@dataclass(frozen=True, slots=True)
class Velocity:
    """Of a link's origin and of the link, in the world's axes [m/s, rad/s]."""

    linear: Vector
    angular: Vector


def _joint_quaternion(link: TreeLink, q: Sequence[Scalar]) -> Quaternion:
    at = link.position_start
    if link.joint == "revolute":
        return axis_quaternion(link.axis, q[at])
    if link.joint == "free":
        at += 3
    if link.joint in ("spherical", "free"):
        return (q[at], q[at + 1], q[at + 2], q[at + 3])
    return UNTURNED


def poses(tree: Tree, q: Sequence[Scalar]) -> list[Pose]:
    """Return every link's pose in the world."""
    result: list[Pose] = []
    for link in tree.links:
        matrix = product(constant_rotation(link.rotation), joint_rotation(link, q))
        turned = quaternion_product(link.rotation, _joint_quaternion(link, q))
        offset = joint_displacement(link, q)
        if link.parent < 0:
            result.append(Pose(offset, matrix, turned))
            continue
        parent = result[link.parent]
        result.append(
            Pose(
                add(parent.position, turn(parent.matrix, offset)),
                product(parent.matrix, matrix),
                quaternion_product(parent.quaternion, turned),
            )
        )
    return result


def velocities(
    tree: Tree, places: Sequence[Pose], q: Sequence[Scalar], v: Sequence[Scalar]
) -> list[Velocity]:
    """Return every link's velocity in the world."""
    result: list[Velocity] = []
    for link in tree.links:
        at = link.velocity_start
        linear, angular = ZERO, ZERO
        if link.parent >= 0:
            before = result[link.parent]
            arm = turn(places[link.parent].matrix, joint_displacement(link, q))
            angular = before.angular
            linear = add(before.linear, cross(angular, arm))
        matrix = places[link.index].matrix
        if link.joint == "revolute":
            angular = add(angular, scale(v[at], turn(matrix, link.axis)))
        elif link.joint == "prismatic":
            linear = add(linear, scale(v[at], turn(matrix, link.axis)))
        elif link.joint == "spherical":
            angular = add(angular, turn(matrix, (v[at], v[at + 1], v[at + 2])))
        elif link.joint == "free":
            linear = (v[at], v[at + 1], v[at + 2])
            angular = turn(matrix, (v[at + 3], v[at + 4], v[at + 5]))
        result.append(Velocity(linear, angular))
    return result


def body_velocity(place: Pose, velocity: Velocity) -> Spatial:
    """Return a link's spatial velocity in its own axes."""
    return Spatial(
        turn_back(place.matrix, velocity.angular),
        turn_back(place.matrix, velocity.linear),
    )


def kinetic_energy(
    inertias: Sequence[Inertia],
    speeds: Sequence[Spatial],
    armature: Sequence[Scalar],
    v: Sequence[Scalar],
) -> Scalar:
    """Return ½ v M v: the links' energy and the armature's."""
    total: Scalar = 0.0
    for inertia, speed in zip(inertias, speeds, strict=True):
        total = total + speed.dot(inertia.times(speed))
    for rate, extra in zip(v, armature, strict=True):
        total = total + extra * rate * rate
    return 0.5 * total


def potential_energy(
    places: Sequence[Pose], inertias: Sequence[Inertia], gravity: Vector
) -> Scalar:
    """Return -Σ m g · c, zero at the world's origin."""
    total: Scalar = 0.0
    for place, inertia in zip(places, inertias, strict=True):
        moment = add(
            scale(inertia.mass, place.position), turn(place.matrix, inertia.first)
        )
        total = total - dot(gravity, moment)
    return total


def momentum(place: Pose, inertia: Inertia, speed: Spatial) -> tuple[Vector, Vector]:
    """Return a link's linear momentum, and the angular one about the world's origin."""
    own = inertia.times(speed)
    linear = turn(place.matrix, own.linear)
    angular = add(turn(place.matrix, own.angular), cross(place.position, linear))
    return linear, angular
