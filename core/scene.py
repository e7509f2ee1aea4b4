"""The Scene protocol: what environments need of a physics scene, whoever simulates it.

A scene holds W *worlds* of the same model: one where environments share it in turn or have
it for themselves, N where a whole batch lives on the device. All arrays lead with the
worlds. They are arrays of the scene's own kind (NumPy's, torch's): use `xp`, their array
namespace, for functions, and `to_host` / `to_device` to cross over, since every crossing is
told to the ledger of copies with its cause.

A step runs, in this order: pre-step callbacks, dynamics, post-step callbacks, recorders.

A snapshot covers positions, velocities, integration history, current and previous
controller targets, external forces and the scene's time; of every world. It covers nothing
persistent: gravity, masses, inertia, friction, limits, solver parameters, topology.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
        Unit of each position: ``"m"`` or ``"rad"``; a velocity's is that per second.
    """

    index: int
    name: str
    type: Literal["Rigid", "Articulated"]
    static: bool
    links: tuple[str, ...]
    dofs: tuple[str, ...]
    dof_units: tuple[str, ...]
    position_size: int
    velocity_size: int


@dataclass(frozen=True, slots=True)
class StepReport:
    """How one native step went; arrays of the scene's kind, [W].

    Attributes
    ----------
    status
        int8: 0 converged, 1 stopped at the cap, 2 diverged; explicit steps converge.
    iterations
        int32: of the linear solver, over all Newton iterations of the step.
    residual
        Final relative residual.
    valid
        bool: whether the world's state may be used. A world that did not converge or is
        not finite is invalid from then on, until a snapshot that is valid is restored.
    """

    h_s: float
    status: Array
    iterations: Array
    residual: Array
    valid: Array


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
    def time_s(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """float64 [W]: the scene's own clock, which a restore rewinds; on the host."""
        ...

    @property
    def valid(self) -> Array:
        """bool [W]: whether each world's state may be used."""
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
        """Overwrite an actor's state; both [W, size]."""
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
        """Targets of its drives [W, drives]."""
        ...

    # -- stepping --------------------------------------------------------------------

    def step(self, h_s: float, worlds: Worlds = None) -> StepReport:
        """Advance by h; worlds left out keep state and time."""
        ...

    def on_pre_step(self, callback: Callback) -> Callable[[], None]:
        """Call ``callback(scene, h)`` before each step; returns what takes it off."""
        ...

    def on_post_step(self, callback: Callback) -> Callable[[], None]:
        """Call it after each step's dynamics, before recorders."""
        ...

    def on_recorded(self, callback: Callback) -> Callable[[], None]:
        """Call it last in each step: for recorders, which change nothing."""
        ...

    # -- snapshots -------------------------------------------------------------------

    def capture(self) -> int:
        """Capture the state of all worlds; a handle of this scene."""
        ...

    def restore(
        self, handle: int, release_immediately: bool = False, worlds: Worlds = None
    ) -> None:
        """Go back to a captured state."""
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

    def read(self, actor: int, field: str) -> np.ndarray[Any, Any]:
        """A recorded field of an actor as an owned array [W, …] on the host.

        Fields and meanings as in recordings: translation, rotation, translationCom,
        rotationCom, vcom (the step's mean velocity), omega; pose; see
        `isoscope.core.recording.schema`.
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
