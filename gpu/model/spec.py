"""The description of a model as data: what the JSON form and the MJCF reader give.

A model is a list of actors; an actor is one tree of links, each hanging on its parent
by one joint. A free rigid body is an actor of one link with a free joint. Shapes fixed
to the world belong to the model itself.

Frames: a link's frame is where its joint is. `Link.position` and `Link.rotation` place
that frame in the parent's at joint position zero; joint motion comes after it. A joint
moves about or along `axis` through the link frame's origin. A free joint's position is
the link's pose in the world, so of such a link they say where it starts. Units are SI,
angles radians, quaternions x y z w.

`gpu.model.build` says what makes a model valid.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Vector: TypeAlias = tuple[float, float, float]
Quaternion: TypeAlias = tuple[float, float, float, float]
JointType: TypeAlias = Literal["fixed", "prismatic", "revolute", "spherical", "free"]
ShapeType: TypeAlias = Literal["plane", "sphere", "box", "capsule"]
DriveType: TypeAlias = Literal["force", "position", "velocity"]

SCHEMA: Literal["isoscope.model/1"] = "isoscope.model/1"
NO_TURN: Quaternion = (0.0, 0.0, 0.0, 1.0)
ORIGIN: Vector = (0.0, 0.0, 0.0)

# positions and velocities that each type of joint has
POSITIONS: dict[JointType, int] = {
    "fixed": 0,
    "prismatic": 1,
    "revolute": 1,
    "spherical": 4,
    "free": 7,
}
VELOCITIES: dict[JointType, int] = {
    "fixed": 0,
    "prismatic": 1,
    "revolute": 1,
    "spherical": 3,
    "free": 6,
}


class _Part(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """What all parts of a model have in common."""


class Shape(_Part, frozen=True, kw_only=True):
    """A shape on a link, or on the world: what touches, and what is drawn.

    Attributes
    ----------
    name
        Unique on its link, or among the world's shapes.
    size
        [m] ``plane``: none (it is infinite, its normal the frame's z); ``sphere``:
        (radius,); ``box``: the three half lengths; ``capsule``: (radius, half length)
        along z, the half length without the round ends.
    position, rotation
        In the link's frame, or the world's.
    friction
        Coulomb's coefficient; of two shapes the geometric mean counts.
    group, mask
        Bits. Two shapes touch where ``a.group & b.mask`` or ``b.group & a.mask``, as
        with MuJoCo's contype and conaffinity; a shape with 0 and 0 is only drawn.
    """

    name: str
    type: ShapeType
    size: tuple[float, ...] = ()
    position: Vector = ORIGIN
    rotation: Quaternion = NO_TURN
    friction: float = 1.0
    group: int = 1
    mask: int = 1


class Joint(_Part, frozen=True, kw_only=True):
    """How a link moves against its parent.

    Attributes
    ----------
    axis
        Unit vector in the link's frame; only of prismatic and revolute joints.
    limits
        (lower, upper) [m or rad], or None; only of prismatic and revolute joints.
    limit_stiffness, limit_damping
        Of the spring and damper beyond a limit [N/m, N·s/m or N·m/rad, N·m·s/rad].
        None: critically damped at 50 rad/s for what the joint carries at the start.
    damping
        Viscous friction [N·s/m or N·m·s/rad], the same for all degrees of freedom.
    armature
        Inertia added to the mass matrix' diagonal [kg or kg·m²].
    stiffness, rest
        A spring that pulls towards `rest`: stiffness·(rest - q) [N/m or N·m/rad; m or
        rad]; only of prismatic and revolute joints.
    start
        Joint position at the start; None: 0, or no turn. One number, or for a spherical
        joint a quaternion; a free joint starts where its link is placed.
    """

    name: str = ""
    type: JointType = "fixed"
    axis: Vector = (0.0, 0.0, 1.0)
    limits: tuple[float, float] | None = None
    limit_stiffness: float | None = None
    limit_damping: float | None = None
    damping: float = 0.0
    armature: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    start: tuple[float, ...] | None = None


class Link(_Part, frozen=True, kw_only=True):
    """One rigid body of a tree.

    Attributes
    ----------
    name
        Unique in its actor.
    parent
        The parent link's name; None for the root, which hangs on the world.
    mass
        [kg]; 0 for a link that only joins two joints.
    center
        Centre of mass in the link's frame [m].
    inertia
        About the centre of mass, in the link's axes: xx, yy, zz, xy, xz, yz [kg·m²].
    """

    name: str
    parent: str | None = None
    position: Vector = ORIGIN
    rotation: Quaternion = NO_TURN
    joint: Joint = Joint()
    mass: float = 0.0
    center: Vector = ORIGIN
    inertia: tuple[float, float, float, float, float, float] = (0.0,) * 6
    shapes: tuple[Shape, ...] = ()


class Drive(_Part, frozen=True, kw_only=True):
    """What moves one degree of freedom towards a target, or pushes it.

    With the control u: ``force``: gear·u. ``position``: gear·(stiffness·(u - gear·q) -
    damping·gear·q̇). ``velocity``: gear·damping·(u - gear·q̇). First u is clipped to
    `control_limits`; what the gear multiplies last is clipped to `force_limits`.

    Attributes
    ----------
    joint
        Name of a prismatic or revolute joint of the same actor.
    gear
        Ratio from the joint to the drive; 1 where there is none.
    """

    name: str
    joint: str
    type: DriveType = "force"
    gear: float = 1.0
    stiffness: float = 0.0
    damping: float = 0.0
    force_limits: tuple[float, float] | None = None
    control_limits: tuple[float, float] | None = None


class Actor(_Part, frozen=True, kw_only=True):
    """One tree of links, parents before children, and its drives."""

    name: str
    links: tuple[Link, ...]
    drives: tuple[Drive, ...] = ()


class Contact(_Part, frozen=True, kw_only=True):
    """The law of contact, one for the whole model (`isoscope.gpu.contact.law`).

    The defaults suit bodies of 0.1 to 10 kg: 1 kg rests 0.5 mm deep, what arrives at
    0.3 m/s leaves with 70 % of it, bouncing at rest fades by 1/e in 0.1 s, and what
    sticks under half of the friction it could have creeps at 6 mm/s. A smaller slip
    speed needs smaller steps, unless they are implicit.

    Attributes
    ----------
    stiffness
        Normal force per depth, of a pair of shapes however many points touch [N/m].
    damping
        Of the approaching speed, per depth (Hunt and Crossley) [s/m].
    slip_speed_m_s
        Below it friction is viscous instead of Coulomb's [m/s].
    """

    stiffness: float = 2e4
    damping: float = 2.0
    slip_speed_m_s: float = 1e-2


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that a scene is made of; the form ``isoscope.model/1``."""

    name: str
    actors: tuple[Actor, ...]
    schema: Literal["isoscope.model/1"] = SCHEMA
    gravity: Vector = (0.0, 0.0, -9.81)
    shapes: tuple[Shape, ...] = ()
    contact: Contact = Contact()
