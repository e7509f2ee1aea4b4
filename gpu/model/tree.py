"""A model's topology, compiled: numbers instead of names, all actors in one forest.

Notation as in Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 4: links are
numbered so that a parent's number is lower than its children's; λ(i) is link i's
parent, -1 for the world.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.gpu.model.spec import VELOCITIES

if TYPE_CHECKING:
    from isoscope.gpu.model.spec import (
        Drive,
        JointType,
        Model,
        Quaternion,
        Shape,
        Vector,
    )


@dataclass(frozen=True, slots=True)
class TreeLink:
    """One link of the forest.

    Attributes
    ----------
    actor
        The actor's number.
    parent
        λ(i): the parent link's number, -1 for the world.
    position, rotation
        Placement in the parent at joint position zero. Of a free joint, whose position
        is the pose in the world, always the origin and no turn.
    position_start, velocity_start
        First index of its joint in q and in v.
    mass, center, inertia
        As in the model; what is computed with is in `Parameters`.
    """

    index: int
    name: str
    actor: int
    parent: int
    joint: JointType
    joint_name: str
    axis: Vector
    position: Vector
    rotation: Quaternion
    position_start: int
    velocity_start: int
    mass: float
    center: Vector
    inertia: tuple[float, float, float, float, float, float]

    @property
    def velocities(self) -> int:
        """How many degrees of freedom its joint has."""
        return VELOCITIES[self.joint]


@dataclass(frozen=True, slots=True)
class TreeActor:
    """One actor: its ranges of links, positions and velocities, ends excluded."""

    index: int
    name: str
    links: tuple[int, int]
    positions: tuple[int, int]
    velocities: tuple[int, int]

    @property
    def free_body(self) -> bool:
        """Whether it is one rigid body with a free joint."""
        return (
            self.links[1] - self.links[0] == 1
            and self.positions[1] - self.positions[0] == 7
        )


@dataclass(frozen=True, slots=True)
class TreeShape:
    """One collision shape and its link's number, -1 for the world."""

    index: int
    link: int
    shape: Shape


@dataclass(frozen=True, slots=True)
class TreeDrive:
    """One drive and the index in q and v of the degree of freedom it acts on."""

    index: int
    drive: Drive
    position_index: int
    velocity_index: int


@dataclass(frozen=True, slots=True)
class Tree:
    """A compiled model.

    Attributes
    ----------
    nq, nv
        Length of q and of v. Of a spherical joint q has a quaternion x y z w and v the
        angular velocity in the link's axes; of a free joint q has the position of the
        link's origin and a quaternion, v the linear velocity of the origin in the
        world's axes and then the angular velocity in the link's axes.
    start
        q at the start, (nq,).
    """

    model: Model
    links: tuple[TreeLink, ...]
    actors: tuple[TreeActor, ...]
    shapes: tuple[TreeShape, ...]
    drives: tuple[TreeDrive, ...]
    nq: int
    nv: int
    start: tuple[float, ...]

    def link_label(self, index: int) -> str:
        """A link's name for people: ``"CartPole/Pole"``, or a free body's own."""
        if index < 0:
            return "world"
        link = self.links[index]
        actor = self.actors[link.actor]
        return actor.name if actor.free_body else f"{actor.name}/{link.name}"
