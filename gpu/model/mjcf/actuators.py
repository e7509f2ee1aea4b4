"""Actuators to drives: motors, position and velocity servos."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from isoscope.gpu.model.mjcf.bodies import clean
from isoscope.gpu.model.mjcf.reading import ACTUATORS, Attributes
from isoscope.gpu.model.spec import Drive

if TYPE_CHECKING:
    from isoscope.gpu.model.mjcf.document import Node
    from isoscope.gpu.model.mjcf.reading import Reading
    from isoscope.gpu.model.spec import Actor, DriveType, Joint

TRANSMISSIONS = ("tendon", "cranksite", "site", "body", "slidersite", "refsite")


def read_actuators(reading: Reading, root: Node, actors: list[Actor]) -> list[Actor]:
    """The actors with their drives, each in the order of the file."""
    drives: list[list[Drive]] = [[] for _ in actors]
    owners: dict[str, tuple[int, Joint]] = {}
    for number, actor in enumerate(actors):
        for link in actor.links:
            if link.joint.name:
                owners[link.joint.name] = (number, link.joint)
    count = 0
    for section in root.of("actuator"):
        for node in section.children:
            count += 1
            if node.tag not in ACTUATORS:
                reading.unsupported(
                    node.tag, node, f"actuators of type {node.tag} are not supported"
                )
                continue
            _add(reading, node, f"drive{count}", owners, drives)
    return [
        msgspec.structs.replace(actor, drives=tuple(found))
        for actor, found in zip(actors, drives, strict=True)
    ]


def _add(
    reading: Reading,
    node: Node,
    made_up: str,
    owners: dict[str, tuple[int, Joint]],
    drives: list[list[Drive]],
) -> None:
    a = Attributes(reading, node)
    for name in TRANSMISSIONS:
        if a.has(name):
            reading.unsupported(name, node, f"an actuator on a {name} is not supported")
            return
    joint_name = clean(a.text("joint") or a.text("jointinparent"))
    a.drop("joint", "jointinparent")
    if joint_name not in owners:
        node.refuse(f'there is no joint "{joint_name}"', "correct it")
    number, joint = owners[joint_name]
    if joint.type not in ("prismatic", "revolute"):
        node.refuse(
            f'it drives the {joint.type} joint "{joint_name}"',
            "only hinge and slide joints can be driven",
        )
    drive = _drive(a, clean(node.attributes.get("name", made_up)), joint_name)
    a.finish()
    drives[number].append(drive)


def _drive(a: Attributes, name: str, joint: str) -> Drive:
    kind, gain, stiffness, damping = _law(a)
    gear = a.floats("gear", (1.0, 0.0, 0.0, 0.0, 0.0, 0.0), least=1)[0]
    controls = _bounds(a, "ctrllimited", "ctrlrange")
    forces = _bounds(a, "forcelimited", "forcerange")
    a.refuse_unless("dyntype", "none")
    for attribute in ("timeconst", "actdim", "inheritrange", "actlimited", "delay"):
        a.refuse_unless(attribute, "-1" if attribute == "actdim" else "0")
    a.refuse_unless("damping", "0")
    a.refuse_unless("armature", "0")
    a.refuse_unless("actearly", "false")
    a.drop("dynprm", "actrange", "group", "user", "lengthrange", "cranklength")
    a.drop("nsample", "interp")
    if gain != 1.0 and forces is not None:
        low, high = sorted(bound / gain for bound in forces)
        forces = (low, high)
    return Drive(
        name=name,
        joint=joint,
        type=kind,
        gear=gear * gain,
        stiffness=stiffness,
        damping=damping,
        force_limits=forces,
        control_limits=controls,
    )


def _law(a: Attributes) -> tuple[DriveType, float, float, float]:
    """Type, gain (of a force), stiffness, damping.

    MuJoCo's force of a fixed gain g and an affine bias b is
    ``g·u + b0 + b1·length + b2·velocity``.
    """
    tag = a.node.tag
    if tag == "motor":
        _drop_law(a)
        return "force", 1.0, 0.0, 0.0
    if tag == "position":
        stiffness, damping = a.number("kp", 1.0), a.number("kv", 0.0)
        a.refuse_unless("dampratio", "0")
        _drop_law(a)
        return "position", 1.0, stiffness, damping
    if tag == "velocity":
        damping = a.number("kv", 1.0)
        _drop_law(a)
        return "velocity", 1.0, 0.0, damping
    gain_type = a.text("gaintype", "fixed")
    bias_type = a.text("biastype", "none")
    gain = (a.numbers("gainprm") or (1.0,))[0]
    b0, b1, b2 = ((*a.numbers("biasprm"), 0.0, 0.0, 0.0))[:3]
    a.drop("kp", "kv", "dampratio")
    if bias_type == "none":
        b0 = b1 = b2 = 0.0
    if gain_type == "fixed" and bias_type in ("none", "affine") and b0 == 0.0:
        if b1 == 0.0 and b2 == 0.0 and gain != 0.0:
            return "force", gain, 0.0, 0.0
        if b1 == -gain and b2 <= 0.0 and gain > 0.0:
            return "position", 1.0, gain, -b2
        if b1 == 0.0 and b2 == -gain and gain > 0.0:
            return "velocity", 1.0, 0.0, gain
    a.node.refuse(
        "its gain and bias are neither a motor's nor a position or velocity servo's",
        "use <motor>, <position> or <velocity>",
    )


def _drop_law(a: Attributes) -> None:
    """Shortcuts overwrite what defaults of <general> say about gain and bias."""
    a.drop("gaintype", "biastype", "gainprm", "biasprm", "kp", "kv", "dampratio")


def _bounds(a: Attributes, limited: str, name: str) -> tuple[float, float] | None:
    is_limited = a.limited(limited, name)
    low, high = a.floats(name, (0.0, 0.0))
    if not is_limited:
        return None
    if low >= high:
        a.node.refuse(f"{name} is {low:g} to {high:g}", "give the lower bound first")
    return (low, high)
