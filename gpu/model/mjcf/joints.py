"""Joints of a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.gpu.model.mjcf.placement import direction, vector
from isoscope.gpu.model.mjcf.reading import Attributes
from isoscope.gpu.model.rotations import about
from isoscope.gpu.model.spec import NO_TURN, ORIGIN, Joint

if TYPE_CHECKING:
    from isoscope.gpu.model.mjcf.document import Node
    from isoscope.gpu.model.mjcf.reading import Reading
    from isoscope.gpu.model.spec import JointType, Quaternion, Vector

TYPES: dict[str, JointType] = {
    "hinge": "revolute",
    "slide": "prismatic",
    "ball": "spherical",
    "free": "free",
}


@dataclass(frozen=True, slots=True)
class ReadJoint:
    """A joint and where it is.

    Attributes
    ----------
    anchor
        In the body's frame.
    shift, turn
        Placement before the joint's motion, for which MuJoCo's `ref` is zero.
    """

    joint: Joint
    anchor: Vector
    shift: Vector
    turn: Quaternion


def read_joint(reading: Reading, node: Node, childclass: str, name: str) -> ReadJoint:
    """Read a <joint> or <freejoint>."""
    a = Attributes(reading, node, childclass)
    if node.tag == "freejoint":
        a.refuse_unless("align", "false" if a.text("align") == "false" else "auto")
        a.drop("group")
        a.finish()
        return ReadJoint(Joint(name=name, type="free"), ORIGIN, ORIGIN, NO_TURN)
    kind = a.choice("type", "hinge", sorted(TYPES))
    armature = _constant(a, "armature")
    damping = _constant(a, "damping")
    stiffness = _constant(a, "stiffness")
    limited = a.limited("limited", "range") and reading.settings.limits
    bounds = a.floats("range", (0.0, 0.0))
    position = vector(a, "pos")
    axis_values = a.floats("axis", (0.0, 0.0, 1.0))
    reference = a.number("ref", 0.0)
    rest = a.number("springref", 0.0)
    for attribute in ("springdamper", "frictionloss"):
        a.refuse_unless(attribute, "0")
    a.refuse_unless("actuatorgravcomp", "false")
    if a.limited("actuatorfrclimited", "actuatorfrcrange"):
        a.reading.unsupported("actuatorfrcrange", node)
    a.refuse_unless("align", "false" if a.text("align") == "false" else "auto")
    a.skip("solreflimit", "solimplimit", "solreffriction", "solimpfriction", "margin")
    a.drop("group", "user")
    a.finish()
    one_dof = kind in ("hinge", "slide")
    if not one_dof:
        if limited and kind == "ball":
            reading.unsupported("range", node, "a limited ball joint is not supported")
        if stiffness:
            reading.unsupported(
                "stiffness", node, f"a spring on a {kind} joint is not supported"
            )
        joint = Joint(name=name, type=TYPES[kind], damping=damping, armature=armature)
        anchor = ORIGIN if kind == "free" else position
        return ReadJoint(joint, anchor, ORIGIN, NO_TURN)
    x, y, z = direction(a, "axis", axis_values)
    axis = (x, y, z)
    if kind == "hinge":
        bounds = (reading.angle(bounds[0]), reading.angle(bounds[1]))
        reference, rest = reading.angle(reference), reading.angle(rest)
    if limited and bounds[0] >= bounds[1]:
        node.refuse(
            f"range is {bounds[0]:g} to {bounds[1]:g}", "give the lower limit first"
        )
    joint = Joint(
        name=name,
        type=TYPES[kind],
        axis=axis,
        limits=(bounds[0], bounds[1]) if limited else None,
        damping=damping,
        armature=armature,
        stiffness=stiffness,
        rest=rest if stiffness else 0.0,
        start=(reference,) if reference else None,
    )
    if not reference:
        return ReadJoint(joint, position, ORIGIN, NO_TURN)
    if kind == "hinge":
        return ReadJoint(joint, position, ORIGIN, about(axis, -reference))
    shift = (-reference * x, -reference * y, -reference * z)
    return ReadJoint(joint, position, shift, NO_TURN)


def _constant(a: Attributes, name: str) -> float:
    """The first number; others would make it depend on the position or velocity."""
    first, *rest = a.numbers(name) or (0.0,)
    if any(rest):
        a.reading.unsupported(
            name, a.node, f"{name} has {1 + len(rest)} numbers; only one is supported"
        )
    if first < 0.0:
        a.node.refuse(f"{name} is {first:g}", "give 0 or more")
    return first
