"""What each persistent parameter is: the one list of them.

`Parameters` holds them as tensors. Configurations, fingerprints, randomisation and
recordings go through `DECLARATIONS` and so miss none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from isoscope.gpu.errors import ParameterError
from isoscope.gpu.model import initial

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.gpu.model.tree import Tree

Per = Literal["link", "dof", "drive", "shape", "model"]
XYZ = ("x", "y", "z")
INERTIA = ("xx", "yy", "zz", "xy", "xz", "yz")


@dataclass(frozen=True, slots=True)
class Declaration:
    """What one parameter is.

    Attributes
    ----------
    per
        What has one: each ``link``, ``dof``, ``drive`` or ``shape``, or the ``model``.
    unit
        SI unit; for a linear and an angular degree of freedom where they differ.
    about
        One line for people.
    initial
        From the tree, the numbers in order.
    components
        Names of the numbers of one item; () for a single number. Row
        ``item * len(components) + component`` of the tensor.
    low
        The least value that is allowed; None: any. `above` excludes it.
    infinite
        Whether infinity is a value: no limit.
    structural
        Whether generated code may leave out what is exactly zero.
    """

    name: str
    per: Per
    unit: str
    about: str
    initial: Callable[[Tree], list[float]]
    components: tuple[str, ...] = ()
    low: float | None = None
    above: bool = False
    infinite: bool = False
    structural: bool = False

    def rows(self, tree: Tree) -> int:
        """The length of the tensor's first axis."""
        return len(initial.owners(tree, self.per)) * max(1, len(self.components))


DECLARATIONS: tuple[Declaration, ...] = (
    Declaration("mass", "link", "kg", "mass", initial.mass, low=0.0, structural=True),
    Declaration(
        "center",
        "link",
        "m",
        "centre of mass in the link's frame",
        initial.center,
        components=XYZ,
        structural=True,
    ),
    Declaration(
        "inertia",
        "link",
        "kg·m²",
        "inertia about the centre of mass, in the link's axes",
        initial.inertia,
        components=INERTIA,
        structural=True,
    ),
    Declaration(
        "damping",
        "dof",
        "N·s/m or N·m·s/rad",
        "viscous friction of the joint",
        initial.damping,
        low=0.0,
        structural=True,
    ),
    Declaration(
        "armature",
        "dof",
        "kg or kg·m²",
        "inertia added to the mass matrix' diagonal",
        initial.armature,
        low=0.0,
        structural=True,
    ),
    Declaration(
        "spring_stiffness",
        "dof",
        "N/m or N·m/rad",
        "of the joint's spring",
        initial.spring_stiffness,
        low=0.0,
        structural=True,
    ),
    Declaration(
        "spring_rest",
        "dof",
        "m or rad",
        "where the joint's spring has no force",
        initial.spring_rest,
    ),
    Declaration(
        "limit_lower",
        "dof",
        "m or rad",
        "lower limit of the joint",
        initial.limit_lower,
        infinite=True,
    ),
    Declaration(
        "limit_upper",
        "dof",
        "m or rad",
        "upper limit of the joint",
        initial.limit_upper,
        infinite=True,
    ),
    Declaration(
        "limit_stiffness",
        "dof",
        "N/m or N·m/rad",
        "of the spring beyond a limit",
        initial.limit_stiffness,
        low=0.0,
    ),
    Declaration(
        "limit_damping",
        "dof",
        "N·s/m or N·m·s/rad",
        "of the damper beyond a limit",
        initial.limit_damping,
        low=0.0,
    ),
    Declaration(
        "drive_gear",
        "drive",
        "",
        "ratio from the joint to the drive",
        initial.drive_gear,
    ),
    Declaration(
        "drive_stiffness",
        "drive",
        "N/m or N·m/rad",
        "gain on the position's error",
        initial.drive_stiffness,
        low=0.0,
    ),
    Declaration(
        "drive_damping",
        "drive",
        "N·s/m or N·m·s/rad",
        "gain on the velocity's error",
        initial.drive_damping,
        low=0.0,
    ),
    Declaration(
        "drive_force_lower",
        "drive",
        "N or N·m",
        "least force of the drive",
        initial.drive_force_lower,
        infinite=True,
    ),
    Declaration(
        "drive_force_upper",
        "drive",
        "N or N·m",
        "greatest force of the drive",
        initial.drive_force_upper,
        infinite=True,
    ),
    Declaration(
        "drive_control_lower",
        "drive",
        "of the control",
        "least control",
        initial.drive_control_lower,
        infinite=True,
    ),
    Declaration(
        "drive_control_upper",
        "drive",
        "of the control",
        "greatest control",
        initial.drive_control_upper,
        infinite=True,
    ),
    Declaration(
        "gravity",
        "model",
        "m/s²",
        "gravity in the world's axes",
        initial.gravity,
        components=XYZ,
    ),
    Declaration(
        "friction", "shape", "", "Coulomb's coefficient", initial.friction, low=0.0
    ),
    Declaration(
        "contact_stiffness",
        "model",
        "N/m",
        "normal force per depth",
        initial.contact_stiffness,
        low=0.0,
    ),
    Declaration(
        "contact_damping",
        "model",
        "s/m",
        "of the approaching speed, per depth",
        initial.contact_damping,
        low=0.0,
    ),
    Declaration(
        "slip_speed",
        "model",
        "m/s",
        "below it friction is viscous",
        initial.slip_speed,
        low=0.0,
        above=True,
    ),
)
_BY_NAME = {d.name: d for d in DECLARATIONS}


def declaration(name: str) -> Declaration:
    """What the parameter of this name is.

    Raises
    ------
    ParameterError
        If there is none.
    """
    found = _BY_NAME.get(name)
    if found is None:
        raise ParameterError(
            f'there is no parameter "{name}"; there are ' + ", ".join(_BY_NAME)
        )
    return found


def row_names(tree: Tree, name: str) -> tuple[str, ...]:
    """A name for each row: ``"CartPole/Pole"``, ``"CartPole/Pole inertia.xx"``."""
    declared = declaration(name)
    owners = initial.owners(tree, declared.per)
    if not declared.components:
        return owners
    return tuple(
        f"{owner} {name}.{part}".strip()
        for owner in owners
        for part in declared.components
    )
