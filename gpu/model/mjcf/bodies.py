"""Bodies to links: one link a body, and a massless one for each further joint.

MuJoCo's joints of one body move it one after the other, each about its own anchor. So
each but the last becomes a link without mass, and the last one carries the body. A
link's frame is at its joint, so what is in the body's frame moves by the anchor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from isoscope.gpu.model.inertia import six_numbers
from isoscope.gpu.model.mjcf.geoms import read_geom
from isoscope.gpu.model.mjcf.joints import read_joint
from isoscope.gpu.model.mjcf.masses import body_mass
from isoscope.gpu.model.mjcf.placement import orientation, vector
from isoscope.gpu.model.mjcf.reading import MAIN, Attributes
from isoscope.gpu.model.rotations import product, turned
from isoscope.gpu.model.spec import ORIGIN, Actor, Joint, Link, Shape

if TYPE_CHECKING:
    from isoscope.gpu.model.mjcf.document import Node
    from isoscope.gpu.model.mjcf.geoms import Geom
    from isoscope.gpu.model.mjcf.reading import Reading
    from isoscope.gpu.model.spec import Vector

UNSUPPORTED = ("attach", "composite", "flexcomp", "frame", "plugin", "replicate")
SEEN_ONLY = ("camera", "light", "site")
READ = ("body", "freejoint", "geom", "inertial", "joint")


class Names:
    """Names for what has none, and none with a slash."""

    def __init__(self, root: Node) -> None:
        self._taken = set(_all_names(root))
        self._count = 0

    def of(self, node: Node, stem: str) -> str:
        """An element's name, or one made up."""
        given = node.attributes.get("name", "")
        if given:
            return clean(given)
        while True:
            self._count += 1
            made = f"{stem}{self._count}"
            if made not in self._taken:
                return made


def clean(name: str) -> str:
    """A name without slashes, which part names in recordings."""
    return name.replace("/", ":")


def _all_names(node: Node) -> list[str]:
    names = [node.attributes.get("name", "")]
    for child in node.children:
        names.extend(_all_names(child))
    return names


def read_world(
    reading: Reading, root: Node, model: str
) -> tuple[list[Actor], list[Shape]]:
    """All trees, each an actor, and the world's own shapes."""
    names = Names(root)
    trees: list[tuple[str, list[Link]]] = []
    shapes: list[Shape] = []
    for world in root.of("worldbody"):
        inherited = world.attributes.get("childclass", MAIN)
        for node in world.children:
            if node.tag == "body":
                links: list[Link] = []
                _read_body(reading, node, inherited, None, ORIGIN, links, names)
                trees.append((names.of(node, "body"), links))
            elif node.tag == "geom":
                geom = read_geom(reading, node, inherited, names.of(node, "geom"))
                if geom is not None and geom.shape is not None:
                    shapes.append(geom.shape)
            else:
                _other(reading, node)
    if len(trees) == 1 and len(trees[0][1]) > 1:
        trees = [(model, trees[0][1])]
    actors = [Actor(name=name, links=tuple(links)) for name, links in trees]
    return _scaled(reading, actors), shapes


def _other(reading: Reading, node: Node) -> None:
    if node.tag in SEEN_ONLY:
        reading.skip(node.tag, node)
    elif node.tag not in READ:
        reading.unsupported(node.tag, node)


def _read_body(
    reading: Reading,
    node: Node,
    childclass: str,
    parent: str | None,
    parent_anchor: Vector,
    links: list[Link],
    names: Names,
) -> None:
    a = Attributes(reading, node, childclass)
    inner = a.text("childclass", childclass)
    if inner not in reading.defaults:
        node.refuse(f'there is no default class "{inner}"', "declare it in <default>")
    position, turn = vector(a, "pos"), orientation(a)
    a.refuse_unless("mocap", "false")
    a.refuse_unless("gravcomp", "0")
    a.drop("user")
    a.skip("sleep")
    a.finish()
    name = names.of(node, "body")
    node.attributes["name"] = name
    geoms: list[Geom] = []
    for child in node.children:
        if child.tag == "geom":
            geom = read_geom(reading, child, inner, names.of(child, "geom"))
            if geom is not None:
                geoms.append(geom)
        else:
            _other(reading, child)
    joints = [
        read_joint(reading, child, inner, clean(child.attributes.get("name", "")))
        for child in node.of("joint", "freejoint")
    ]
    if any(j.joint.type == "free" for j in joints) and (
        len(joints) > 1 or parent is not None
    ):
        node.refuse(
            "a free joint must be the only one, on a body right below <worldbody>",
            "move the body or change its joints",
        )
    hangs_on = parent
    place, anchor = _minus(position, parent_anchor), ORIGIN
    for number, read in enumerate(joints):
        last = number == len(joints) - 1
        # from the frame before to this joint's anchor, in the axes of that frame
        step = _plus(_minus(read.anchor, anchor), read.shift)
        place = _plus(place, turned(turn, step)) if any(step) else place
        joint = read.joint
        link = name if last else f"{name}.{joint.name or number + 1}"
        links.append(
            Link(
                name=link,
                parent=hangs_on,
                position=place,
                rotation=product(turn, read.turn) if any(read.turn[:3]) else turn,
                joint=joint,
            )
        )
        hangs_on, anchor = link, read.anchor
        place, turn = ORIGIN, (0.0, 0.0, 0.0, 1.0)
    if not joints:
        links.append(
            Link(
                name=name,
                parent=parent,
                position=place,
                rotation=turn,
                joint=Joint(name="", type="fixed"),
            )
        )
    links[-1] = _carrying(reading, node, links[-1], geoms, anchor)
    for child in node.of("body"):
        _read_body(reading, child, inner, name, anchor, links, names)


def _carrying(
    reading: Reading, node: Node, link: Link, geoms: list[Geom], anchor: Vector
) -> Link:
    """The link with the body's mass and shapes."""
    found = body_mass(reading, node, geoms)
    x, y, z = (float(value) for value in found.center)
    center = _minus((x, y, z), anchor) if found.mass else ORIGIN
    shapes = tuple(
        msgspec.structs.replace(
            geom.shape, position=_minus(geom.shape.position, anchor)
        )
        for geom in geoms
        if geom.shape is not None
    )
    return msgspec.structs.replace(
        link,
        mass=found.mass,
        center=center,
        inertia=six_numbers(found.inertia),
        shapes=shapes,
    )


def _scaled(reading: Reading, actors: list[Actor]) -> list[Actor]:
    """All masses scaled to the total that the compiler's settotalmass wants."""
    wanted = reading.settings.total_mass
    total = sum(link.mass for actor in actors for link in actor.links)
    if wanted <= 0.0 or total <= 0.0:
        return actors
    factor = wanted / total
    return [
        msgspec.structs.replace(
            actor, links=tuple(_times(link, factor) for link in actor.links)
        )
        for actor in actors
    ]


def _times(link: Link, factor: float) -> Link:
    a, b, c, d, e, f = (value * factor for value in link.inertia)
    return msgspec.structs.replace(
        link, mass=link.mass * factor, inertia=(a, b, c, d, e, f)
    )


def _plus(a: Vector, b: Vector) -> Vector:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def _minus(a: Vector, b: Vector) -> Vector:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])
