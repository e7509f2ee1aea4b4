"""What the fields of a recording mean: units, kinds, and which are ragged by nature.

Source: the SuperDex event recording as its engine writes it (release 1.0.0).
Units are SI; ``""`` is a pure number; None means that no unit is known, which is not
the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "identity", "pose", "velocity", "target", "solver", "contact", "distance", "other"
]


@dataclass(frozen=True, slots=True)
class FieldMeaning:
    """What one field is.

    Attributes
    ----------
    unit
        SI unit, ``""`` for a pure number, None where unknown.
    kind
        What sort of quantity it is, to group and to order fields by.
    about
        One line for people.
    components
        Names of the last axis' components, where they have names.
    ragged
        Whether its length varies from step to step by nature.
    """

    unit: str | None
    kind: Kind
    about: str
    components: tuple[str, ...] = ()
    ragged: bool = False


XYZ = ("x", "y", "z")
XYZW = ("x", "y", "z", "w")

# Reference text for the fields of a Step's actors and of the step itself.
FIELDS: dict[str, FieldMeaning] = {
    "timeTotal": FieldMeaning("s", "other", "recording time: the sum of all h so far"),
    "timeStep": FieldMeaning("s", "other", "h of this native step"),
    "gravity": FieldMeaning("m/s²", "other", "gravity during the step", XYZ),
    "handle": FieldMeaning("", "identity", "the actor's handle within this run"),
    "name": FieldMeaning("", "identity", "the actor's name"),
    "type": FieldMeaning("", "identity", "Rigid, Articulated, Soft, …"),
    "translation": FieldMeaning("m", "pose", "origin of the body frame", XYZ),
    "rotation": FieldMeaning("", "pose", "orientation, quaternion x y z w", XYZW),
    "translationCom": FieldMeaning("m", "pose", "centre of mass", XYZ),
    "rotationCom": FieldMeaning(
        "", "pose", "principal frame, quaternion x y z w", XYZW
    ),
    "vcom": FieldMeaning(
        "m/s", "velocity", "mean velocity of the centre of mass over the step", XYZ
    ),
    "omega": FieldMeaning("rad/s", "velocity", "angular velocity", XYZ),
    "vsym": FieldMeaning(None, "velocity", "symmetric velocity part, 3 by 3 by rows"),
    "pose": FieldMeaning(
        "m or rad", "pose", "joint positions, one a degree of freedom"
    ),
    "jointVelocity": FieldMeaning(
        "m/s or rad/s", "velocity", "joint velocities, as the tap reads them"
    ),
    "targetPose": FieldMeaning(
        "m or rad", "target", "the controller's target; not an action"
    ),
    "displacement": FieldMeaning("m", "pose", "node displacements", XYZ),
    "velocity": FieldMeaning("m/s", "velocity", "node velocities", XYZ),
    "pivotEvalTranslation": FieldMeaning("m", "pose", "where the pivot point is", XYZ),
    "pivotEvalRotation": FieldMeaning("", "pose", "rotation at the pivot point", XYZW),
    "solverGroup": FieldMeaning("", "solver", "handle of the solver group"),
    "solverDofOffset": FieldMeaning(
        "", "solver", "first degree of freedom in the group"
    ),
    "solverPoseOffset": FieldMeaning("", "solver", "first pose value in the group"),
    "max_sdf_far_distance_evaluation": FieldMeaning(
        "m", "distance", "largest far distance that was evaluated"
    ),
}

_RAGGED: dict[str, FieldMeaning] = {
    "contacts_posA": FieldMeaning("m", "contact", "contact point on A", XYZ, True),
    "contacts_posB": FieldMeaning("m", "contact", "contact point on B", XYZ, True),
    "contacts_normal": FieldMeaning("", "contact", "contact normal", XYZ, True),
    "contacts_force": FieldMeaning("N", "contact", "contact force", XYZ, True),
    "contacts_distance": FieldMeaning("m", "contact", "gap; below 0 inside", (), True),
    "contacts_actorA": FieldMeaning("", "contact", "slot of actor A", (), True),
    "contacts_actorB": FieldMeaning("", "contact", "slot of actor B", (), True),
    "contacts_pointVelocityA": FieldMeaning(
        "m/s", "contact", "velocity of A's point", XYZ, True
    ),
    "contacts_pointVelocityB": FieldMeaning(
        "m/s", "contact", "velocity of B's point", XYZ, True
    ),
    "contacts_intWeight": FieldMeaning(
        None, "contact", "integration weight of the sample", (), True
    ),
    "contact_forces_force": FieldMeaning("N", "contact", "force on a node", XYZ, True),
    "contact_forces_node": FieldMeaning("", "contact", "node index", (), True),
    "sdf_distances_distances": FieldMeaning("m", "distance", "distance", (), True),
    "sdf_distances_world_positions": FieldMeaning(
        "m", "distance", "where it was sampled", XYZ, True
    ),
    "sdf_distances_distance_grads": FieldMeaning(
        "", "distance", "gradient of the distance", XYZ, True
    ),
}
FIELDS.update(_RAGGED)

RAGGED_PREFIXES = ("contacts_", "contact_forces_", "sdf_distances_")
_UNKNOWN = FieldMeaning(None, "other", "")
_UNKNOWN_CONTACT = FieldMeaning(None, "contact", "", (), True)
_UNKNOWN_DISTANCE = FieldMeaning(None, "distance", "", (), True)


def meaning(field: str) -> FieldMeaning:
    """What the field of this name is; an unknown name has an unknown unit."""
    known = FIELDS.get(field)
    if known is not None:
        return known
    if field.startswith(("contacts_", "contact_forces_")):
        return _UNKNOWN_CONTACT
    if field.startswith("sdf_distances_"):
        return _UNKNOWN_DISTANCE
    return _UNKNOWN


def ragged_by_nature(field: str) -> bool:
    """Whether the field's length varies from step to step."""
    return meaning(field).ragged
