"""The actors of a model and the rows of its recordings, as scenes show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from isoscope.core.scene import SceneActor, SceneRow, Surface
from isoscope.gpu.model.mesh import link_mesh, shape_mesh
from isoscope.gpu.model.spec import NO_TURN, ORIGIN

if TYPE_CHECKING:
    from isoscope.gpu.model.tree import Tree, TreeActor, TreeLink

_PARTS: dict[str, tuple[str, ...]] = {
    "prismatic": ("",),
    "revolute": ("",),
    "spherical": (".rx", ".ry", ".rz"),
    "free": (".x", ".y", ".z", ".rx", ".ry", ".rz"),
    "fixed": (),
}
STATIC_FIELDS: tuple[str, ...] = ("translation", "rotation")
BODY_FIELDS: tuple[str, ...] = (
    *STATIC_FIELDS,
    "translationCom",
    "rotationCom",
    "vcom",
    "omega",
)
ARTICULATION_FIELDS: tuple[str, ...] = (*STATIC_FIELDS, "pose", "vcom", "omega")
CONTACT_FIELDS = (
    "contacts_active",
    "contacts_posA",
    "contacts_posB",
    "contacts_normal",
    "contacts_force",
    "contacts_distance",
    "contacts_actorA",
    "contacts_actorB",
)


def scene_actors(tree: Tree) -> tuple[SceneActor, ...]:
    """What there is to know about each actor without reading its state."""
    return tuple(_actor(tree, actor) for actor in tree.actors)


def scene_rows(
    tree: Tree, touching: frozenset[int] = frozenset()
) -> tuple[SceneRow, ...]:
    """What recordings have a line of: actors, articulations' links, the world's shapes.

    Parameters
    ----------
    touching
        Numbers of the links that have candidates for contact.
    """
    rows: list[SceneRow] = []

    def add(
        name: str,
        articulated: bool,
        static: bool,
        fields: tuple[str, ...],
        actor: int | None = None,
        link: int | None = None,
        shape: int | None = None,
    ) -> None:
        if link in touching:
            fields = (*fields, *CONTACT_FIELDS)
        rows.append(
            SceneRow(
                index=len(rows),
                name=name,
                type="Articulated" if articulated else "Rigid",
                static=static,
                actor=actor,
                link=link,
                shape=shape,
                fields=fields,
            )
        )

    for actor in tree.actors:
        static = _static(actor)
        if _articulated(tree, actor):
            fields = ARTICULATION_FIELDS
            if position_drives(tree, actor):
                fields = (*fields, "targetPose")
            add(actor.name, True, static, fields, actor.index)
        else:
            fields = STATIC_FIELDS if static else BODY_FIELDS
            add(actor.name, False, static, fields, actor.index, actor.links[0])
    for actor in tree.actors:
        if _articulated(tree, actor):
            for link in tree.links[slice(*actor.links)]:
                label = f"{actor.name}/{link.name}"
                still = _static(actor)
                fields = STATIC_FIELDS if still else BODY_FIELDS
                add(label, False, still, fields, actor.index, link.index)
    for shape in tree.shapes:
        if shape.link < 0:
            add(shape.shape.name, False, True, STATIC_FIELDS, shape=shape.index)
    return tuple(rows)


def row_surface(tree: Tree, row: SceneRow) -> Surface | None:
    """What a row looks like in its own frame."""
    if row.shape is not None:
        shape = tree.shapes[row.shape].shape
        placed = structs.replace(shape, position=ORIGIN, rotation=NO_TURN)
        mesh = shape_mesh(placed)
    elif row.link is not None:
        found = link_mesh(tree, row.link)
        if found is None:
            return None
        mesh = found
    else:
        return None
    return Surface(mesh.vertices, mesh.faces)


def position_drives(tree: Tree, actor: TreeActor) -> tuple[int, ...]:
    """Numbers of the drives of an actor that have a position as their target."""
    first, end = actor.velocities
    return tuple(
        drive.index
        for drive in tree.drives
        if drive.drive.type == "position" and first <= drive.velocity_index < end
    )


def drive_range(tree: Tree, actor: TreeActor) -> slice:
    """Which drives are an actor's; they follow one another."""
    first, end = actor.velocities
    mine = [d.index for d in tree.drives if first <= d.velocity_index < end]
    return slice(mine[0], mine[-1] + 1) if mine else slice(0, 0)


def _actor(tree: Tree, actor: TreeActor) -> SceneActor:
    links = tree.links[slice(*actor.links)]
    articulated = _articulated(tree, actor)
    dofs = [f"{_joint(link)}{part}" for link in links for part in _PARTS[link.joint]]
    units = [unit for link in links for unit in _units(link)]
    drives = tree.drives[drive_range(tree, actor)]
    return SceneActor(
        index=actor.index,
        name=actor.name,
        type="Articulated" if articulated else "Rigid",
        static=_static(actor),
        links=tuple(f"{actor.name}/{link.name}" for link in links)
        if articulated
        else (actor.name,),
        dofs=tuple(dofs),
        dof_units=tuple(units),
        drives=tuple(drive.drive.name for drive in drives),
        position_size=actor.positions[1] - actor.positions[0],
        velocity_size=actor.velocities[1] - actor.velocities[0],
    )


def _articulated(tree: Tree, actor: TreeActor) -> bool:
    if actor.links[1] - actor.links[0] > 1:
        return True
    return tree.links[actor.links[0]].joint not in ("free", "fixed")


def _static(actor: TreeActor) -> bool:
    return actor.velocities[0] == actor.velocities[1]


def _joint(link: TreeLink) -> str:
    return link.joint_name or link.name


def _units(link: TreeLink) -> tuple[str, ...]:
    if link.joint == "free":
        return ("m", "m", "m", "rad", "rad", "rad")
    if link.joint == "prismatic":
        return ("m",)
    return ("rad",) * link.velocities
