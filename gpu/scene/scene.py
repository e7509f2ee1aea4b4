"""One physics scene of W worlds, simulated on one device."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from array_api_compat import torch as torch_namespace

from isoscope.core.scene import StepReport
from isoscope.core.version import isoscope_version
from isoscope.gpu.device import precision_name, resolve_device, resolve_dtype
from isoscope.gpu.model.parameters import Parameters
from isoscope.gpu.scene import snapshot_bytes
from isoscope.gpu.scene.actors import (
    drive_range,
    row_surface,
    scene_actors,
    scene_rows,
)
from isoscope.gpu.scene.arrays import Intake, merge
from isoscope.gpu.scene.callbacks import Callbacks
from isoscope.gpu.scene.columns import Columns
from isoscope.gpu.scene.configuration import CAUSE as CONFIGURATION
from isoscope.gpu.scene.errors import SceneError
from isoscope.gpu.scene.guard import Guard
from isoscope.gpu.scene.persistent import Persistent
from isoscope.gpu.scene.reading import Reader
from isoscope.gpu.scene.sampling import SceneSampler
from isoscope.gpu.scene.snapshot import Snapshots
from isoscope.gpu.scene.state import Layout, StateBlock
from isoscope.gpu.scene.stepping import Stepper
from isoscope.gpu.transfer import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoscope.core.scene import (
        Array,
        Callback,
        Precision,
        SceneActor,
        SceneRow,
        Surface,
        Worlds,
    )
    from isoscope.gpu.model.tree import Tree, TreeActor
    from isoscope.gpu.scene.machine import Machine, MachineMaker, Setting

    Host = np.ndarray[Any, np.dtype[Any]]


class SimulatedScene:
    """W worlds of one model; see `isoscope.core.scene` for what its methods promise.

    Views that `positions` and `velocities` give stay views of the present state: steps
    and restores change what they show.

    Parameters
    ----------
    tree
        The compiled model; the scene begins in its start, at rest.
    make_machine
        Makes what computes the steps (`gpu.scene.make` has those that ship).
    settings
        The integrator's, by name, beginning with ``"integrator"``; they are part of the
        persistent configuration.
    ledger
        Where copies are booked; None: one of the scene's own.
    block_worlds
        How many worlds are computed at a time; None: as suits the device. No bit of a
        result depends on it.
    """

    def __init__(
        self,
        name: str,
        tree: Tree,
        make_machine: MachineMaker,
        *,
        worlds: int = 1,
        device: str | torch.device = "auto",
        precision: Precision = "float32",
        settings: Mapping[str, Setting] | None = None,
        ledger: Ledger | None = None,
        block_worlds: int | None = None,
    ) -> None:
        if worlds < 1:
            raise SceneError(f"making scene {name}: {worlds} worlds; give 1 or more")
        self.name = name
        self.tree = tree
        self.device = resolve_device(device)
        self.ledger = ledger if ledger is not None else Ledger()
        self.engine = f"isoscope {isoscope_version()} (torch {torch.__version__})"
        self.last_report: StepReport | None = None
        real = resolve_dtype(precision)
        self._real = real
        parameters = Parameters.from_tree(
            tree, dtype=real, device=self.device, worlds=worlds
        )
        self._persistent = Persistent(
            tree, parameters, make_machine, settings or {}, self.ledger
        )
        self._layout = Layout.of(tree, worlds, real)
        self._state = StateBlock.at_start(tree, self._layout, self.device)
        self._draft = StateBlock.zeros(self._layout, self.device)
        self._header = snapshot_bytes.header_of(tree, self._layout, real, self.engine)
        self._stepper = Stepper(self.device, block_worlds)
        self._guard = Guard(name)
        self._intake = Intake(name, worlds, self.device, self.ledger)
        self._snapshots = Snapshots(name, self._layout, self.ledger)
        self._pre, self._post, self._recorders = Callbacks(), Callbacks(), Callbacks()
        self.actors: tuple[SceneActor, ...] = scene_actors(tree)
        self.rows: tuple[SceneRow, ...] = scene_rows(tree, self.machine.touching)
        self._reader = Reader(tree, self.rows, self.ledger)

    # -- what it is ----------------------------------------------------------------

    @property
    def worlds(self) -> int:
        """W."""
        return self._layout.worlds

    @property
    def precision(self) -> Precision:
        """Of positions and velocities."""
        return "float64" if precision_name(self._real) == "float64" else "float32"

    @property
    def xp(self) -> Any:
        """Torch's functions under the names of the Python array API standard."""
        return torch_namespace

    @property
    def parameters(self) -> Parameters:
        """The persistent numbers as the dynamics use them; never written to."""
        return self._persistent.parameters

    @property
    def machine(self) -> Machine:
        """What computes the steps, for whoever needs more than stepping."""
        return self._persistent.machine

    @property
    def time_s(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """float64 [W] on the host: the scene's own clock, which a restore rewinds."""
        self._guard.enter("reading the time")
        return self.ledger.to_host(self._state.time, "time").astype(np.float64)

    @property
    def valid(self) -> Array:
        """Whether each world's state may be used, bool [W]."""
        self._guard.enter("reading the validity")
        return self._state.usable()

    # -- state ---------------------------------------------------------------------

    def positions(self, actor: int) -> Array:
        """[W, position_size]: a view of the joint positions."""
        self._guard.enter("reading positions")
        return self._state.q[slice(*self._actor(actor).positions)].T

    def velocities(self, actor: int) -> Array:
        """[W, velocity_size]: a view."""
        self._guard.enter("reading velocities")
        return self._state.v[slice(*self._actor(actor).velocities)].T

    def set_state(
        self, actor: int, positions: Array, velocities: Array, worlds: Worlds = None
    ) -> None:
        """Overwrite an actor's state; both [W, size]."""
        doing = "setting the state"
        self._guard.enter(doing)
        its = self._actor(actor)
        q, v = slice(*its.positions), slice(*its.velocities)
        mask = self._intake.mask(worlds, doing)
        new_q = self._intake.values(
            positions, (q.stop - q.start,), "setting positions", "state"
        )
        new_v = self._intake.values(
            velocities, (v.stop - v.start,), "setting velocities", "state"
        )
        if actor not in self._layout.moving:
            return
        draft, end = self._draft, self._layout.step_bytes
        draft.storage[:end].copy_(self._state.storage[:end])
        merge(draft.q[q], new_q, mask)
        merge(draft.v[v], new_v, mask)
        row = self._layout.moving.index(actor)
        merge(draft.doubtful[row], ~draft.finite(q, v), mask)
        self._commit(end)

    # -- control input ---------------------------------------------------------------

    def set_dof_forces(self, actor: int, forces: Array, worlds: Worlds = None) -> None:
        """External forces on degrees of freedom [W, velocity_size], N or N·m."""
        v = slice(*self._actor(actor).velocities)
        self._set(self._state.dof_forces[v], forces, worlds, "setting forces")
        self._stepper.pushed = True

    def set_link_wrenches(
        self, actor: int, wrenches: Array, worlds: Worlds = None
    ) -> None:
        """Force and torque on each link's origin, world axes [W, links, 6]."""
        links = slice(*self._actor(actor).links)
        self._set(self._state.wrenches[links], wrenches, worlds, "setting wrenches")
        self._stepper.wrenched = True

    def set_targets(self, actor: int, targets: Array, worlds: Worlds = None) -> None:
        """Targets of its drives [W, drives]."""
        drives = drive_range(self.tree, self._actor(actor))
        self._set(self._state.targets[drives], targets, worlds, "setting targets")

    # -- stepping --------------------------------------------------------------------

    def step(self, h_s: float, worlds: Worlds = None) -> StepReport:
        """Advance by h; worlds left out or invalid keep state and time.

        Raises
        ------
        SceneError
            For an h that is negative or not finite, or a step within a step.
        """
        if not (math.isfinite(h_s) and h_s >= 0):
            raise SceneError(
                f"stepping scene {self.name} by {h_s} s; give 0 or more, and finite"
            )
        h = float(h_s)
        with self._guard.stepping(), self.ledger.step():
            mask = self._intake.mask(worlds, "stepping")
            self._pre.call(self, h)
            report = self._dynamics(h, mask)
            try:
                self._post.call(self, h)
            except BaseException as error:
                try:
                    self._recorders.call_each(self, h)
                except Exception as another:  # noqa: BLE001 - told beside the first
                    error.add_note(f"then a recorder failed too: {another!r}")
                raise
            self._recorders.call_each(self, h)
        return report

    def on_pre_step(self, callback: Callback) -> Callable[[], None]:
        """Call ``callback(scene, h)`` before each step; returns what takes it off."""
        self._guard.enter("adding a callback")
        return self._pre.add(callback)

    def on_post_step(self, callback: Callback) -> Callable[[], None]:
        """Call it after each step's dynamics, before recorders."""
        self._guard.enter("adding a callback")
        return self._post.add(callback)

    def on_recorded(self, callback: Callback) -> Callable[[], None]:
        """Call it last in each step: for recorders, which change nothing."""
        self._guard.enter("adding a recorder")
        return self._recorders.add(callback)

    # -- snapshots -------------------------------------------------------------------

    def capture(self) -> int:
        """Capture the state of all worlds; a handle of this scene."""
        self._guard.enter("capturing the state")
        return self._snapshots.capture(self._state.storage)

    def restore(
        self, handle: int, release_immediately: bool = False, worlds: Worlds = None
    ) -> None:
        """Go back to a captured state, in all worlds or in some."""
        doing = "restoring a snapshot"
        self._guard.enter(doing)
        kept = self._snapshots.bytes_of(handle, doing)
        mask = self._intake.mask(worlds, doing)
        if mask is None:
            self.ledger.copy(self._state.storage, kept, "restore")
            self._reader.changed()
        else:
            captured = StateBlock(self._layout, kept)
            blocks = (self._draft, self._state, captured)
            with self.ledger.copying("d2d", len(kept), "restore"):
                for target, old, new in zip(
                    *(block.arrays() for block in blocks), strict=True
                ):
                    torch.where(mask, new, old, out=target)
                self._commit(len(kept))
        if release_immediately:
            self._snapshots.release(handle)

    def release(self, handle: int) -> None:
        """Forget a captured state."""
        self._guard.enter("releasing a snapshot")
        self._snapshots.release(handle)

    def is_equal(self, a: int, b: int) -> bool:
        """Whether two captured states are equal, bit for bit."""
        self._guard.enter("comparing snapshots")
        return self._snapshots.is_equal(a, b)

    def state_to_bytes(self, handle: int) -> bytes:
        """A captured state, with a header of engine, layout and precision."""
        doing = "writing a snapshot"
        self._guard.enter(doing)
        kept = self._snapshots.bytes_of(handle, doing)
        state = self.ledger.to_host(kept, "snapshot bytes")
        return snapshot_bytes.encode(self._header, state.tobytes())

    def state_from_bytes(self, data: bytes) -> int:
        """A handle from bytes; foreign, cut or over-long ones are refused untouched."""
        self._guard.enter("reading a snapshot")
        state = snapshot_bytes.decode(data, self._header, self._layout, self.name)
        block = StateBlock(self._layout, torch.from_numpy(state))
        # Only what is set is computed with, so what comes with the bytes must be known.
        self._stepper.pushed |= bool(block.dof_forces.any())
        self._stepper.wrenched |= bool(block.wrenches.any())
        return self._snapshots.adopt(
            self.ledger.to_device(state, self.device, None, "snapshot bytes")
        )

    # -- what snapshots don't cover ----------------------------------------------------

    def persistent_configuration(self) -> Mapping[str, Host]:
        """Name to values: uniform ones without, per-world ones with a leading [W]."""
        self._guard.enter("reading the configuration")
        return self._persistent.described()

    def configuration_fingerprint(self) -> str:
        """Hexadecimal SHA-256 of names and values."""
        self._guard.enter("reading the configuration")
        return self._persistent.fingerprint()

    def configure(self, name: str, value: Array, worlds: Worlds = None) -> None:
        """Change a persistent value, for all environments that share the scene.

        Raises
        ------
        ConfigurationError
            For an unknown name or a value that makes no sense; nothing was changed.
        """
        doing = f"setting {name}"
        self._guard.enter(doing)
        mask = self._intake.mask(worlds, doing)
        chosen = None if mask is None else self.ledger.to_host(mask, CONFIGURATION)
        self._persistent.configure(name, self.to_host(value, CONFIGURATION), chosen)
        self._reader.changed()

    # -- crossing over -----------------------------------------------------------------

    def read(self, row: int, field: str, worlds: Sequence[int] | None = None) -> Host:
        """A recorded field of a row as an owned array [W, …] on the host.

        Only some worlds cross over where their numbers are given.
        """
        self._guard.enter(f"reading {field}")
        chosen = None
        if worlds is not None:
            self._check_worlds(worlds, f"reading {field}")
            chosen = torch.as_tensor(worlds, dtype=torch.int64, device=self.device)
        with torch.no_grad():
            return self._reader.read(
                row, field, self.machine, self._state, self.parameters, chosen
            )

    def sampler(
        self,
        fields: Sequence[tuple[int, str]],
        worlds: Sequence[int] | None = None,
        cause: str = "read",
    ) -> SceneSampler:
        """What reads these fields together, of all worlds or of some.

        Raises
        ------
        SceneError
            For a row, a field or a world that there is not, and for contacts.
        """
        self._guard.enter("sampling")
        if worlds is not None:
            self._check_worlds(worlds, "sampling")
        found = [(self._reader.row_with(row, field), field) for row, field in fields]
        return SceneSampler(
            *(self.tree, Columns(self.tree, found), worlds, self._header),
            lambda: (self.machine, self._state, self.parameters),
            *(self.ledger, cause),
        )

    def surface(self, row: int) -> Surface | None:
        """What a row looks like; None where nothing of it can be seen."""
        return row_surface(self.tree, self._reader.row(row, "the surface"))

    def to_host(self, array: Array, cause: str) -> Host:
        """An owned NumPy copy."""
        if isinstance(array, torch.Tensor):
            return self.ledger.to_host(array, cause)
        return np.array(array)

    def to_device(self, array: np.ndarray[Any, Any], cause: str) -> Array:
        """A tensor on the scene's device that shares nothing with the array."""
        return self.ledger.to_device(array, self.device, None, cause)

    def close(self) -> None:
        """Let go of everything; may be called twice.

        Raises
        ------
        SceneError
            During a step.
        """
        if self._guard.close():
            for callbacks in (self._pre, self._post, self._recorders):
                callbacks.clear()
            self._snapshots.clear()
            self._reader.changed()

    # -- inside ------------------------------------------------------------------------

    def _dynamics(self, h_s: float, mask: torch.Tensor | None) -> StepReport:
        with torch.no_grad():
            stepped = self._stepper.advance(
                self.machine, self._state, self._draft, h_s, self.parameters, mask
            )
            self._commit(self._layout.step_bytes)
        self.last_report = StepReport(
            h_s=h_s,
            status=stepped.status,
            iterations=stepped.iterations,
            residual=stepped.residual,
            valid=self._state.usable(),
        )
        return self.last_report

    def _commit(self, length: int) -> None:
        """Make the draft's first bytes the state's, by one copy.

        It is how results are written, within the device: no copy for the ledger.
        """
        self._state.storage[:length].copy_(self._draft.storage[:length])
        self._reader.changed()

    def _set(
        self, target: torch.Tensor, array: Array, worlds: Worlds, doing: str
    ) -> None:
        self._guard.enter(doing)
        values = self._intake.values(array, tuple(target.shape[:-1]), doing, "control")
        merge(target, values, self._intake.mask(worlds, doing))

    def _check_worlds(self, worlds: Sequence[int], doing: str) -> None:
        # on CUDA a number that is none would end the process's use of the device
        if any(not 0 <= world < self.worlds for world in worlds):
            raise SceneError(
                f"{doing} in scene {self.name}: worlds {list(worlds)}; "
                f"they are 0 to {self.worlds - 1}"
            )

    def _actor(self, number: int) -> TreeActor:
        if not 0 <= number < len(self.tree.actors):
            raise SceneError(
                f"scene {self.name} has no actor {number}; they are 0 to "
                f"{len(self.tree.actors) - 1}"
            )
        return self.tree.actors[number]
