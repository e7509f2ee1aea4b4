"""A body's mass, centre and inertia: as written, or out of its geoms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.gpu.model.inertia import moved, symmetric
from isoscope.gpu.model.mjcf.placement import orientation, vector
from isoscope.gpu.model.mjcf.reading import Attributes
from isoscope.gpu.model.rotations import matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from isoscope.gpu.model.mjcf.document import Node
    from isoscope.gpu.model.mjcf.geoms import Geom
    from isoscope.gpu.model.mjcf.reading import Reading

    Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Mass:
    """Mass [kg], centre in the body's frame [m], (3,), and inertia about it, (3, 3)."""

    mass: float
    center: Array
    inertia: Array


def body_mass(reading: Reading, node: Node, geoms: Sequence[Geom]) -> Mass:
    """Which of the two counts says the compiler's inertiafromgeom."""
    written = next(node.of("inertial"), None)
    way = reading.settings.inertia_from_geoms
    if written is not None and way != "true":
        found = _inertial(reading, written)
    elif way == "false":
        found = Mass(0.0, np.zeros(3), np.zeros((3, 3)))
    else:
        found = _sum(reading, geoms)
    return _bounded(reading, found)


def _inertial(reading: Reading, node: Node) -> Mass:
    a = Attributes(reading, node)
    for name in ("mass", "pos"):
        if not a.has(name):
            node.refuse(f"it has no {name}", "give one")
    mass = a.number("mass", 0.0)
    if mass < 0.0:
        node.refuse(f"mass is {mass:g}", "give 0 or more")
    center = np.array(vector(a, "pos"))
    turn = orientation(a)
    if a.has("fullinertia"):
        if a.has("diaginertia") or any(turn[:3]):
            node.refuse(
                "fullinertia excludes diaginertia and an orientation", "keep one"
            )
        # M(1,1), M(2,2), M(3,3), M(1,2), M(1,3), M(2,3)
        inertia = symmetric(a.floats("fullinertia", (0.0,) * 6))
    else:
        axes = matrix(turn)
        diagonal = a.floats("diaginertia", (0.0,) * 3)
        inertia = np.asarray(axes @ np.diag(diagonal) @ axes.T)
    a.drop("user")
    a.finish()
    return Mass(mass, center, inertia)


def _sum(reading: Reading, geoms: Sequence[Geom]) -> Mass:
    low, high = reading.settings.inertia_groups
    counted = [geom for geom in geoms if low <= geom.group <= high]
    mass = sum(geom.mass for geom in counted)
    if mass == 0.0:
        return Mass(0.0, np.zeros(3), np.zeros((3, 3)))
    if len([geom for geom in counted if geom.mass]) == 1:
        # no sum, no rounding
        only = next(geom for geom in counted if geom.mass)
        return Mass(only.mass, np.array(only.position), only.inertia)
    center = np.zeros(3)
    for geom in counted:
        center += geom.mass * np.array(geom.position)
    center /= mass
    inertia = np.zeros((3, 3))
    for geom in counted:
        inertia += moved(geom.inertia, geom.mass, np.array(geom.position) - center)
    return Mass(mass, center, inertia)


def _bounded(reading: Reading, found: Mass) -> Mass:
    settings = reading.settings
    mass = max(found.mass, settings.least_mass)
    inertia = found.inertia
    if settings.least_inertia > 0.0:
        moments, axes = np.linalg.eigh(inertia)
        if moments[0] < settings.least_inertia:
            least = np.maximum(moments, settings.least_inertia)
            inertia = np.asarray(axes @ np.diag(least) @ axes.T)
    return Mass(mass, found.center, inertia)
