"""The algorithms of articulated bodies, over any type of scalar.

Source and notation: R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008.
λ(i) is link i's parent; frame i is fixed to link i at its joint; X_i is the transform
from frame λ(i) to frame i, S_i the joint's motion subspace.

===================== ==========================================================
`joint_transforms`    X_i(q), section 4.4 (free joints: see below)
`inverse_dynamics`    recursive Newton-Euler, table 5.1
`mass_matrix`         composite rigid bodies, table 6.2
`factorize`, `solve`  in `branches`: M = Lᵀ D L, section 6.5, table 6.3
`forward_dynamics`    M a = τ - C, section 6.1
===================== ==========================================================

A free joint's linear velocity is given in the world's axes, so its S depends on q. Free
joints are roots, and in a frame that falls with them the laws have no gravity: it is
added to the root's acceleration at the end. A falling body's acceleration is then
gravity exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.gpu.dynamics.algebra import (
    AT_REST,
    UNIT,
    ZERO,
    Inertia,
    Matrix,
    Spatial,
    Transform,
    Vector,
    add,
    axis_rotation,
    constant_rotation,
    cross,
    exponential,
    normalized,
    product,
    quaternion_matrix,
    quaternion_product,
    scale,
    sub,
    transpose,
    turn,
    turn_back,
)
from isoscope.gpu.dynamics.branches import dof_parents, factorize, solve
from isoscope.gpu.dynamics.expression import Expression
from isoscope.gpu.model.spec import VELOCITIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.gpu.dynamics.branches import Branches
    from isoscope.gpu.dynamics.expression import Scalar
    from isoscope.gpu.model.tree import Tree, TreeLink


def is_zero(scalar: Scalar) -> bool:
    """Whether the scalar is zero by structure."""
    if isinstance(scalar, Expression):
        return scalar.is_constant(0.0)
    return scalar == 0.0


def joint_rotation(link: TreeLink, q: Sequence[Scalar]) -> Matrix:
    """Return what turns link i's axes into its placement's, at joint position q."""
    at = link.position_start
    if link.joint == "revolute":
        return axis_rotation(link.axis, q[at])
    if link.joint == "spherical":
        return quaternion_matrix((q[at], q[at + 1], q[at + 2], q[at + 3]))
    if link.joint == "free":
        return quaternion_matrix((q[at + 3], q[at + 4], q[at + 5], q[at + 6]))
    return UNIT


def joint_displacement(link: TreeLink, q: Sequence[Scalar]) -> Vector:
    """Return link i's origin in its parent's axes, at joint position q."""
    at = link.position_start
    if link.joint == "free":
        return (q[at], q[at + 1], q[at + 2])
    if link.joint == "prismatic":
        along = turn(constant_rotation(link.rotation), link.axis)
        return add(link.position, scale(q[at], along))
    return link.position


def joint_transforms(tree: Tree, q: Sequence[Scalar]) -> list[Transform]:
    """Return X_i, the transform from frame λ(i) to frame i, of every link."""
    return [
        Transform(
            transpose(
                product(constant_rotation(link.rotation), joint_rotation(link, q))
            ),
            joint_displacement(link, q),
        )
        for link in tree.links
    ]


def subspace(link: TreeLink, transform: Transform) -> list[Spatial]:
    """Return the columns of S_i."""
    if link.joint == "revolute":
        return [Spatial(link.axis, ZERO)]
    if link.joint == "prismatic":
        return [Spatial(ZERO, link.axis)]
    if link.joint == "spherical":
        return [Spatial(unit, ZERO) for unit in UNIT]
    if link.joint == "free":
        columns = transpose(transform.rotation)
        return [Spatial(ZERO, column) for column in columns] + [
            Spatial(unit, ZERO) for unit in UNIT
        ]
    return []


def joint_motion(
    link: TreeLink, columns: Sequence[Spatial], rates: Sequence[Scalar]
) -> Spatial:
    """Return S_i times the joint's part of `rates`."""
    total = AT_REST
    for column, rate in zip(columns, _own(link, rates), strict=True):
        total = total + column.scaled(rate)
    return total


def _own(link: TreeLink, rows: Sequence[Scalar]) -> list[Scalar]:
    start = link.velocity_start
    return list(rows[start : start + VELOCITIES[link.joint]])


def _falls(tree: Tree, link: TreeLink) -> bool:
    """Whether the link's actor has a free root."""
    root = tree.actors[link.actor].links[0]
    return tree.links[root].joint == "free"


def inverse_dynamics(
    tree: Tree,
    transforms: Sequence[Transform],
    inertias: Sequence[Inertia],
    gravity: Vector,
    v: Sequence[Scalar],
    a: Sequence[Scalar] | None = None,
    wrenches: Sequence[Spatial] | None = None,
) -> list[Scalar]:
    """Return the generalised force that gives acceleration a (table 5.1).

    Each link's equation is written in the frame that moves on with its origin's
    velocity, as Luh, Walker and Paul do (1980, J. Dyn. Sys. Meas. Control 102): linear
    velocities, which change nothing, then need not be known.

    Parameters
    ----------
    gravity
        In the world's axes [m/s²]. Actors with a free root fall with it: their a is
        relative to it here (`relative_to_gravity`).
    a
        None is zero, and cheaper.
    wrenches
        (couple, force) on each link about its origin, in the link's axes, or None.

    Returns
    -------
    list of scalars
        nv, without armature.
    """
    columns = [
        subspace(link, x) for link, x in zip(tree.links, transforms, strict=True)
    ]
    turning: list[Vector] = []
    acceleration: list[Spatial] = []
    force: list[Spatial] = []
    for i, link in enumerate(tree.links):
        x, inertia = transforms[i], inertias[i]
        own = joint_motion(link, columns[i], v)
        if link.parent >= 0:
            before = acceleration[link.parent]
            spin = turning[link.parent]
            carried = turn(x.rotation, spin)
            # the centripetal acceleration of this origin, as a point of the parent
            inward = cross(spin, cross(spin, x.displacement))
            before = Spatial(before.angular, add(before.linear, inward))
            speed = add(carried, own.angular)
            # the joint's axis turns with the parent: once in its angular velocity,
            # twice (Coriolis) in its linear one
            drift = Spatial(
                cross(carried, own.angular), scale(2.0, cross(carried, own.linear))
            )
            total = x.motion(before) + drift
        else:
            fall = ZERO if _falls(tree, link) else gravity
            speed = own.angular
            total = x.motion(Spatial(ZERO, sub(ZERO, fall)))
        if a is not None:
            total = total + joint_motion(link, columns[i], a)
        turning.append(speed)
        acceleration.append(total)
        spinning = Spatial(speed, ZERO)
        net = inertia.times(total) + spinning.cross_force(inertia.times(spinning))
        force.append(net if wrenches is None else net - wrenches[i])
    result: list[Scalar] = [0.0] * tree.nv
    for link in reversed(tree.links):
        for k, column in enumerate(columns[link.index]):
            result[link.velocity_start + k] = column.dot(force[link.index])
        if link.parent >= 0:
            back = transforms[link.index].force_back(force[link.index])
            force[link.parent] = force[link.parent] + back
    return result


def free_linear(tree: Tree) -> dict[int, int]:
    """Return which degrees of freedom are a free root's linear ones, and along what."""
    return {
        link.velocity_start + axis: axis
        for link in tree.links
        if link.joint == "free"
        for axis in range(3)
    }


def relative_to_gravity(
    tree: Tree, a: Sequence[Scalar], gravity: Vector
) -> list[Scalar]:
    """Return a with gravity taken off free roots' linear accelerations."""
    linear = free_linear(tree)
    return [
        value - gravity[linear[dof]] if dof in linear else value
        for dof, value in enumerate(a)
    ]


def mass_matrix(
    tree: Tree,
    transforms: Sequence[Transform],
    inertias: Sequence[Inertia],
    armature: Sequence[Scalar],
) -> Branches:
    """Return M's lower triangle by composite bodies (table 6.2), with armature."""
    composite = list(inertias)
    entries: Branches = {}
    for link in reversed(tree.links):
        i = link.index
        if link.parent >= 0:
            composite[link.parent] = composite[link.parent] + transforms[
                i
            ].inertia_back(composite[i])
        own = subspace(link, transforms[i])
        for k, column in enumerate(own):
            row = link.velocity_start + k
            force = composite[i].times(column)
            for j in range(k + 1):
                entries[row, link.velocity_start + j] = own[j].dot(force)
            below, parent = link, link.parent
            while parent >= 0:
                force = transforms[below.index].force_back(force)
                below = tree.links[parent]
                for j, other in enumerate(subspace(below, transforms[parent])):
                    entries[row, below.velocity_start + j] = other.dot(force)
                parent = below.parent
            if link.joint == "free" and k < 3:
                # E Eᵀ m is m: exactly, and for nothing
                for j in range(k):
                    entries[row, link.velocity_start + j] = 0.0
                entries[row, row] = composite[i].mass
            entries[row, row] = entries[row, row] + armature[row]
    return {at: entry for at, entry in entries.items() if not is_zero(entry)}


def forward_dynamics(
    tree: Tree,
    transforms: Sequence[Transform],
    inertias: Sequence[Inertia],
    armature: Sequence[Scalar],
    gravity: Vector,
    v: Sequence[Scalar],
    force: Sequence[Scalar],
    wrenches: Sequence[Spatial] | None = None,
) -> list[Scalar]:
    """Return the acceleration that generalised forces give (section 6.1)."""
    bias = inverse_dynamics(tree, transforms, inertias, gravity, v, None, wrenches)
    parents = dof_parents(tree)
    factors = factorize(parents, mass_matrix(tree, transforms, inertias, armature))
    right = [f - c for f, c in zip(force, bias, strict=True)]
    falling = free_linear(tree)
    for dof, axis in falling.items():
        # armature has no weight
        right[dof] = right[dof] - armature[dof] * gravity[axis]
    a = solve(parents, factors, right)
    for dof, axis in falling.items():
        a[dof] = a[dof] + gravity[axis]
    return a


def link_wrenches(
    rotations: Sequence[Matrix], wrenches: Sequence[Sequence[Scalar]]
) -> list[Spatial]:
    """Turn wrenches (fx fy fz tx ty tz, world axes) into links' axes.

    Parameters
    ----------
    rotations
        Of each link, from its axes to the world's.
    """
    return [
        Spatial(
            turn_back(rotation, (w[3], w[4], w[5])),
            turn_back(rotation, (w[0], w[1], w[2])),
        )
        for rotation, w in zip(rotations, wrenches, strict=True)
    ]


def generalized_force(
    tree: Tree, transforms: Sequence[Transform], wrenches: Sequence[Spatial]
) -> list[Scalar]:
    """Return what wrenches on links do at the joints: the sum of Jᵀ f, nv scalars.

    Parameters
    ----------
    wrenches
        (couple, force) on each link about its origin, in the link's axes.
    """
    force = list(wrenches)
    result: list[Scalar] = [0.0] * tree.nv
    for link in reversed(tree.links):
        i = link.index
        for k, column in enumerate(subspace(link, transforms[i])):
            result[link.velocity_start + k] = column.dot(force[i])
        if link.parent >= 0:
            back = transforms[i].force_back(force[i])
            force[link.parent] = force[link.parent] + back
    return result


def integrate(
    tree: Tree, q: Sequence[Scalar], v: Sequence[Scalar], h: Scalar
) -> list[Scalar]:
    """Return q (+) h v: quaternions by the exponential map, then made unit."""
    result = list(q)
    for link in tree.links:
        at, first = link.position_start, link.velocity_start
        if link.joint in ("prismatic", "revolute"):
            result[at] = q[at] + h * v[first]
        if link.joint == "free":
            for k in range(3):
                result[at + k] = q[at + k] + h * v[first + k]
            at, first = at + 3, first + 3
        if link.joint in ("spherical", "free"):
            turned = exponential(scale(0.5 * h, (v[first], v[first + 1], v[first + 2])))
            before = (q[at], q[at + 1], q[at + 2], q[at + 3])
            result[at : at + 4] = normalized(quaternion_product(before, turned))
    return result
