"""What makes a model valid; the first thing that doesn't is told."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NoReturn

from isoscope.gpu.errors import ModelError
from isoscope.gpu.model.inertia import impossible_inertia
from isoscope.gpu.model.spec import POSITIONS, VELOCITIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoscope.gpu.model.spec import Actor, Drive, Joint, Link, Model, Shape

# Numbers beyond this are slips of the pen; squared they still fit into float32.
LARGEST = 1e15
UNIT_TOLERANCE = 1e-6
SIZES = {"plane": 0, "sphere": 1, "box": 3, "capsule": 2}
SIZE_WORDS = {
    "plane": "a plane has no size",
    "sphere": "a sphere has one size, its radius",
    "box": "a box has three sizes, its half lengths",
    "capsule": "a capsule has two sizes, its radius and its half length",
}
ONE_DOF = ("prismatic", "revolute")
BITS = 1 << 31


class Place:
    """Where in the model something is, and how to complain about it."""

    def __init__(self, model: str, where: str = "") -> None:
        self.model = model
        self.where = where

    def inside(self, where: str) -> Place:
        """A part of this place."""
        return Place(self.model, f"{where} of {self.where}" if self.where else where)

    def refuse(self, problem: str, remedy: str = "") -> NoReturn:
        """Raise what is wrong here."""
        doing = f'building the model "{self.model}"'
        raise ModelError(doing, problem, where=self.where, remedy=remedy)

    def number(self, name: str, value: float, *, low: float | None = None) -> None:
        """Refuse a number that is not finite, absurdly large or below `low`."""
        if not math.isfinite(value) or abs(value) > LARGEST:
            self.refuse(f"{name} is {value}", f"give a number up to {LARGEST:g}")
        if low is not None and value < low:
            self.refuse(f"{name} is {value:g}", f"give {low:g} or more")

    def numbers(self, name: str, values: Iterable[float]) -> None:
        """The same for several."""
        for value in values:
            self.number(name, value)

    def unit(self, name: str, values: Sequence[float]) -> None:
        """Refuse what does not have length 1."""
        self.numbers(name, values)
        length = math.sqrt(sum(value * value for value in values))
        if abs(length - 1) > UNIT_TOLERANCE:
            self.refuse(f"{name} has length {length:.9g}", "give it length 1")

    def interval(self, name: str, values: tuple[float, float] | None) -> None:
        """Refuse bounds that are upside down."""
        if values is None:
            return
        self.numbers(name, values)
        if values[0] > values[1]:
            self.refuse(
                f"{name} are upside down: {values[0]:g} to {values[1]:g}",
                "give the lower one first",
            )


def validate(model: Model) -> None:
    """Check everything that does not need the tree.

    Raises
    ------
    ModelError
        At the first thing that is wrong.
    """
    place = Place(model.name)
    _name(place, "the model", model.name)
    place.numbers("gravity", model.gravity)
    contact = place.inside("the contact law")
    contact.number("stiffness", model.contact.stiffness, low=0.0)
    contact.number("damping", model.contact.damping, low=0.0)
    contact.number("slip_speed_m_s", model.contact.slip_speed_m_s)
    if model.contact.slip_speed_m_s <= 0.0:
        contact.refuse(
            f"slip_speed_m_s is {model.contact.slip_speed_m_s:g}", "give more than 0"
        )
    if not model.actors:
        place.refuse("it has no actors", "give it at least one")
    _unique(place, "actor", [actor.name for actor in model.actors])
    for actor in model.actors:
        _actor(place.inside(f'actor "{actor.name}"'), actor)
    _shapes(place, model.shapes)


def _name(place: Place, what: str, name: str) -> None:
    if not name or "/" in name or not name.isprintable():
        place.refuse(
            f"{what} has the name {name!r}",
            "give it one that can be printed, without /",
        )


def _unique(place: Place, what: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        _name(place, f"{_article(what)} {what}", name)
        if name in seen:
            place.refuse(f'two {what}s have the name "{name}"', "rename one of them")
        seen.add(name)


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _actor(place: Place, actor: Actor) -> None:
    if not actor.links:
        place.refuse("it has no links", "give it at least one")
    _unique(place, "link", [link.name for link in actor.links])
    joints = {link.joint.name: link.joint for link in actor.links if link.joint.name}
    _unique(place, "joint", [j.joint.name for j in actor.links if j.joint.name])
    _unique(place, "drive", [drive.name for drive in actor.drives])
    all_names = {link.name for link in actor.links}
    seen: set[str] = set()
    for number, link in enumerate(actor.links):
        here = place.inside(f'link "{link.name}"')
        _hangs_on(here, link, number, seen, all_names)
        _link(here, link)
        seen.add(link.name)
    for drive in actor.drives:
        _drive(place.inside(f'drive "{drive.name}"'), drive, joints)


def _hangs_on(
    place: Place, link: Link, number: int, seen: set[str], names: set[str]
) -> None:
    if number == 0:
        if link.parent is not None:
            place.refuse(
                f'the actor\'s first link has the parent "{link.parent}"',
                "begin with the root, which has none",
            )
        return
    if link.parent is None:
        place.refuse(
            "it has no parent, and the actor has a root already",
            "name its parent, or make it an actor of its own",
        )
    if link.parent not in names:
        place.refuse(
            f'its parent "{link.parent}" is not a link of this actor', "correct it"
        )
    if link.parent not in seen:
        place.refuse(
            f'its parent "{link.parent}" comes after it',
            "list parents before their children",
        )


def _link(place: Place, link: Link) -> None:
    place.numbers("position", link.position)
    place.unit("rotation", link.rotation)
    _joint(place, link.joint)
    if link.joint.type == "free" and link.parent is not None:
        place.refuse(
            f'it has a free joint and hangs on "{link.parent}"',
            "make it the first link of an actor of its own",
        )
    place.number("mass", link.mass, low=0.0)
    place.numbers("center", link.center)
    place.numbers("inertia", link.inertia)
    if link.mass == 0.0 and any(link.inertia):
        place.refuse("it has inertia and no mass", "give it a mass")
    problem = impossible_inertia(link.inertia)
    if problem:
        place.refuse(problem, "correct it (the order is xx, yy, zz, xy, xz, yz)")
    _shapes(place, link.shapes)


def _joint(place: Place, joint: Joint) -> None:
    here = place.inside(f'joint "{joint.name}"') if joint.name else place
    here.unit("axis", joint.axis)
    here.number("damping", joint.damping, low=0.0)
    here.number("armature", joint.armature, low=0.0)
    here.number("stiffness", joint.stiffness, low=0.0)
    here.number("rest", joint.rest)
    here.interval("limits", joint.limits)
    for name in ("limit_stiffness", "limit_damping"):
        value = getattr(joint, name)
        if value is not None:
            here.number(name, value, low=0.0)
    if joint.type not in ONE_DOF:
        for name, given in (
            ("limits", joint.limits is not None),
            ("limit_stiffness", joint.limit_stiffness is not None),
            ("limit_damping", joint.limit_damping is not None),
            ("stiffness", joint.stiffness != 0.0),
        ):
            if given:
                here.refuse(
                    f"a {joint.type} joint can't have {name}",
                    "only prismatic and revolute ones can",
                )
    if not VELOCITIES[joint.type] and (joint.damping or joint.armature):
        here.refuse("a fixed joint has no damping and no armature", "leave them out")
    _joint_start(here, joint)


def _joint_start(place: Place, joint: Joint) -> None:
    if joint.start is None:
        return
    if joint.type == "free":
        place.refuse(
            "a free joint has no start of its own", "place its link where it starts"
        )
    if len(joint.start) != POSITIONS[joint.type]:
        place.refuse(
            f"start has {len(joint.start)} numbers, "
            f"a {joint.type} joint's position has {POSITIONS[joint.type]}",
            "correct it",
        )
    if joint.type == "spherical":
        place.unit("start", joint.start)
    place.numbers("start", joint.start)


def _shapes(place: Place, shapes: Sequence[Shape]) -> None:
    _unique(place, "shape", [shape.name for shape in shapes])
    for shape in shapes:
        here = place.inside(f'shape "{shape.name}"')
        here.numbers("position", shape.position)
        here.unit("rotation", shape.rotation)
        here.numbers("size", shape.size)
        if len(shape.size) != SIZES[shape.type]:
            here.refuse(
                f"{SIZE_WORDS[shape.type]}; it was given {len(shape.size)}",
                "correct its size",
            )
        if any(size <= 0.0 for size in shape.size):
            here.refuse(
                f"its size is {list(shape.size)}", "give numbers greater than 0"
            )
        here.number("friction", shape.friction, low=0.0)
        for name, bits in (("group", shape.group), ("mask", shape.mask)):
            if not 0 <= bits < BITS:
                here.refuse(f"{name} is {bits}", "give a number of at most 31 bits")


def _drive(place: Place, drive: Drive, joints: dict[str, Joint]) -> None:
    joint = joints.get(drive.joint)
    if joint is None:
        place.refuse(
            f'it drives "{drive.joint}", which is not a joint of this actor',
            "its joints are "
            + (", ".join(f'"{n}"' for n in joints) or "without names"),
        )
    if joint.type not in ONE_DOF:
        place.refuse(
            f'it drives the {joint.type} joint "{drive.joint}"',
            "only prismatic and revolute ones can be driven",
        )
    place.number("gear", drive.gear)
    if drive.gear == 0.0:
        place.refuse("gear is 0, so it would do nothing", "give another number")
    place.number("stiffness", drive.stiffness, low=0.0)
    place.number("damping", drive.damping, low=0.0)
    place.interval("force_limits", drive.force_limits)
    place.interval("control_limits", drive.control_limits)
    if drive.type == "force" and (drive.stiffness or drive.damping):
        place.refuse(
            "a force drive has no stiffness and no damping",
            'leave them out, or make it a "position" or "velocity" drive',
        )
    if drive.type == "position" and drive.stiffness == 0.0:
        place.refuse("a position drive needs a stiffness", "give more than 0")
    if drive.type == "velocity" and drive.stiffness:
        place.refuse("a velocity drive has no stiffness", "leave it out")
    if drive.type == "velocity" and drive.damping == 0.0:
        place.refuse("a velocity drive needs a damping", "give more than 0")
