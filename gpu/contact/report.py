"""What touches where: tensors of all worlds, and NumPy arrays of one to look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from isoscope.gpu.model.tree import Tree

    Array = np.ndarray[Any, Any]

WORLD_NAME = "world"


@dataclass(frozen=True, slots=True, eq=False)
class ContactReport:
    """All candidate points of W worlds, touching or not.

    Attributes
    ----------
    position
        Halfway between the surfaces, in the world's axes [P, 3, W], m.
    normal
        Unit vector from B to A [P, 3, W].
    force
        On A; B feels the opposite [P, 3, W], N.
    distance
        Gap along the normal, below 0 inside [P, W], m.
    velocity
        Of A's point against B's [P, 3, W], m/s.
    share
        The part of its pair's stiffness that a point carries [P, W].
    active
        Whether it touches: inside, and with a share [P, W].
    link_a, link_b, shape_a, shape_b
        Links (-1: the world) and shapes, as in the tree; int64 [P], always on the host.
    wrench
        Sum of forces and torques about each link's origin, in the world's axes: fx fy
        fz tx ty tz [L, 6, W], N and N·m.
    """

    position: Tensor
    normal: Tensor
    force: Tensor
    distance: Tensor
    velocity: Tensor
    share: Tensor
    active: Tensor
    link_a: Tensor
    link_b: Tensor
    shape_a: Tensor
    shape_b: Tensor
    wrench: Tensor

    @property
    def points(self) -> int:
        """P."""
        return int(self.link_a.shape[0])


@dataclass(frozen=True, slots=True)
class WorldContacts:
    """The n points at which shapes of one world touch.

    Attributes
    ----------
    fields
        By the names that recordings use: ``contacts_posA``, ``contacts_posB``,
        ``contacts_normal``, ``contacts_force`` (on A) (n, 3), ``contacts_distance``
        (n,), ``contacts_actorA``, ``contacts_actorB`` (n,) int64: the actor's number,
        -1 for the world.
    actor_names
        Of A and of B for each point.
    shape_names
        The same for the shapes.
    """

    fields: dict[str, Array]
    actor_names: tuple[tuple[str, str], ...]
    shape_names: tuple[tuple[str, str], ...]


def contacts_of_world(
    report: ContactReport,
    tree: Tree,
    world: int,
    to_host: Callable[[Tensor, str], Array] | None = None,
) -> WorldContacts:
    """Read the touching points of one world back.

    Parameters
    ----------
    world
        From 0 to W - 1.
    to_host
        How a tensor is copied to the host, told the cause: a scene passes its own,
        which the ledger of copies knows.

    Raises
    ------
    IndexError
        If there is no such world.
    """
    worlds = report.distance.shape[-1]
    if not 0 <= world < worlds:
        raise IndexError(f"there is no world {world}; they are 0 to {worlds - 1}")

    def column(tensor: Tensor) -> Array:
        one = tensor[..., world].detach()
        if to_host is not None:
            return to_host(one, "contacts")
        host: Array = one.cpu().numpy()
        return host.copy()

    touching = np.flatnonzero(column(report.active))
    normal = column(report.normal)[touching]
    position = column(report.position)[touching]
    distance = column(report.distance)[touching]
    half = 0.5 * distance[:, None] * normal
    actor_a = _actors(tree, report.link_a.numpy()[touching])
    actor_b = _actors(tree, report.link_b.numpy()[touching])
    shape_a, shape_b = report.shape_a.numpy(), report.shape_b.numpy()
    return WorldContacts(
        fields={
            "contacts_posA": position + half,
            "contacts_posB": position - half,
            "contacts_normal": normal,
            "contacts_force": column(report.force)[touching],
            "contacts_distance": distance,
            "contacts_actorA": actor_a,
            "contacts_actorB": actor_b,
        },
        actor_names=tuple(
            (_name(tree, int(a)), _name(tree, int(b)))
            for a, b in zip(actor_a, actor_b, strict=True)
        ),
        shape_names=tuple(
            (tree.shapes[a].shape.name, tree.shapes[b].shape.name)
            for a, b in zip(shape_a[touching], shape_b[touching], strict=True)
        ),
    )


def _actors(tree: Tree, links: Array) -> Array:
    owners = np.array([link.actor for link in tree.links] + [-1], dtype=np.int64)
    return owners[links]


def _name(tree: Tree, actor: int) -> str:
    return WORLD_NAME if actor < 0 else tree.actors[actor].name
