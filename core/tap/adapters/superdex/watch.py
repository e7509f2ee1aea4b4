"""Watches one native scene: makes a row of every native step, whoever takes it.

Runs inside every native step of the user's program, so it reads the state once, packs
it once, and makes no object that it can keep.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from threading import get_ident
from time import time_ns
from typing import TYPE_CHECKING, Any, Protocol

from isoscope.core.errors import one_line
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.records import DIGEST_BYTES
from isoscope.core.recording.model import StepKind
from isoscope.core.tap.adapters.superdex.actors import Actors
from isoscope.core.tap.adapters.superdex.configuration import Configuration, digest

if TYPE_CHECKING:
    from isoscope.core.tap.session import TapSession

DIVERGED = "DIVERGED"
# As plain numbers: an enumeration's members take longer to pack.
SUBSTEP, RESET, FREE, ZERO = (
    *(int(StepKind.SUBSTEP), int(StepKind.RESET)),
    *(int(StepKind.FREE), int(StepKind.ZERO)),
)
COVERS = (
    "transforms",
    "poses",
    "velocities",
    "integration history",
    "controller and constraint targets",
    "external forces",
    "scene time",
)
MOST_HANDLES = 1 << 16


class Owner(Protocol):
    """An environment that is in its reset or step right now."""

    number: int
    episode: int
    control_step: int
    substep: int
    first_row: int
    last_row: int


class SceneWatch:
    """Watches one scene for a session.

    Parameters
    ----------
    scene
        The native scene.
    physics
        The engine's module.
    number
        The scene's number in the recording.
    engine
        What can restore its snapshots.

    Attributes
    ----------
    owner
        Whose reset or step is going on; None between them.
    bad
        Whether the last step diverged.
    """

    def __init__(
        self,
        scene: Any,
        physics: Any,
        session: TapSession,
        number: int,
        engine: dict[str, Any],
    ) -> None:
        self.scene = scene
        self.session = session
        self.number = number
        self.owner: Owner | None = None
        self.bad = False
        self.last_row = -1
        self.digest = b""
        self._recorder = session.recorder
        self._engine = engine
        self._actors = Actors(session.recorder, scene, number, physics)
        self._configuration = Configuration(scene, physics)
        self._values: dict[str, Any] = {}
        self._dirty = True
        self._new_topology = True
        self._who = -1
        self._handles: dict[int, int] = {}
        self._initial: set[int] = set()
        self._bytes = physics.DynamicArrayUint8()
        self._capture = physics.Scene.capture_state_to_bytes
        self._clear = self._bytes.clear
        # One of each, since every record is packed before the next is filled in.
        pid = os.getpid()
        self._step = r.NativeStep(scene=number, process=pid)
        self._event = r.SceneEvent("", scene=number, process=pid)
        self._stats = scene.get_solver_stats
        self._time = scene.get_total_simulation_time
        self._statuses = {s: int(s.value) for s in physics.ConvergenceStatus}
        self._diverged = int(physics.ConvergenceStatus.DIVERGED.value)
        self._look()

    def listen(self) -> None:
        """Hear of steps from the scene itself, where its class can't be wrapped."""
        self.scene.register_pre_step_callback("isoscope", lambda info: self.begins())
        self.scene.register_post_step_callback(
            "isoscope", lambda info: self.stepped(float(info.time_step_sec))
        )

    # -- steps -------------------------------------------------------------------------

    def begins(self) -> None:
        """Be told that a native step begins."""
        if not self._dirty or not self.session.on:
            return
        with self.session.guard:
            self._look()

    def stepped(self, h_s: float) -> None:
        """Be told that a native step has ended well."""
        if not self.session.on:
            return
        try:
            self._record(h_s)
        except Exception:
            with self.session.guard:
                raise

    def _record(self, h_s: float) -> None:
        step, owner = self._step, self.owner
        if owner is None:
            step.env = step.episode = step.control_step = step.substep = -1
            step.kind = FREE
        else:
            step.env, step.episode = owner.number, owner.episode
            step.control_step = owner.control_step
            step.substep = owner.substep
            owner.substep += 1
            step.kind = SUBSTEP if owner.control_step else RESET
        if h_s == 0:
            step.kind = ZERO
        step.h_s = h_s
        step.scene_time_s = self._time()
        step.wall_ns = time_ns()
        step.thread = get_ident()
        stats = self._stats()
        step.solver_status = status = self._statuses[stats.convergence_status]
        step.solver_iterations = stats.max_non_linear_iters
        step.solver_residual = stats.residual_norm
        step.digest_before = self.digest
        self.digest = step.digest_after = self._taken()
        frames = self._readers.read()
        row = self._recorder.native(step, *frames)
        step.restored_from = -1
        self.bad = status == self._diverged
        if row < 0:
            return
        self.last_row = row
        if owner is not None:
            if owner.first_row < 0:
                owner.first_row = row
            owner.last_row = row

    def failed(self, doing: str, error: BaseException) -> None:
        """Be told that something raised."""
        with self.session.guard:
            told = f"{type(error).__name__}: {one_line(error)}"
            kind = "exception" if doing == "step" else doing
            self._tell(kind, ok=0, detail={"doing": doing, "problem": told})
            self._recorder.failure(
                r.Failure(
                    *(doing, told, self._recorder.rows, self._env, self.number),
                    *(time_ns(), get_ident()),
                )
            )
            if doing == "restore":  # it may have changed some of the scene
                self.digest = self._taken()

    # -- snapshots ---------------------------------------------------------------------

    def restored(self, handle: Any) -> None:
        """Be told that a state was restored."""
        with self.session.guard:
            value = getattr(handle, "value", -1)
            snapshot = self._handles.get(value, -1)
            self.digest = self._taken()
            if value in self._initial:
                self._initial.discard(value)
                snapshot = self.snapshot("initial", value)
            self._step.restored_from = snapshot
            self._tell("restore", snapshot=snapshot)

    def captured(self, handle: Any) -> None:
        """Be told that a state was captured under a handle."""
        with self.session.guard:
            self._tell("capture")

    def released(self, handle: Any) -> None:
        """Be told that a handle was released."""
        with self.session.guard:
            self._handles.pop(getattr(handle, "value", -1), None)
            self._tell("release")

    def starts_from(self, handle: Any) -> None:
        """Be told of the state that resets begin from; kept when next restored."""
        value = getattr(handle, "value", None)
        if value is not None and value not in self._handles:
            self._initial.add(value)

    def snapshot(self, why: str, handle: int = -1) -> int:
        """Record the state as it was last taken; returns its id, -1 if refused.

        Parameters
        ----------
        handle
            Value of the handle that stands for the same state, if one does.
        """
        owner = self.owner
        data = bytes(memoryview(self._bytes))
        if not data:
            return -1
        number = self._recorder.snapshot(
            r.Snapshot(
                data,
                self._env,
                self.number,
                self.last_row,
                -1 if owner is None else owner.episode,
                -1 if owner is None else owner.control_step,
                wall_ns=time_ns(),
                why=why,
                digest=self.digest,
                engine=self._engine,
                covers=COVERS,
                header=self._header,
            )
        )
        if handle >= 0 and number >= 0:
            if len(self._handles) >= MOST_HANDLES:
                self._handles.clear()
            self._handles[handle] = number
        return number

    # -- configuration -----------------------------------------------------------------

    def changes(self) -> None:
        """Be told that somebody is about to change the configuration."""
        if self._dirty and self._who != self._env:
            with self.session.guard:
                self._look()

    def changed(self, *, topology: bool) -> None:
        """Be told that it was changed."""
        self._dirty = True
        self._who = self._env
        self._new_topology |= topology

    def look_again(self) -> None:
        """Read the configuration before the next step, whoever may have changed it."""
        if not self._dirty:
            self._dirty, self._who = True, -1

    def _look(self) -> None:
        """Read the configuration and the topology, and tell what has changed."""
        self._dirty = False
        if self._new_topology:
            self._new_topology = False
            self._readers = self._actors.refresh()
            names = [(a.actor.get_name(), a.kind) for a in self._actors.known.values()]
            self._header = {"topology": digest({"actors": names}).hex()}
        if not self.digest:
            self.digest = self._taken()
        values = self._configuration.read(self._actors.known.values())
        if values == self._values:
            return
        step, row = self._step, self._recorder.rows
        told = digest(values)
        before, self._values = self._values, values
        step.configuration_digest = told
        step.gravity_x, step.gravity_y, step.gravity_z = values["gravity"]
        changed = [k for k in {**before, **values} if before.get(k) != values.get(k)]
        for key in changed:
            self._recorder.change(
                r.ConfigurationChange(
                    key,
                    before.get(key),
                    values.get(key),
                    row,
                    self._who if before else -1,
                    self.number,
                    time_ns(),
                    get_ident(),
                    told,
                )
            )

    # -- helpers -----------------------------------------------------------------------

    @property
    def _env(self) -> int:
        return -1 if self.owner is None else self.owner.number

    def _taken(self) -> bytes:
        """Take the state as bytes; its digest."""
        self._clear()
        self._capture(self.scene, self._bytes)
        return blake2b(self._bytes, digest_size=DIGEST_BYTES).digest()

    def tell(self, kind: str) -> None:
        """Tell an event of the scene."""
        self._tell(kind)

    def _tell(
        self, kind: str, snapshot: int = -1, ok: int = 1, detail: Any = None
    ) -> None:
        event = self._event
        event.kind, event.snapshot, event.ok = kind, snapshot, ok
        event.row = self._recorder.rows
        event.env = self._env
        event.wall_ns = time_ns()
        event.thread = get_ident()
        event.detail = detail
        self._recorder.event(event)
