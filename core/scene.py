"""The Scene protocol: what environments need of a physics scene, whoever simulates it.

A scene holds W *worlds* of the same model: one where environments share it in turn or
have it for themselves, N where a whole batch lives on the device. All arrays lead with
the worlds. They are arrays of the scene's own kind (NumPy's, torch's): use `xp`, their
array namespace, for functions, and `to_host` / `to_device` to cross over, since every
crossing is told to the ledger of copies with its cause. NumPy arrays are taken wherever
an array is given; they cross over and are counted like any other.

A step runs in this order: pre-step callbacks, dynamics, post-step callbacks, recorders.
Callbacks may read and set the state and the configuration, and take callbacks off; they
may not step. Where one raises, its exception reaches whoever called `step`, and nothing
is half done: if it was before the dynamics, no world was stepped; if it was after them,
all were, and recorders were called, so that no native step is missing in a recording.

A snapshot covers positions, velocities, integration history, current and previous
controller targets, external forces, the scene's time and whether the state is valid; of
every world. It covers nothing persistent: gravity, masses, inertia, friction, limits,
solver parameters, topology.

A world whose step did not converge or is not finite is *invalid*: its state stays as
that step left it, to be looked at, and later steps pass it by, until a valid snapshot
is restored or the state of all its actors is set.

A scene belongs to the thread that steps it first; others are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

# An array of the scene's kind; NumPy's arrays and torch's tensors share what is needed.
Array: TypeAlias = Any
# Boolean [W]: which worlds are meant; None means all.
Worlds: TypeAlias = "Array | None"
Callback: TypeAlias = "Callable[[Scene, float], None]"
Precision: TypeAlias = Literal["float32", "float64"]


@dataclass(frozen=True, slots=True)
class SceneActor:
    """What there is to know about an actor without reading its state.

    Attributes
    ----------
    links
        Names of its links, ``Actor/Link``; a rigid body has one, of its own name.
    dofs
        Names of its degrees of freedom, in the order of `Scene.velocities`.
    dof_units
        ``"m"`` or ``"rad"`` for each of them; a velocity's unit is that per second.
    drives
        Names of its drives, in the order of `Scene.set_targets`.
    """

    index: int
    name: str
    type: Literal["Rigid", "Articulated"]
    static: bool
    links: tuple[str, ...]
    dofs: tuple[str, ...]
    dof_units: tuple[str, ...]
    drives: tuple[str, ...]
    position_size: int
    velocity_size: int


@dataclass(frozen=True, slots=True)
class SceneRow:
    """What a recording has a line of: an actor, an articulation's link, or a shape.

    Attributes
    ----------
    index
        What `Scene.read` is asked with. Actors come first, under their own number; then
        the links of articulations, ``Actor/Link``; then the shapes of the world.
    actor, link, shape
        Numbers of what it stands for: an articulation has no link, a shape of the world
        neither actor nor link.
    fields
        Names of what can be read.
    """

    index: int
    name: str
    type: Literal["Rigid", "Articulated"]
    static: bool
    actor: int | None
    link: int | None
    shape: int | None
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """What a row looks like, in its own frame (translation and rotation of the row).

    Attributes
    ----------
    vertices
        float32 [n, 3], m.
    faces
        int32 [f, 3]: numbers of vertices, counter-clockwise seen from outside.
    """

    vertices: np.ndarray[Any, Any]
    faces: np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class StepReport:
    """How one native step went; arrays of the scene's kind, [W].

    Attributes
    ----------
    status
        int8: 0 converged, 1 stopped at the cap, 2 diverged or not finite; -1 where a
        world was not stepped, left out or invalid. Explicit steps converge.
    iterations
        int32: of the linear solver, over all Newton iterations of the step.
    residual
        Final relative residual; NaN where there was no step.
    valid
        bool: whether the world's state may be used, when the dynamics were done.
    """

    h_s: float
    status: Array
    iterations: Array
    residual: Array
    valid: Array


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """What n samples of W worlds tell, on the host.

    Attributes
    ----------
    values
        [n, W, width] in the scene's precision: the fields end to end, each as
        `Scene.read` gives it.
    time_s
        float64 [n, W].
    states
        Of each sample what `Scene.state_to_bytes` gives; None unless all worlds were
        asked for, in their order.
    """

    values: np.ndarray[Any, Any]
    time_s: np.ndarray[Any, np.dtype[np.float64]]
    states: list[bytes] | None


class Sampler(Protocol):
    """Reads the same fields of the same worlds again and again."""

    def take(self) -> Any:
        """Keep the scene's state as it is now, without waiting for the device.

        What is kept has `size_bytes`, and is good after the scene was closed.
        """
        ...

    def read(self, samples: Sequence[Any]) -> Sampled:
        """Read what was taken, all of it in a few copies; at least one sample.

        May be called in any thread, while others step the scene.
        """
        ...


@runtime_checkable
class Scene(Protocol):
    """One physics scene of W worlds."""

    @property
    def name(self) -> str:
        """What to call it in messages."""
        ...

    @property
    def worlds(self) -> int:
        """W."""
        ...

    @property
    def precision(self) -> Precision:
        """Of positions and velocities."""
        ...

    @property
    def engine(self) -> str:
        """Engine, its version and build, as snapshots carry it."""
        ...

    @property
    def xp(self) -> Any:
        """The array namespace of its arrays."""
        ...

    @property
    def actors(self) -> tuple[SceneActor, ...]:
        """The actors, in the order of the topology."""
        ...

    @property
    def rows(self) -> tuple[SceneRow, ...]:
        """What can be read, in the order of recordings."""
        ...

    @property
    def time_s(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """float64 [W]: the scene's own clock, which a restore rewinds; on the host."""
        ...

    @property
    def valid(self) -> Array:
        """Whether each world's state may be used, bool [W]."""
        ...

    @property
    def last_report(self) -> StepReport | None:
        """How the last native step went, for callbacks and recorders; None before."""
        ...

    # -- state, worlds first: views that the next step changes ----------------------

    def positions(self, actor: int) -> Array:
        """[W, position_size]: joint positions; quaternions x y z w."""
        ...

    def velocities(self, actor: int) -> Array:
        """[W, velocity_size]."""
        ...

    def set_state(
        self, actor: int, positions: Array, velocities: Array, worlds: Worlds = None
    ) -> None:
        """Overwrite an actor's state; both [W, size].

        A world becomes valid where all its moving actors were set to finite values
        since it became invalid, and invalid where values are not finite.
        """
        ...

    # -- control input, kept until it is changed ------------------------------------

    def set_dof_forces(self, actor: int, forces: Array, worlds: Worlds = None) -> None:
        """External forces on degrees of freedom [W, velocity_size], N or N·m."""
        ...

    def set_link_wrenches(
        self, actor: int, wrenches: Array, worlds: Worlds = None
    ) -> None:
        """Force and torque on each link's origin, world axes [W, links, 6]."""
        ...

    def set_targets(self, actor: int, targets: Array, worlds: Worlds = None) -> None:
        """Targets of its drives [W, drives]; a force drive's is scaled by its gear."""
        ...

    # -- stepping --------------------------------------------------------------------

    def step(self, h_s: float, worlds: Worlds = None) -> StepReport:
        """Advance by h, 0 or more; worlds left out or invalid keep state and time."""
        ...

    def on_pre_step(self, callback: Callback) -> Callable[[], None]:
        """Call ``callback(scene, h)`` before each step; returns what takes it off."""
        ...

    def on_post_step(self, callback: Callback) -> Callable[[], None]:
        """Call it after each step's dynamics, before recorders."""
        ...

    def on_recorded(self, callback: Callback) -> Callable[[], None]:
        """Call it last in each step: for recorders, which change nothing.

        All are called, also where a post-step callback or another recorder raised.
        """
        ...

    # -- snapshots -------------------------------------------------------------------

    def capture(self) -> int:
        """Capture the state of all worlds; a handle of this scene."""
        ...

    def restore(
        self, handle: int, release_immediately: bool = False, worlds: Worlds = None
    ) -> None:
        """Go back to a captured state, in all worlds or in some."""
        ...

    def release(self, handle: int) -> None:
        """Forget a captured state."""
        ...

    def is_equal(self, a: int, b: int) -> bool:
        """Whether two captured states are equal, bit for bit."""
        ...

    def state_to_bytes(self, handle: int) -> bytes:
        """A captured state, with a header of engine, layout and precision."""
        ...

    def state_from_bytes(self, data: bytes) -> int:
        """A handle from bytes; foreign, cut or over-long ones are refused untouched."""
        ...

    # -- what snapshots don't cover ----------------------------------------------------

    def persistent_configuration(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """Name to values: uniform ones without, per-world ones with a leading [W]."""
        ...

    def configuration_fingerprint(self) -> str:
        """Hexadecimal SHA-256 of names and values."""
        ...

    def configure(self, name: str, value: Array, worlds: Worlds = None) -> None:
        """Change a persistent value, for all environments that share the scene."""
        ...

    # -- crossing over -----------------------------------------------------------------

    def read(
        self, row: int, field: str, worlds: Sequence[int] | None = None
    ) -> np.ndarray[Any, Any]:
        """A recorded field of a row as an owned array [W, …] on the host.

        Where numbers of worlds are given, only these cross over, in that order;
        contacts are read of all.

        Fields and meanings as in recordings (`isoscope.core.recording.schema`). Bodies
        and links: translation, rotation, translationCom, rotationCom, omega, and vcom,
        the mean velocity of the centre of mass over the last step: ``translationCom -
        h·vcom`` is where that step began. Articulations: the root's translation and
        rotation, pose [W, position_size], vcom and omega [W, links, 3], targetPose
        [W, dofs] (NaN where no drive has a position as its target). What touches:
        contacts_… [W, P, …] for P candidate points, of which those count where
        contacts_active is true; the row is A, contacts_actorB is the other's row.
        """
        ...

    def sampler(
        self,
        fields: Sequence[tuple[int, str]],
        worlds: Sequence[int] | None = None,
        cause: str = "read",
    ) -> Sampler:
        """What reads these fields of rows together; contacts can't be among them.

        Parameters
        ----------
        worlds
            Numbers of those that are to cross over; None for all.
        cause
            Of all its copies.
        """
        ...

    def surface(self, row: int) -> Surface | None:
        """What a row looks like; None where nothing of it can be seen.

        A plane is infinite; a square of it is given. An articulation is seen by its
        links' rows.
        """
        ...

    def to_host(self, array: Array, cause: str) -> np.ndarray[Any, Any]:
        """An owned NumPy copy."""
        ...

    def to_device(self, array: np.ndarray[Any, Any], cause: str) -> Array:
        """An array of the scene's kind and device."""
        ...

    def close(self) -> None:
        """Let go of everything; may be called twice."""
        ...
