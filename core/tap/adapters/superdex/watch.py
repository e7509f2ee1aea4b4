"""Watches one native scene: makes a row of every native step, whoever takes it.

Runs inside every native step of the user's program, so it only reads and keeps, and
hands on what it has once a control step: what can wait is done where that is packed
(`native_rows`) and where rows are taken apart (`isoscope.core.tap.raw_natives`).
"""

from __future__ import annotations

import os
from threading import get_ident
from time import time_ns
from typing import TYPE_CHECKING, Any, Protocol

from isoscope.core.errors import one_line
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.model import StepKind
from isoscope.core.tap.adapters.superdex.actors import Actors
from isoscope.core.tap.adapters.superdex.build import statuses_of
from isoscope.core.tap.adapters.superdex.configuration import digest
from isoscope.core.tap.adapters.superdex.handles import Handles
from isoscope.core.tap.adapters.superdex.native_rows import NativeRows, pack_event
from isoscope.core.tap.adapters.superdex.told_configuration import ToldConfiguration
from isoscope.core.tap.raw_natives import HEAD_BYTES, pack_head, state_digest

if TYPE_CHECKING:
    from isoscope.core.tap.adapters.superdex.readers import Readers, Take
    from isoscope.core.tap.session import TapSession

# As plain numbers: an enumeration's members take longer to pack.
SUBSTEP, RESET, FREE = (
    *(int(StepKind.SUBSTEP), int(StepKind.RESET)),
    int(StepKind.FREE),
)
_NOBODY = (-1, -1, -1, -1, FREE)  # nor substep
COVERS = (
    "transforms",
    "poses",
    "velocities",
    "integration history",
    "controller and constraint targets",
    "external forces",
    "scene time",
)
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
        self._recorder = recorder = session.recorder
        self._engine = engine
        self._actors = Actors(recorder, scene, number, physics)
        self._configuration = ToldConfiguration(recorder, scene, physics, number)
        self.dirty = True
        self._looked_ns = 0
        self._new_topology = True
        # A link was pushed whose forces are not read yet; a callback within a step has
        # changed the configuration before it counted; what was put in for the step,
        # where a callback after it put in something else.
        self._late = self._early = False
        self._applied: dict[tuple[int, str], bytes] | None = None
        self._given: dict[tuple[str, str], None] = {}
        self._who = -1
        self._handles = Handles()
        # What was read and isn't handed on yet: captured states end to end, with where
        # the last one begins and ends; where one begins that was there before the next
        # step and that no step led to; steps and events as `NativeRows` takes them.
        self._states = physics.DynamicArrayUint8()
        self._begin = self._end = 0
        self._left = -1
        self._steps: list[bytes] = []
        self._events: list[bytes] = []
        text = recorder.intake.text
        self._restore_text, self._capture_text = text("restore"), text("capture")
        self._last = b"", 0  # states that were handed on, and where the last begins
        self._capture = scene.capture_state_to_bytes
        self._pid = os.getpid()
        self._stats = scene.get_solver_stats
        self._time = scene.get_total_simulation_time
        self._statuses = {s: int(s.value) for s in statuses_of(physics)}
        self._diverged = physics.ConvergenceStatus.DIVERGED
        self._status: Any = None
        self._status_number = -1
        self._then = self._time()  # the scene's, as it was last known
        self._rows: NativeRows
        self._readers: Readers
        self._read: Take
        self._look()

    def listen(self) -> None:
        """Hear of steps from the scene itself, where its class can't be wrapped."""
        self.scene.register_pre_step_callback("isoscope", lambda info: self.begins())
        self.scene.register_post_step_callback("isoscope", self._heard)

    def _heard(self, info: Any) -> None:
        if self.session.on:
            self.stepped(float(info.time_step_sec))

    # -- steps -------------------------------------------------------------------------

    def begins(self) -> None:
        """Be told that a native step begins."""
        if not self.dirty or not self.session.on:
            return
        with self.session.guard:
            self._look()

    def stepped(self, h_s: float) -> None:
        """Be told that a native step has ended well."""
        begin = self._end
        try:
            if self._late or self._early or self._given:
                self._tell_given()
                begin = self._end
            self._then = now = self._time()
            states = self._states
            self._capture(states)
            self._begin, self._end = begin, len(states)
            stats = self._stats()
            status = stats.convergence_status
            if status is not self._status:
                self._status, self._status_number = status, self._statuses[status]
                self.bad = status == self._diverged
            head = pack_head(
                self._left,
                begin,
                self._end,
                self._status_number,
                stats.max_non_linear_iters,
                self._restored_from,
                stats.residual_norm,
                h_s,
                now,
                time_ns(),
            )
            step = self._read(head)
            if self._applied is not None:
                step = self._as_applied(step)
            self._steps.append(step)
            self._left = self._restored_from = -1
            if self.owner is None or len(self._steps) >= MOST_KEPT:
                self.hand_on()
        except Exception as error:  # noqa: BLE001 the run goes on
            if self._end > begin:  # a state that goes with no step
                self._left = begin
            self._end = len(self._states)
            self.session.guard.failed(error)

    def hand_on(self) -> None:
        """Give what was read to the recording: before anybody asks for its numbers."""
        size, events, owner = self._end, self._events, self.owner
        if not size and not events:
            return
        steps, taken, begin = self._steps, None, self._begin
        count = len(steps)
        if size:
            states = bytes(self._states)
            self._states.clear()
            self._last = states, begin
            env, episode, k, substep, kind = _NOBODY
            if owner is not None:
                env, episode, k = owner.number, owner.episode, owner.control_step
                substep, kind = owner.substep, SUBSTEP if k else RESET
                owner.substep = substep + count
            taken = (
                env,
                episode,
                k,
                substep,
                kind,
                self._pid,
                get_ident(),
                self._configuration.gravity,
                self._configuration.digest,
                states,
                self._left,
                b"".join(steps),
            )
            self._begin = self._end = 0
            self._left = -1
            steps.clear()
        if events:
            self._events = []
        row = self._rows.add((taken, begin, events or ()), count, size)
        if count and row >= 0:
            self.last_row = last = row + count - 1
            if owner is not None:
                owner.last_row = last
                if owner.first_row < 0:
                    owner.first_row = row

    def broke(self, h_s: float, error: BaseException) -> None:
        """Be told that a native step raised; if a callback after it did, it was one."""
        with self.session.guard:
            if self._over():
                self.stepped(h_s)
        self.failed("step", error)

    def _over(self) -> bool:
        """Whether the step that the scene is in is done, but for callbacks after it."""
        return bool(self._time() != self._then)

    def failed(self, doing: str, error: BaseException) -> None:
        """Be told that something raised."""
        with self.session.guard:
            told = f"{type(error).__name__}: {one_line(error)}"
            kind = "exception" if doing == "step" else doing
            self._tell(kind, 0, {"doing": doing, "problem": told})
            self._recorder.failure(
                r.Failure(
                    *(doing, told, self._recorder.rows, self._env, self.number),
                    *(time_ns(), get_ident()),
                )
            )
            if doing == "restore":  # it may have changed some of the scene
                self._take()
                self.hand_on()

    # -- inputs ------------------------------------------------------------------------

    def pushed(self, link: Any) -> None:
        """Be told that forces were set on a link: they are read from now on."""
        with self.session.guard:
            if self._actors.pushed(int(link.get_handle().value)):
                self.look_again()
                self._new_topology = self._late = True

    def given(self, kind: str, name: str) -> None:
        """Be told of an input whose values are not recorded; told with the next step.

        What is put in within a reset is in the state that is there after it.

        Parameters
        ----------
        kind
            Of the event that tells it.
        name
            What was called.
        """
        owner = self.owner
        if owner is None or owner.control_step:
            self._given[kind, name] = None

    def overtaken(self) -> None:
        """Be told, within a native step, that inputs are about to be changed.

        After it they count for the next one.
        """
        with self.session.guard:
            if self._applied is None and self._over():
                self._applied = self._readers.read_inputs()

    def _as_applied(self, step: bytes) -> bytes:
        """A step that was read, with the inputs as they were in it."""
        applied, self._applied = self._applied or {}, None
        told = bytearray(step)
        for key, where in self._readers.taken_inputs().items():
            at = slice(HEAD_BYTES + where.start, HEAD_BYTES + where.stop)
            # Forces that were not read until now were none.
            told[at] = applied.get(key, bytes(where.stop - where.start))
        return bytes(told)

    def _tell_given(self) -> None:
        if self._late or self._early:
            self._look()
        given, self._given = list(self._given), {}
        for kind, name in given:
            self._tell(kind, 1, {"input": name})

    # -- snapshots ---------------------------------------------------------------------

    def restored(self, handle: Any, released: bool) -> None:
        """Be told that a state was restored.

        The state is taken again each time: whatever the handle stood for, this is what
        the next step begins from.

        Parameters
        ----------
        released
            Whether the handle is gone then.
        """
        try:
            if self._given:
                self._given.clear()  # and with it what was put in before
            self._left = self._begin = self._end
            states = self._states
            self._capture(states)
            self._end = len(states)
            self._then = self._time()
            snapshot = -1
            if self._handles:
                snapshot = self._snapshot_of(handle, released)
            self._restored_from = snapshot
            self._happened(self._restore_text, snapshot)
        except Exception as error:  # noqa: BLE001 the run goes on
            self.session.guard.failed(error)

    def _snapshot_of(self, handle: Any, released: bool) -> int:
        """What is recorded of the state that was just restored and taken; -1: nothing.

        Parameters
        ----------
        released
            Whether the handle is gone.
        """
        snapshot = self._handles.snapshot(handle)
        if self._handles.is_initial(handle):
            snapshot = self.snapshot("initial", handle)
        if released:
            self._handles.forget(handle)
        return snapshot

    def captured(self, handle: Any) -> None:
        """Be told that a state was captured under a handle."""
        try:
            self._handles.forget(handle)  # used again, it stands for another state
            self._happened(self._capture_text)
        except Exception as error:  # noqa: BLE001 the run goes on
            self.session.guard.failed(error)

    def released(self, handle: Any) -> None:
        """Be told that a handle was released; all of them where it is None."""
        with self.session.guard:
            if handle is None:
                self._handles.clear()
            else:
                self._handles.forget(handle)
            self._happened(self._recorder.intake.text("release"))

    def starts_from(self, handle: Any) -> None:
        """Be told of the state that resets begin from; kept when next restored."""
        self._handles.starts_from(handle)

    def snapshot(self, why: str, handle: Any = None) -> int:
        """Record the state as it was last taken; returns its id, -1 if refused.

        Parameters
        ----------
        handle
            What stands for the same state, if anything does.
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
        if handle is not None and number >= 0:
            self._handles.stands_for(handle, number)
        return number

    # -- configuration -----------------------------------------------------------------

    def changes(self, *, within: bool = False) -> None:
        """Be told that somebody is about to change the configuration.

        Parameters
        ----------
        within
            Whether by a callback within a native step.
        """
        if self.dirty and (
            self._who != self._env or (within and self._early and self._over())
        ):
            with self.session.guard:
                self._look()

    def changed(self, name: str, *, within: bool = False) -> None:
        """Be told that it was changed.

        Parameters
        ----------
        name
            What was called.
        within
            Whether by a callback within a native step.
        """
        self.dirty = True
        self._who = self._env
        if name.startswith(("create_", "destroy_")) or "pose_controller" in name:
            self._new_topology = True
        if "contact_pair" in name:
            self._configuration.look_for_pairs()
        if within and not self._early:
            with self.session.guard:
                self._early = not self._over()  # the step itself goes by it

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
        self.dirty = self._late = self._early = False
        self._looked_ns = time_ns()
        self.hand_on()
        if self._new_topology:
            self._new_topology = False
            self._configuration.look_for_pairs()
            readers = self._readers = self._actors.refresh()
            self._read = readers.taker(self._physics)
            about = readers.frames(), readers.layout(), self._state(), self.number
            self._rows = NativeRows(self._recorder, *about)
            names = [(a.actor.get_name(), a.kind) for a in self._actors.known.values()]
            self._header = {"topology": digest({"actors": names}).hex()}
        self._configuration.look(self._actors.known.values(), self._who)

    # -- helpers -----------------------------------------------------------------------

    @property
    def _env(self) -> int:
        return -1 if self.owner is None else self.owner.number

    def _take(self) -> None:
        """Take the state as bytes: what the next step begins from."""
        begin = self._end
        self._capture(self._states)
        self._left = self._begin = begin
        self._end = len(self._states)
        self._then = self._time()

    def _state(self) -> bytes:
        """The state as it was last taken and handed on, or as it is before that."""
        states, begin = self._last
        if not states:
            fresh = self._physics.DynamicArrayUint8()
            self._capture(fresh)
            self._last = states, begin = bytes(fresh), 0
        return states[begin:]

    def end(self) -> None:
        """Be told that the scene is gone."""
        self._happened(self._recorder.intake.text("cleanup"))
        self._actors.end()

    def _happened(self, kind: int, snapshot: int = -1) -> None:
        """Tell what went well, with what is handed on next.

        Parameters
        ----------
        kind
            The number of its text.
        """
        owner = self.owner
        self._events.append(
            pack_event(
                kind,
                len(self._steps),
                -1 if owner is None else owner.number,
                self.number,
                snapshot,
                1,
                time_ns(),
                self._pid,
                get_ident(),
                -1,
            )
        )
        if owner is None:
            self.hand_on()

    def _tell(self, kind: str, ok: int, detail: Any) -> None:
        """Tell what there is more to say of, at once."""
        self.hand_on()
        self._recorder.intake.catch_up()
        told = self._env, self.number, -1, ok, time_ns(), self._pid, get_ident()
        event = r.SceneEvent(kind, self._recorder.rows, *told, detail)
        self._recorder.event(event)
