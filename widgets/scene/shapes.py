"""What is drawn of each actor and never changes: its kind, its mesh, its creation.

Made once per actor of a recording; `extend` adds those that turn up while it grows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isoscope.widgets.scene.meshes import (
    Mesh,
    MeshProblem,
    deformable_mesh,
    rigid_mesh,
)
from isoscope.widgets.scene.poses import transforms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.recording.model import Actor
    from isoscope.core.recording.tracks import Array

DEFORMABLE_TYPES = ("Soft", "Shell", "Rod")
_ROOT_IS_FARTHER = 1.5
# A plane is written without a mesh and without its normal: only its name tells it
# from a body whose mesh was not recorded.
_PLANE_NAMES = ("ground", "plane", "floor")


class Kind(Enum):
    """How an actor is drawn."""

    BODY = "body"  # a mesh, moved as a whole
    DEFORMABLE = "deformable"  # a mesh whose every node moves
    ROOT = "root"  # an articulation: lines between its links
    PLANE = "plane"  # a ground, as a grid
    BARE = "bare"  # no mesh in the file: a small cross where it is


@dataclass(frozen=True, eq=False)
class Shape:
    """What is drawn of one actor.

    Attributes
    ----------
    index
        The actor's place in the recording.
    name
        As written.
    kind
        How it is drawn.
    mesh
        Its surface in its own frame, or None.
    problem
        Why its mesh can't be drawn, or empty.
    creation
        Transform [3, 4] that its creation holds, or None. It is the one after the first
        recorded step.
    eval_point
        [3] for a deformable body: the point that the fitted motion is told for.
    moving
        Whether the engine may move it; an actor that doesn't say counts as moving.
    root
        Index of the articulation that it is a link of, or -1.
    """

    index: int
    name: str
    kind: Kind
    mesh: Mesh | None
    problem: str
    creation: Array | None
    eval_point: Array | None
    moving: bool
    root: int

    @cached_property
    def sphere(self) -> tuple[Array, float]:
        """Centre [3] and radius [m] of a ball around the mesh, in its own frame."""
        if self.mesh is None:
            return np.zeros(3), 0.0
        low, high = self.mesh.positions.min(axis=0), self.mesh.positions.max(axis=0)
        centre = (low + high) / 2
        away = self.mesh.positions - centre
        return centre, float(np.sqrt(np.einsum("ij,ij->i", away, away).max()))


@dataclass(frozen=True, slots=True, eq=False)
class Shapes:
    """All shapes of a recording, by actor index, and what is found in them.

    Attributes
    ----------
    all
        By actor index.
    links
        By index of an articulation: the indices of its links.
    bones
        Pairs of actors (nearer the root first) that a line is drawn between. The file
        doesn't say which joint joins what, so each link is joined to the nearest one.
    """

    all: tuple[Shape, ...]
    links: Mapping[int, tuple[int, ...]]
    bones: Mapping[int, tuple[tuple[int, int], ...]]

    def __len__(self) -> int:
        """Actors covered."""
        return len(self.all)

    def __getitem__(self, actor: int) -> Shape:
        """The shape of this actor."""
        return self.all[actor]

    def of_kind(self, kind: Kind) -> list[Shape]:
        """Those drawn this way."""
        return [shape for shape in self.all if shape.kind is kind]


NO_SHAPES = Shapes((), {}, {})


def shapes_of(actors: Sequence[Actor]) -> Shapes:
    """The shapes of these actors."""
    return extend(NO_SHAPES, actors)


def extend(shapes: Shapes, actors: Sequence[Actor]) -> Shapes:
    """The shapes of these actors, of which the first ones are known already."""
    if len(actors) == len(shapes):
        return shapes
    roots = {s.name: s.index for s in shapes.all if s.kind is Kind.ROOT}
    links = dict(shapes.links)
    changed = set()
    made = list(shapes.all)
    for actor in actors[len(shapes) :]:
        # Of two articulations with one name, the last before the link.
        root = roots.get(actor.parent_name or "", -1)
        shape = _shape_of(actor, root)
        if shape.kind is Kind.ROOT:
            roots[shape.name] = shape.index
            early = _links_before(shape, made, actors)
            if early:
                links[shape.index] = early
                changed.add(shape.index)
        elif root >= 0:
            links[root] = (*links.get(root, ()), shape.index)
            changed.add(root)
        made.append(shape)
    bones = dict(shapes.bones)
    for root in changed:
        bones[root] = _bones([made[root], *(made[link] for link in links[root])])
    return Shapes(tuple(made), links, bones)


def _links_before(
    root: Shape, made: list[Shape], actors: Sequence[Actor]
) -> tuple[int, ...]:
    """Links that were told before their articulation; hangs them on it."""
    found = [
        shape.index
        for shape in made
        if shape.root < 0 and actors[shape.index].parent_name == root.name
    ]
    for index in found:
        made[index] = replace(made[index], root=root.index)
    return tuple(found)


def _bones(parts: list[Shape]) -> tuple[tuple[int, int], ...]:
    """The shortest tree over the parts' creation places, from the first one, the root.

    A link joins the root only if no other link is about as near: a floating base sits
    in the midst of its first link.
    """
    at = np.array([_place(part) for part in parts])
    inside = [0]
    outside = list(range(1, len(parts)))
    pairs = []
    while outside:
        away = np.linalg.norm(at[inside][:, None] - at[outside][None], axis=2)
        away[0] *= _ROOT_IS_FARTHER
        near, far = np.unravel_index(int(away.argmin()), away.shape)
        pairs.append((parts[inside[near]].index, parts[outside[far]].index))
        inside.append(outside.pop(int(far)))
    return tuple(pairs)


def _place(shape: Shape) -> Array:
    return np.zeros(3) if shape.creation is None else shape.creation[:, 3]


def _shape_of(actor: Actor, root: int) -> Shape:
    reference = actor.reference
    deformable = actor.type in DEFORMABLE_TYPES
    found = deformable_mesh(reference) if deformable else rigid_mesh(reference)
    mesh = found if isinstance(found, Mesh) else None
    if actor.type == "Articulated":
        kind = Kind.ROOT
    elif mesh is not None:
        kind = Kind.DEFORMABLE if deformable else Kind.BODY
    elif actor.static and _sounds_like_a_plane(actor.name):
        kind = Kind.PLANE
    else:
        kind = Kind.BARE
    return Shape(
        index=actor.index,
        name=actor.name,
        kind=kind,
        mesh=mesh,
        problem=found.text if isinstance(found, MeshProblem) else "",
        creation=_creation(reference),
        eval_point=_vector(reference.get("rigidTransformEvalPoint"), 3),
        moving=not actor.static,
        root=root,
    )


def _sounds_like_a_plane(name: str) -> bool:
    return any(word in name.lower() for word in _PLANE_NAMES)


def _creation(reference: Mapping[str, Array]) -> Array | None:
    at = _vector(reference.get("translation"), 3)
    turned = _vector(reference.get("rotation"), 4)
    if at is None or turned is None:
        return None
    made: Array = transforms(at, turned)
    return made if np.isfinite(made).all() else None


def _vector(value: Array | None, length: int) -> Array | None:
    if value is None or value.shape != (length,) or value.dtype.kind not in "fiu":
        return None
    return value.astype(np.float64)
