"""Models of the tests as MJCF, and their states as MuJoCo's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from isoscope.gpu.model.spec import Link, Model
    from isoscope.gpu.model.tree import Tree

TYPES = {"prismatic": "slide", "revolute": "hinge", "spherical": "ball"}


def numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


def mjcf(model: Model, h: float, integrator: str = "Euler") -> str:
    """The same bodies and joints, without springs, limits and drives."""
    bodies = "".join(body(actor.links[0], actor.links) for actor in model.actors)
    return (
        '<mujoco><compiler angle="radian" balanceinertia="false"/>'
        f'<option timestep="{h}" gravity="{numbers(model.gravity)}" '
        f'integrator="{integrator}"/>'
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )


def body(link: Link, links: tuple[Link, ...]) -> str:
    x, y, z, w = link.rotation
    joint = link.joint
    inner = "".join(body(child, links) for child in links if child.parent == link.name)
    moves = ""
    given = f'damping="{joint.damping}" armature="{joint.armature}"'
    if joint.type == "free":
        moves = f'<joint type="free" armature="{joint.armature}"/>'
    elif joint.type != "fixed":
        moves = (
            f'<joint type="{TYPES[joint.type]}" axis="{numbers(joint.axis)}" {given}/>'
        )
    return (
        f'<body pos="{numbers(link.position)}" quat="{numbers((w, x, y, z))}">{moves}'
        f'<inertial pos="{numbers(link.center)}" mass="{link.mass}" '
        f'fullinertia="{numbers(link.inertia)}"/>{inner}</body>'
    )


def positions(tree: Tree, q: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """q with quaternions w x y z."""
    result = q.copy()
    for link in tree.links:
        at = link.position_start + (3 if link.joint == "free" else 0)
        if link.joint in ("spherical", "free"):
            result[at : at + 4] = np.roll(q[at : at + 4], 1)
    return result
