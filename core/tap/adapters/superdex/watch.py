"""Watches one native scene: makes a row of every native step, whoever takes it.

Runs inside every native step of the user's program, so it only reads and keeps, and
hands on what it has once a control step: what can wait is done where that is packed
(`native_rows`) and where rows are taken apart (`isoscope.core.tap.raw_natives`).
"""

from __future__ import annotations

import os
from functools import partial
from threading import get_ident
from time import time_ns
from typing import TYPE_CHECKING, Any, Protocol

from isoscope.core.errors import one_line
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.records import NAN
from isoscope.core.recording.model import StepKind
from isoscope.core.tap.adapters.superdex.actors import Actors
from isoscope.core.tap.adapters.superdex.configuration import Configuration, digest
from isoscope.core.tap.adapters.superdex.native_rows import NativeRows
from isoscope.core.tap.raw_natives import (
    CAPTURED,
    KNOWN,
    NO_LAYOUT,
    RELEASED,
    RESTORED,
    SETTLED,
    Taken,
    state_digest,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.tap.adapters.superdex.layout import Layout
    from isoscope.core.tap.session import TapSession

# As plain numbers: an enumeration's members take longer to pack.
SUBSTEP, RESET, FREE = (
    *(int(StepKind.SUBSTEP), int(StepKind.RESET)),
    int(StepKind.FREE),
)
_NOBODY = (-1, -1, -1)
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
FIRST_SEEN = 32  # restores after which the state is always taken
LEAST_UNSEEN = 6  # restores after which it then isn't; fewer than twice as many
MOST_EXACT = 1024  # handles
LEAST_DUE = 48  # native steps between two checks of a layout; fewer than twice as many
DUE_NS = 10_000_000  # where steps take long
MOST_ODD = 16  # states of another length, before the layout is given up
MOST_KEPT = 64  # native steps of one control step, before they are handed on


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
    dirty
        Whether the configuration has to be read before the next step.
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
        self._physics = physics
        self.session = session
        self.number = number
        self.owner: Owner | None = None
        self.bad = False
        self.last_row = -1
        self._restored_from = -1
        self._gravity: tuple[float, ...] = (NAN,) * 3
        self._digest = b""  # of the configuration
        self._recorder = session.recorder
        self._engine = engine
        self._actors = Actors(session.recorder, scene, number, physics)
        self._configuration = Configuration(scene, physics)
        self._values: dict[str, Any] = {}
        self.dirty = True
        self._looked_ns = 0
        self._new_topology = True
        self._who = -1
        self._handles: dict[int, int] = {}
        self._initial: set[int] = set()
        # What was read and isn't handed on yet: captured states end to end, and steps
        # and events as `Taken` has them.
        self._bytes = physics.DynamicArrayUint8()
        self._steps: list[tuple[Any, ...]] = []
        self._events: list[tuple[int, str, tuple[Any, ...]]] = []
        self._marks: list[tuple[int, Any, int, int]] = []
        self._count = 0  # native steps among them
        self._looks = False  # whether all values were read with one
        # Values of handles whose states are known, restores that were looked at, and
        # how many aren't before the next that is.
        self._exact: set[int] = set()
        self._seen = self._unseen = 0
        # What of the values lies in states, what doesn't, and when that is checked.
        self._layout: Layout | None = None
        self._asked: list[int] = []
        self._ask: Callable[[], list[Any]] = list
        self._due = self._due_ns = 0
        self._turn = 1
        self._odd = 0  # states in a row that have another length than the layout's
        self._last: tuple[bytes, list[tuple[Any, ...]]] = (
            b"",
            [],
        )  # handed on with a state
        self._stale = True  # whether the scene is known to be in another one
        self._capture = partial(physics.Scene.capture_state_to_bytes, scene)
        self._pid = os.getpid()
        self._stats = scene.get_solver_stats
        self._time = scene.get_total_simulation_time
        self._statuses = {s: int(s.value) for s in physics.ConvergenceStatus}
        self._diverged = physics.ConvergenceStatus.DIVERGED
        self._status: Any = None
        self._status_number = -1
        self._rows: NativeRows
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
        if not self.dirty or not self.session.on:
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
        captured, steps = self._bytes, self._steps
        self._capture(captured)
        self._stale = False
        stats = self._stats()
        status = stats.convergence_status
        if status is not self._status:
            self._status, self._status_number = status, self._statuses[status]
            self.bad = status == self._diverged
        restored_from, self._restored_from = self._restored_from, -1
        told = self._status_number, stats.max_non_linear_iters, stats.residual_norm
        end, wall_ns, layout = len(captured), time_ns(), self._layout
        if layout is None:
            values = full = self._readers.take()
            number, self._looks = NO_LAYOUT, True
        elif (
            self._due > 0
            and wall_ns < self._due_ns
            and end - (steps[-1][0] if steps else 0) == layout.length
        ):
            self._due -= 1
            values, full, number = self._ask(), None, layout.number
        else:
            values, full, number = self._compared(end, wall_ns)
        when = h_s, self._time(), wall_ns
        steps.append((end, full, *when, told, restored_from, values, number))
        self._count += 1
        if self.owner is None or self._count >= MOST_KEPT:
            self.hand_on()

    def _compared(self, end: int, wall_ns: int) -> tuple[Any, Any, int]:
        """Read all values, to be compared with those that lie in the state."""
        layout, steps = self._layout, self._steps
        full, self._looks = self._readers.take(), True
        assert layout is not None
        begin = steps[-1][0] if steps else 0
        if end - begin != layout.length:
            self._odd += 1
            if self._odd == MOST_ODD:  # it has become another one
                steps.append((begin, SETTLED, []))
                self._marks.append((SETTLED, [], 0, 0))
            return full, full, NO_LAYOUT
        self._odd = 0
        # Never in step with anything: each time after another number of steps.
        self._turn = self._turn * 75 % 65537
        self._due = LEAST_DUE + self._turn % LEAST_DUE
        self._due_ns = wall_ns + DUE_NS
        return [full[k] for k in self._asked], full, layout.number

    def hand_on(self) -> None:
        """Give what was read to the recording: before anybody asks for its numbers."""
        steps, events, count, owner = self._steps, self._events, self._count, self.owner
        if not steps and not events:
            return
        states = b""
        if steps:
            states = bytes(self._bytes)
            if states:
                self._bytes.clear()
                self._last = states, steps
        marks, looks = self._marks, self._looks
        self._steps, self._events, self._marks = [], [], []
        self._count, self._looks = 0, False
        place, substep, kind = _NOBODY, -1, FREE
        if owner is not None:
            k, substep = owner.control_step, owner.substep
            place, kind = (owner.number, owner.episode, k), SUBSTEP if k else RESET
            owner.substep += count
        where = self._pid, get_ident()
        about = place, substep, kind, where, self._gravity, self._digest
        row = self._rows.add(Taken(*about, states, steps), events, marks, count, looks)
        if self._rows.layout is not self._layout:
            if self._layout is not None and self._rows.layout is not None:
                self._take(SETTLED, self._readers.take())
            self._learned(self._rows.layout)
        if row < 0 or not count:
            return
        self.last_row = row + count - 1
        if owner is not None:
            if owner.first_row < 0:
                owner.first_row = row
            owner.last_row = self.last_row

    def _learned(self, layout: Layout | None) -> None:
        """Read less from the next step on, or all again."""
        self._layout, self._due, self._odd = layout, 0, 0
        if layout is not None:
            self._asked = layout.asked.tolist()
            self._ask = self._readers.asking(self._asked)

    def settle(self) -> None:
        """Check what waits for a check: nothing is going to be stepped soon."""
        if self._layout is not None:
            self.hand_on()
            self._take(SETTLED, self._readers.take())
            self.hand_on()

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
                self.hand_on()

    # -- snapshots ---------------------------------------------------------------------

    def restored(self, handle: Any, released: bool) -> None:
        """Be told that a state was restored.

        What was captured under the handle is known, so the state isn't taken again each
        time: at first it is, then now and then, and always once it was another one.

        Parameters
        ----------
        released
            Whether the handle is gone then.
        """
        with self.session.guard:
            value = getattr(handle, "value", -1)
            snapshot = self._handles.get(value, -1)
            if self._count:
                self.hand_on()
            known = value in self._exact
            begins = value in self._initial
            if known and self._unseen > 0 and self._rows.exact and not begins:
                self._unseen -= 1
                self._stale = True
                self._steps.append((len(self._bytes), KNOWN, value))
            else:
                self._take(RESTORED, value if known else -1)
                self._seen += 1
                if self._seen > FIRST_SEEN:
                    self._turn = self._turn * 75 % 65537
                    self._unseen = LEAST_UNSEEN + self._turn % LEAST_UNSEEN
            if begins:
                self._initial.discard(value)
                snapshot = self.snapshot("initial", value)
            if known and released:
                self._forget(value)
            self._restored_from = snapshot
            self._tell("restore", snapshot)

    def captured(self, handle: Any) -> None:
        """Be told that a state was captured under a handle."""
        with self.session.guard:
            value = getattr(handle, "value", -1)
            if value >= 0 and len(self._exact) < MOST_EXACT:
                # Quick, since the engine has just done the same.
                self._exact.add(value)
                self._take(CAPTURED, value)
            self._tell("capture")

    def _forget(self, value: int) -> None:
        self._exact.discard(value)
        self._steps.append((len(self._bytes), RELEASED, value))
        self._marks.append((RELEASED, value, 0, 0))

    def released(self, handle: Any) -> None:
        """Be told that a handle was released."""
        with self.session.guard:
            value = getattr(handle, "value", -1)
            self._handles.pop(value, None)
            if handle is None:  # all of them
                for held in list(self._exact):
                    self._forget(held)
            elif value in self._exact:
                self._forget(value)
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
        self.hand_on()
        owner, data = self.owner, self._state()
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
        if self.dirty and self._who != self._env:
            with self.session.guard:
                self._look()

    def changed(self, *, topology: bool) -> None:
        """Be told that it was changed."""
        self.dirty = True
        self._who = self._env
        self._new_topology |= topology

    def look_again(self, after_ns: int = 0) -> None:
        """Read the configuration before the next step, whoever may have changed it.

        Parameters
        ----------
        after_ns
            Only if it was last read so long ago.
        """
        if not self.dirty and time_ns() - self._looked_ns >= after_ns:
            self.dirty, self._who = True, -1

    def _look(self) -> None:
        """Read the configuration and the topology, and tell what has changed."""
        self.dirty, self._looked_ns = False, time_ns()
        self.hand_on()
        if self._new_topology:
            self._new_topology = False
            self._readers = self._actors.refresh()
            about = self._recorder, self._readers, self._state(), self.number
            self._rows = NativeRows(*about)
            self._exact.clear()
            self._learned(None)
            names = [(a.actor.get_name(), a.kind) for a in self._actors.known.values()]
            self._header = {"topology": digest({"actors": names}).hex()}
        values = self._configuration.read(self._actors.known.values())
        if values == self._values:
            return
        row = self._recorder.rows
        told = digest(values)
        before, self._values = self._values, values
        self._gravity, self._digest = tuple(values["gravity"]), told
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

    def _take(self, what: int = RESTORED, about: Any = -1) -> None:
        """Take the state as bytes: what the next step begins from."""
        begin = len(self._bytes)
        self._capture(self._bytes)
        end = len(self._bytes)
        self._stale = False
        self._steps.append((end, what, about))
        self._marks.append((what, about, begin, end))

    def _state(self) -> bytes:
        """The state as it was last taken, or as it is where it is another one."""
        if self._stale:
            fresh = self._physics.DynamicArrayUint8()
            self._capture(fresh)
            return bytes(fresh)
        states, steps = self._last
        begin, found = 0, (0, 0)
        for end, *_ in steps:
            if end > begin:
                found = begin, end
            begin = end
        return states[slice(*found)]

    def tell(self, kind: str) -> None:
        """Tell an event of the scene."""
        self._tell(kind)

    def _tell(
        self, kind: str, snapshot: int = -1, ok: int = 1, detail: Any = None
    ) -> None:
        told = self._env, self.number, snapshot, ok, time_ns(), self._pid, get_ident()
        if detail is None:
            self._events.append((self._count, kind, told))
            if self.owner is None:
                self.hand_on()
        else:
            self.hand_on()
            self._recorder.intake.catch_up()
            row = self._recorder.rows
            self._recorder.event(r.SceneEvent(kind, row, *told, detail))
