"""Where each parameter's first value comes from: the tree's numbers, in rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isoscope.gpu.model.build import dof_values
from isoscope.gpu.model.inertia import impossible_inertia
from isoscope.gpu.model.rest import rest_mass_matrix

if TYPE_CHECKING:
    import numpy.typing as npt

    from isoscope.gpu.model.spec import Joint
    from isoscope.gpu.model.tree import Tree

# What a joint carries swings against a limit at this rate, critically damped: it goes
# beyond by v/(e·50), so by 7 mm at 1 m/s, and a step of 1/50 s still resolves it.
LIMIT_RATE = 50.0


def mass(tree: Tree) -> list[float]:
    """Of each link."""
    return [link.mass for link in tree.links]


def center(tree: Tree) -> list[float]:
    """Of each link, x y z."""
    return [value for link in tree.links for value in link.center]


def inertia(tree: Tree) -> list[float]:
    """Of each link, xx yy zz xy xz yz."""
    return [value for link in tree.links for value in link.inertia]


def damping(tree: Tree) -> list[float]:
    """Of each degree of freedom."""
    return dof_values(tree, "damping")


def armature(tree: Tree) -> list[float]:
    """Of each degree of freedom."""
    return dof_values(tree, "armature")


def spring_stiffness(tree: Tree) -> list[float]:
    """Of each degree of freedom."""
    return dof_values(tree, "stiffness")


def spring_rest(tree: Tree) -> list[float]:
    """Of each degree of freedom."""
    return dof_values(tree, "rest")


def limit_lower(tree: Tree) -> list[float]:
    """Of each degree of freedom; -inf where there is none."""
    return [-math.inf if j.limits is None else j.limits[0] for j in _dof_joints(tree)]


def limit_upper(tree: Tree) -> list[float]:
    """Of each degree of freedom; inf where there is none."""
    return [math.inf if j.limits is None else j.limits[1] for j in _dof_joints(tree)]


def limit_stiffness(tree: Tree) -> list[float]:
    """Of each degree of freedom: the model's, or m·ω² with what it carries."""
    return [
        joint.limit_stiffness
        if joint.limit_stiffness is not None
        else carried * LIMIT_RATE**2
        for joint, carried in zip(_dof_joints(tree), _carried(tree), strict=True)
    ]


def limit_damping(tree: Tree) -> list[float]:
    """Of each degree of freedom: the model's, or critical: 2·sqrt(k·m)."""
    rows = zip(_dof_joints(tree), _carried(tree), limit_stiffness(tree), strict=True)
    return [
        joint.limit_damping
        if joint.limit_damping is not None
        else 2 * math.sqrt(stiffness * carried)
        for joint, carried, stiffness in rows
    ]


def drive_gear(tree: Tree) -> list[float]:
    """Of each drive."""
    return [d.drive.gear for d in tree.drives]


def drive_stiffness(tree: Tree) -> list[float]:
    """Of each drive."""
    return [d.drive.stiffness for d in tree.drives]


def drive_damping(tree: Tree) -> list[float]:
    """Of each drive."""
    return [d.drive.damping for d in tree.drives]


def drive_force_lower(tree: Tree) -> list[float]:
    """Of each drive; -inf where there is none."""
    return [
        -math.inf if d.drive.force_limits is None else d.drive.force_limits[0]
        for d in tree.drives
    ]


def drive_force_upper(tree: Tree) -> list[float]:
    """Of each drive; inf where there is none."""
    return [
        math.inf if d.drive.force_limits is None else d.drive.force_limits[1]
        for d in tree.drives
    ]


def drive_control_lower(tree: Tree) -> list[float]:
    """Of each drive; -inf where there is none."""
    return [
        -math.inf if d.drive.control_limits is None else d.drive.control_limits[0]
        for d in tree.drives
    ]


def drive_control_upper(tree: Tree) -> list[float]:
    """Of each drive; inf where there is none."""
    return [
        math.inf if d.drive.control_limits is None else d.drive.control_limits[1]
        for d in tree.drives
    ]


def gravity(tree: Tree) -> list[float]:
    """Of the model, x y z."""
    return list(tree.model.gravity)


def friction(tree: Tree) -> list[float]:
    """Of each shape."""
    return [s.shape.friction for s in tree.shapes]


def contact_stiffness(tree: Tree) -> list[float]:
    """Of the model."""
    return [tree.model.contact.stiffness]


def contact_damping(tree: Tree) -> list[float]:
    """Of the model."""
    return [tree.model.contact.damping]


def slip_speed(tree: Tree) -> list[float]:
    """Of the model."""
    return [tree.model.contact.slip_speed_m_s]


def owners(tree: Tree, per: str) -> tuple[str, ...]:
    """Names of the links, degrees of freedom, drives or shapes; () for the model."""
    if per == "link":
        return tuple(tree.link_label(link.index) for link in tree.links)
    if per == "dof":
        return tuple(
            _dof_name(tree.link_label(link.index), link.velocities, row)
            for link in tree.links
            for row in range(link.velocities)
        )
    if per == "drive":
        return tuple(
            f"{actor.name}/{drive.name}"
            for actor in tree.model.actors
            for drive in actor.drives
        )
    if per == "shape":
        return tuple(f"{tree.link_label(s.link)}/{s.shape.name}" for s in tree.shapes)
    return ("",)


def _dof_name(link: str, count: int, row: int) -> str:
    if count == 1:
        return link
    names = ("rx", "ry", "rz") if count == 3 else ("x", "y", "z", "rx", "ry", "rz")
    return f"{link}.{names[row]}"


def first_impossible_inertia(values: npt.NDArray[np.float64]) -> str:
    """What is wrong with the first impossible inertia of [6L, k]; "" if none is."""
    for link, six in enumerate(np.split(values, values.shape[0] // 6)):
        for column in six.T:
            problem = impossible_inertia(column.tolist())
            if problem:
                return f"of link {link} {problem}"
    return ""


def _dof_joints(tree: Tree) -> list[Joint]:
    joints = [link.joint for actor in tree.model.actors for link in actor.links]
    return [
        joint
        for joint, link in zip(joints, tree.links, strict=True)
        for _ in range(link.velocities)
    ]


def _carried(tree: Tree) -> list[float]:
    """What each degree of freedom moves at the start [kg or kg·m²]."""
    if tree.nv == 0:
        return []
    diagonal = np.diag(rest_mass_matrix(tree)) + np.array(armature(tree))
    return [float(value) for value in diagonal]
