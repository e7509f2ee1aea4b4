"""From a model to its tree: numbers instead of names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.gpu.errors import ModelError
from isoscope.gpu.model.rest import rest_mass_matrix
from isoscope.gpu.model.rotations import normalised
from isoscope.gpu.model.spec import NO_TURN, ORIGIN, POSITIONS, VELOCITIES
from isoscope.gpu.model.tree import Tree, TreeActor, TreeDrive, TreeLink, TreeShape
from isoscope.gpu.model.validate import validate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.gpu.model.spec import Actor, Link, Model, Quaternion, Vector

# A mass matrix, scaled to ones on its diagonal, with a smaller eigenvalue is singular.
SINGULAR = 1e-12


def build_tree(model: Model) -> Tree:
    """Check a model and number its links, degrees of freedom, shapes and drives.

    Links, drives and shapes keep the model's order, actor by actor; the world's shapes
    come last. Quaternions and axes are normalised.

    Raises
    ------
    ModelError
        If the model can't be simulated: it names the place, the problem, the remedy.
    """
    validate(model)
    links: list[TreeLink] = []
    actors: list[TreeActor] = []
    shapes: list[TreeShape] = []
    drives: list[TreeDrive] = []
    start: list[float] = []
    nv = 0
    for number, actor in enumerate(model.actors):
        first, first_q, first_v = len(links), len(start), nv
        by_name: dict[str, int] = {}
        for link in actor.links:
            parent = -1 if link.parent is None else by_name[link.parent]
            compiled = _tree_link(link, len(links), number, parent, len(start), nv)
            by_name[link.name] = compiled.index
            links.append(compiled)
            start.extend(_start(link))
            nv += VELOCITIES[link.joint.type]
            for shape in link.shapes:
                shapes.append(TreeShape(len(shapes), compiled.index, shape))
        actors.append(
            TreeActor(
                number,
                actor.name,
                (first, len(links)),
                (first_q, len(start)),
                (first_v, nv),
            )
        )
        drives.extend(_tree_drives(actor, links[first:], len(drives)))
    for shape in model.shapes:
        shapes.append(TreeShape(len(shapes), -1, shape))
    tree = Tree(
        model=model,
        links=tuple(links),
        actors=tuple(actors),
        shapes=tuple(shapes),
        drives=tuple(drives),
        nq=len(start),
        nv=nv,
        start=tuple(start),
    )
    _require_regular(tree)
    return tree


def _tree_link(
    link: Link, index: int, actor: int, parent: int, start_q: int, start_v: int
) -> TreeLink:
    free = link.joint.type == "free"
    return TreeLink(
        index=index,
        name=link.name,
        actor=actor,
        parent=parent,
        joint=link.joint.type,
        joint_name=link.joint.name,
        axis=_vector(normalised(link.joint.axis)),
        position=ORIGIN if free else link.position,
        rotation=NO_TURN if free else _turn(link.rotation),
        position_start=start_q,
        velocity_start=start_v,
        mass=link.mass,
        center=link.center,
        inertia=link.inertia,
    )


def _start(link: Link) -> tuple[float, ...]:
    joint = link.joint
    if joint.type == "free":
        return (*link.position, *_turn(link.rotation))
    if joint.start is not None:
        if joint.type == "spherical":
            return normalised(joint.start)
        return joint.start
    return NO_TURN if joint.type == "spherical" else (0.0,) * POSITIONS[joint.type]


def _tree_drives(
    actor: Actor, links: Sequence[TreeLink], first: int
) -> list[TreeDrive]:
    by_joint = {link.joint_name: link for link in links if link.joint_name}
    return [
        TreeDrive(
            first + i,
            drive,
            by_joint[drive.joint].position_start,
            by_joint[drive.joint].velocity_start,
        )
        for i, drive in enumerate(actor.drives)
    ]


def _require_regular(tree: Tree) -> None:
    """Refuse what has no acceleration at the start: joints that move no inertia."""
    if tree.nv == 0:
        return
    mass = rest_mass_matrix(tree) + np.diag(dof_values(tree, "armature"))
    diagonal = np.diag(mass)
    doing = f'building the model "{tree.model.name}"'
    for link in tree.links:
        for row in range(link.velocities):
            if diagonal[link.velocity_start + row] <= 0.0:
                raise ModelError(
                    doing,
                    f"its {link.joint} joint moves no mass",
                    where=f'link "{tree.link_label(link.index)}"',
                    remedy="give a mass and inertia to a link that it carries",
                )
    scale = 1 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh((mass * scale[:, None]) * scale)
    if values[0] > SINGULAR:
        return
    involved = np.flatnonzero(np.abs(vectors[:, 0]) > 1e-3)
    names = sorted({_dof_owner(tree, int(dof)) for dof in involved})
    raise ModelError(
        doing,
        "at its start these joints can move without moving any mass: "
        + ", ".join(names),
        remedy="give the links between them mass and inertia, or start elsewhere",
    )


def _dof_owner(tree: Tree, dof: int) -> str:
    for link in tree.links:
        if link.velocity_start <= dof < link.velocity_start + link.velocities:
            return f'"{tree.link_label(link.index)}"'
    raise AssertionError(dof)


def dof_values(tree: Tree, field: str) -> list[float]:
    """A number of the joints, such as ``"damping"``, for each degree of freedom."""
    return [
        float(getattr(link.joint, field))
        for actor in tree.model.actors
        for link in actor.links
        for _ in range(VELOCITIES[link.joint.type])
    ]


def _vector(values: Sequence[float]) -> Vector:
    x, y, z = values
    return (x, y, z)


def _turn(values: Quaternion) -> Quaternion:
    x, y, z, w = normalised(values)
    return (x, y, z, w)
