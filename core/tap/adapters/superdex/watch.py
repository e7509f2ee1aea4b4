"""Watches one native scene: makes a row of every native step, whoever takes it.

Runs inside every native step of the user's program, so it only reads and keeps: what
can wait is done where the rows are taken apart (`isoscope.core.tap.raw_natives`).
"""

from __future__ import annotations

import os
from threading import get_ident
from time import time_ns
from typing import TYPE_CHECKING, Any, Protocol

from isoscope.core.errors import one_line
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.model import StepKind
from isoscope.core.tap.adapters.superdex.actors import Actors, Readers
from isoscope.core.tap.adapters.superdex.configuration import Configuration, digest
from isoscope.core.tap.adapters.superdex.native_rows import (
    NativeRows,
    Settings,
    state_digest,
)

if TYPE_CHECKING:
    from isoscope.core.tap.session import TapSession

# As plain numbers: an enumeration's members take longer to pack.
SUBSTEP, RESET, FREE, ZERO = (
    *(int(StepKind.SUBSTEP), int(StepKind.RESET)),
    *(int(StepKind.FREE), int(StepKind.ZERO)),
)
_NOBODY = (-1, -1, -1, -1, FREE)
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
        self._restored_from = -1
        self._settings = Settings()
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
        self._pid = os.getpid()
        self._stats = scene.get_solver_stats
        self._time = scene.get_total_simulation_time
        self._statuses = {s: int(s.value) for s in physics.ConvergenceStatus}
        self._diverged = physics.ConvergenceStatus.DIVERGED
        self._status: Any = None
        self._status_number = -1
        self._rows = NativeRows(session.recorder.intake, Readers(), b"")
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
        except Exception as error:  # noqa: BLE001 the run goes on
            self.session.guard.failed(error)

    def _record(self, h_s: float) -> None:
        captured = self._bytes
        captured.clear()
        self._capture(self.scene, captured)
        stats = self._stats()
        status = stats.convergence_status
        if status is not self._status:
            self._status, self._status_number = status, self._statuses[status]
            self.bad = status == self._diverged
        owner = self.owner
        if owner is None:
            place: tuple[int, ...] = _NOBODY
        else:
            k = owner.control_step
            kind = SUBSTEP if k else RESET
            place = owner.number, owner.episode, k, owner.substep, kind
            owner.substep += 1
        if h_s == 0:
            place = *place[:4], ZERO
        restored_from, self._restored_from = self._restored_from, -1
        where = self.number, h_s, self._time(), time_ns(), self._pid, get_ident()
        row = self._rows.add(
            (*place, *where),
            (self._status_number, stats.max_non_linear_iters, stats.residual_norm),
            self._settings,
            restored_from,
            self._readers.take(),
            bytes(captured),
        )
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
                self._take()

    # -- snapshots ---------------------------------------------------------------------

    def restored(self, handle: Any) -> None:
        """Be told that a state was restored."""
        with self.session.guard:
            value = getattr(handle, "value", -1)
            snapshot = self._handles.get(value, -1)
            self._take()
            if value in self._initial:
                self._initial.discard(value)
                snapshot = self.snapshot("initial", value)
            self._restored_from = snapshot
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
        data = self._rows.state
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
                digest=state_digest(data),
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
            intake, state = self._recorder.intake, self._rows.state
            self._rows = NativeRows(intake, self._readers, state)
            names = [(a.actor.get_name(), a.kind) for a in self._actors.known.values()]
            self._header = {"topology": digest({"actors": names}).hex()}
        if not self._rows.state:
            self._take()
        values = self._configuration.read(self._actors.known.values())
        if values == self._values:
            return
        row = self._recorder.rows
        told = digest(values)
        before, self._values = self._values, values
        self._settings = Settings(tuple(values["gravity"]), told)
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

    def _take(self) -> None:
        """Take the state as bytes."""
        self._bytes.clear()
        self._capture(self.scene, self._bytes)
        self._rows.restored(bytes(self._bytes), self._env)

    def tell(self, kind: str) -> None:
        """Tell an event of the scene."""
        self._tell(kind)

    def _tell(
        self, kind: str, snapshot: int = -1, ok: int = 1, detail: Any = None
    ) -> None:
        env, row, thread = self._env, self._recorder.rows, get_ident()
        told = (kind, row, env, self.number, snapshot, ok, time_ns(), self._pid, thread)
        if detail is None:
            self._recorder.event_later((*told, None))
        else:
            self._recorder.event(r.SceneEvent(*told, detail))
