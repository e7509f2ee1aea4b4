"""Geoms: what touches, and what gives a body its mass."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.gpu.model.inertia import (
    box_inertia,
    capsule_inertia,
    capsule_volume,
    cylinder_inertia,
    ellipsoid_inertia,
    sphere_inertia,
)
from isoscope.gpu.model.mjcf.placement import orientation, vector
from isoscope.gpu.model.mjcf.reading import Attributes
from isoscope.gpu.model.rotations import matrix, z_to
from isoscope.gpu.model.spec import Shape

if TYPE_CHECKING:
    import numpy.typing as npt

    from isoscope.gpu.model.mjcf.document import Node
    from isoscope.gpu.model.mjcf.reading import Reading
    from isoscope.gpu.model.spec import Quaternion, ShapeType, Vector

    Array = npt.NDArray[np.float64]

SHAPES: dict[str, ShapeType] = {
    "plane": "plane",
    "sphere": "sphere",
    "box": "box",
    "capsule": "capsule",
}
# how many numbers of `size` each type needs, and how many with `fromto`
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}
SIZES_BETWEEN = {"capsule": 1, "cylinder": 1, "box": 1, "ellipsoid": 1}
FOREIGN = ("mesh", "hfield", "sdf")


@dataclass(frozen=True, slots=True)
class Geom:
    """A geom in its body's frame.

    Attributes
    ----------
    shape
        What touches and is drawn; None for a type that shapes don't have.
    mass, inertia
        [kg]; about `position`, in the body's axes [kg·m²], (3, 3).
    group
        MuJoCo's group of geoms, which may keep it out of the inertia.
    """

    shape: Shape | None
    position: Vector
    mass: float
    inertia: Array
    group: int


def read_geom(reading: Reading, node: Node, childclass: str, name: str) -> Geom | None:
    """Read a geom; None if it is of a type that is left out."""
    a = Attributes(reading, node, childclass)
    kind = a.text("type", "sphere")
    if a.has("mesh") and kind not in ("mesh", "sdf"):
        kind = "mesh"
    if kind in FOREIGN:
        reading.unsupported(kind, node, f"geoms of type {kind} are not supported")
        return None
    if kind not in SIZES and kind not in SHAPES:
        node.refuse(f'type is "{kind}"', "it may be " + ", ".join((*SIZES, "plane")))
    group, mask = a.integer("contype", 1), a.integer("conaffinity", 1)
    if not reading.settings.contacts:
        group = mask = 0
    size, position, turn = _extent(a, kind)
    mass, inertia = _mass(a, kind, size)
    axes = matrix(turn)
    friction = a.floats("friction", (1.0, 0.005, 0.0001), least=1)[0]
    geom_group = a.integer("group", 0)
    a.refuse_unless("shellinertia", "false")
    a.refuse_unless("fluidshape", "none")
    a.skip("condim", "priority", "solmix", "solref", "solimp", "margin", "gap")
    a.drop("rgba", "material", "user", "hfield", "mesh", "fitscale", "fluidcoef")
    a.drop("surfacevel")
    a.finish()
    shape = None
    if kind in SHAPES:
        sizes = () if kind == "plane" else size
        shape = Shape(
            name=name,
            type=SHAPES[kind],
            size=sizes,
            position=position,
            rotation=turn,
            friction=friction,
            group=group,
            mask=mask,
        )
    else:
        if group or mask:
            reading.unsupported(kind, node, f"a {kind} that touches is not supported")
        reading.skip(f"drawing of geoms of type {kind}", node)
    return Geom(shape, position, mass, axes @ inertia @ axes.T, geom_group)


def _extent(a: Attributes, kind: str) -> tuple[tuple[float, ...], Vector, Quaternion]:
    """Size, position and orientation; from the two ends, if they are given."""
    turn = orientation(a)
    position = vector(a, "pos")
    sizes = a.numbers("size")
    if kind == "plane":
        return (), position, turn
    between = a.has("fromto")
    if between and kind not in SIZES_BETWEEN:
        a.node.refuse(f"a {kind} can't have fromto", "give size and pos")
    needed = (SIZES_BETWEEN if between else SIZES)[kind]
    if len(sizes) < needed or any(size <= 0 for size in sizes[:needed]):
        a.node.refuse(
            f"size is ({' '.join(f'{s:g}' for s in sizes)})",
            f"a {kind} needs {needed} numbers greater than 0 here",
        )
    if not between:
        return sizes[:needed], position, turn
    ends = a.floats("fromto", (0.0,) * 6)
    start, stop = np.array(ends[:3]), np.array(ends[3:])
    # MuJoCo's geom frames have z from the second end to the first
    along = start - stop
    half = float(np.linalg.norm(along)) / 2
    if half == 0.0:
        a.node.refuse("the ends in fromto are at the same place", "correct it")
    x, y, z = (float(value) for value in (start + stop) / 2)
    turn = z_to([float(value) for value in along])
    radius = sizes[0]
    if kind in ("box", "ellipsoid"):
        return (radius, radius, half), (x, y, z), turn
    return (radius, half), (x, y, z), turn


def _mass(a: Attributes, kind: str, size: tuple[float, ...]) -> tuple[float, Array]:
    """Mass and inertia about the centre, in the geom's own axes."""
    density = a.number("density", 1000.0)
    given = a.has("mass")
    mass = a.number("mass", 0.0)
    if density < 0 or mass < 0:
        a.node.refuse("its mass or density is negative", "give 0 or more")
    if kind == "plane":
        return 0.0, np.zeros((3, 3))
    if not given:
        mass = density * _volume(kind, size)
    if kind == "sphere":
        return mass, sphere_inertia(mass, size[0])
    if kind == "box":
        return mass, box_inertia(mass, size)
    if kind == "capsule":
        return mass, capsule_inertia(mass, size[0], size[1])
    if kind == "cylinder":
        return mass, cylinder_inertia(mass, size[0], size[1])
    return mass, ellipsoid_inertia(mass, size)


def _volume(kind: str, size: tuple[float, ...]) -> float:
    if kind == "sphere":
        return 4 / 3 * math.pi * size[0] ** 3
    if kind == "box":
        return 8 * size[0] * size[1] * size[2]
    if kind == "capsule":
        return capsule_volume(size[0], size[1])
    if kind == "cylinder":
        return math.pi * size[0] ** 2 * 2 * size[1]
    return 4 / 3 * math.pi * size[0] * size[1] * size[2]
