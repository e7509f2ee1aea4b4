"""Watches one of the simulator's scenes: a row of each native step, for each lane seen.

A batch that lives on a device may have thousands of worlds: only those that somebody
wants to see cross over, and the ledger of copies says so.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.envs.events import scene_events
from isoscope.core.errors import one_line
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.records import DIGEST_BYTES
from isoscope.core.recording.model import StepKind
from isoscope.core.tap.adapters.controls import Controls
from isoscope.core.tap.adapters.hooks import hook, unhook

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.envs.events import SceneEvent
    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.envs.scene_handle import SceneHandle
    from isoscope.core.recording.labelled.frames import Frame
    from isoscope.core.scene import Scene, SceneRow
    from isoscope.core.tap.session import TapSession

CAUSE = "tap"
CONTACTS = "contacts_"
COVERS = (
    "positions",
    "velocities",
    "integration history",
    "controller targets",
    "external forces",
    "scene time",
    "validity",
)
UNITS = {"translation": "m", "rotation": "", "translationCom": "m", "rotationCom": ""}
UNITS |= {"vcom": "m/s", "omega": "rad/s"}
MOST_HANDLES = 4096


class SceneWatch:
    """Watches a scene for a session.

    Parameters
    ----------
    handle
        The scene and who shares it.
    number
        The scene's number in the recording.
    seen
        The worlds of which rows are made.

    Attributes
    ----------
    spans
        By environment, the first and last row since `begin`.
    numbers
        By lane group, the recording's numbers of its environments, which know others.
    """

    def __init__(
        self,
        session: TapSession,
        handle: SceneHandle,
        number: int,
        seen: Sequence[int],
    ) -> None:
        self.session = session
        self.number = number
        self.spans: dict[int, tuple[int, int]] = {}
        self.last_row = -1
        self.numbers: dict[LaneGroup, Sequence[int]] = {}
        self._recorder = session.recorder
        self._handle = handle
        self._scene: Scene = handle.scene
        self._seen = list(seen)
        self._all = len(self._seen) == self._scene.worlds
        self._digest = b""
        self._handles: dict[int, int] = {}
        self._restored = -1
        self._values = self._configuration()
        self._step = r.NativeStep(scene=number, process=os.getpid())
        self._fields: list[tuple[SceneRow, str]] = []
        self._controls = Controls(self._scene)
        self._frame = self._define()
        self._tell_configuration({}, self._values, -1)
        guard = session.guard
        self._within_step = False
        self._told_read = (-1, -1)
        self._off = self._scene.on_recorded(guard(self._recorded))
        self._off_begun = self._scene.on_pre_step(guard(self._begun))
        self._hooks = [
            (name, hook(self._scene, name, around))
            for name, around in (
                ("set_state", self._set_state),
                ("configure", self._configure),
                ("read", self._was_read),
                ("set_link_wrenches", self._pushed),
            )
        ]
        self._listener = guard(self._happened)
        scene_events.happened.connect(self._listener)

    def close(self) -> None:
        """Watch no longer."""
        scene_events.happened.disconnect(self._listener, missing_ok=True)
        self._controls.close()
        for name, made in self._hooks:
            unhook(self._scene, name, made)
        if not self._handle.closed:
            self._off()
            self._off_begun()

    # -- what there is -----------------------------------------------------------------

    def _define(self) -> Frame | None:
        scene, numbers = self._scene, {}
        for row in scene.rows:
            info = r.ActorInfo(
                name=row.name,
                type=row.type,
                handle=(self.number + 1 << 32) + row.index,
                scene=self.number,
                static=row.static,
                created_row=self._recorder.rows,
                reference=_surface(scene, row),
            )
            numbers[row.index] = self._recorder.actor(info)
        fields: list[r.Field] = []
        for row in scene.rows:
            if row.static:
                continue
            for name in row.fields:
                if name.startswith(CONTACTS):
                    continue
                shape = scene.read(row.index, name, self._seen[:1]).shape[1:]
                self._fields.append((row, name))
                fields.append(
                    r.Field(
                        name=name,
                        shape=shape,
                        unit=UNITS.get(name, "m or rad"),
                        actor=numbers[row.index],
                    )
                )
        fields += self._controls.fields(numbers)
        if not fields:
            return None
        return self._recorder.frame(fields, scene.precision, scene=self.number)

    # -- native steps ------------------------------------------------------------------

    def begin(self) -> None:
        """Forget whose rows there were: a control step begins."""
        self.spans.clear()

    def _begun(self, scene: Scene, h_s: float) -> None:
        self._within_step = True

    def _recorded(self, scene: Scene, h_s: float) -> None:
        self._within_step = False
        lanes: LaneGroup | None = self._handle.stepping
        place = None if lanes is None else lanes.place
        here = [] if self._frame is None else self._read(scene)
        report, step = scene.last_report, self._step
        took = self._host(None if place is None else place.worlds)
        times = scene.time_s[self._seen]
        step.h_s, step.wall_ns, step.thread = h_s, time.time_ns(), _thread()
        before, self._digest = self._digest, self._state_digest()
        step.digest_before, step.digest_after = before, self._digest
        step.restored_from = self._restored
        self._restored = -1
        step.substep = -1 if place is None else place.substep
        step.kind = int(_kind(None if place is None else place.kind, h_s))
        told = [
            self._host(None if place is None else place.episode),
            self._host(None if place is None else place.control_step),
            *(
                self._host(None if report is None else getattr(report, name))
                for name in ("status", "iterations", "residual")
            ),
        ]
        for k in range(len(self._seen)):
            if took is not None and not took[k]:
                continue
            self._write(k, lanes, told, times[k], here)

    def _write(
        self,
        k: int,
        lanes: LaneGroup | None,
        told: list[Any],
        time_s: float,
        here: list[Any],
    ) -> None:
        step = self._step
        episode, control_step, status, iterations, residual = told
        numbers = () if lanes is None else self.numbers.get(lanes, ())
        step.env = numbers[self._seen[k]] if numbers else -1
        step.episode = -1 if episode is None else int(episode[k])
        step.control_step = -1 if control_step is None else int(control_step[k])
        step.scene_time_s = float(time_s)
        step.solver_status = -1 if status is None else int(status[k])
        step.solver_iterations = -1 if iterations is None else int(iterations[k])
        step.solver_residual = float("nan") if residual is None else float(residual[k])
        gravity = self._values.get("gravity")
        if gravity is not None:
            own = gravity if gravity.ndim == 1 else gravity[self._seen[k]]
            step.gravity_x, step.gravity_y, step.gravity_z = own.tolist()
        frames = []
        frame = self._frame
        if frame is not None:
            for index, values in enumerate(here):
                if values is not None and values[k] is not None:
                    frame.put(index, values[k])
            frames.append(frame)
        row = self._recorder.native(step, *frames)
        if row >= 0:
            self.last_row = row
            first, _ = self.spans.get(step.env, (row, row))
            self.spans[step.env] = first, row

    def _read(self, scene: Scene) -> list[Any]:
        only = None if self._all else self._seen
        read = [scene.read(row.index, name, only) for row, name in self._fields]
        return read + self._controls.read(self._seen)

    def _host(self, array: Any) -> Any:
        """The rows of an array that are seen; None for None."""
        if array is None:
            return None
        some = array if self._all else array[self._seen]
        return self._scene.to_host(some, CAUSE)

    # -- snapshots ---------------------------------------------------------------------

    def _state_digest(self) -> bytes:
        """Of the scene's state, where all of it is seen anyway."""
        if not self._all:
            return b""
        return _digest(self._state())

    def _state(self) -> bytes:
        handle = self._scene.capture()
        try:
            return self._scene.state_to_bytes(handle)
        finally:
            self._scene.release(handle)

    def snapshot(
        self, why: str, env: int, own: int | None, k: int, episode: int
    ) -> int:
        """Record the state that the scene holds; returns its id, -1 if refused.

        Parameters
        ----------
        own
            The environment's handle of the same state, if it has one.
        """
        data = self._state()
        number = self._recorder.snapshot(
            r.Snapshot(
                *(data, env, self.number, self.last_row, episode, k),
                wall_ns=time.time_ns(),
                why=why,
                digest=_digest(data),
                engine={
                    "engine": self._scene.engine,
                    "precision": self._scene.precision,
                },
                covers=COVERS,
                header=self._header(),
            )
        )
        if own is not None and number >= 0:
            if len(self._handles) >= MOST_HANDLES:
                self._handles.clear()
            self._handles[own] = number
        return number

    def _header(self) -> dict[str, int]:
        """How many worlds it is of, and which environment is in the first."""
        told = {"worlds": self._scene.worlds}
        if self._scene.worlds > 1 and self.numbers:
            told["first_env"] = int(min(min(n) for n in self.numbers.values()))
        return told

    # -- what happens to it ------------------------------------------------------------

    def _happened(self, event: SceneEvent) -> None:
        if event.scene != self._handle.number or not self.session.on:
            return
        detail = dict(event.detail)
        handle = detail.get("handle")
        snapshot = self._handles.get(handle, -1) if handle is not None else -1
        kind: str = event.kind
        if kind == "restore":
            self._restored = snapshot
            self._digest = self._state_digest()
            self._controls.forget()
        env = self._number_of(event.env)
        if kind == "configure":
            old, self._values = self._values, self._configuration()
            self._tell_configuration(old, self._values, env)
        failed = kind == "failure"
        if failed:
            doing = str(detail.get("doing", "failure"))
            self._recorder.failure(
                r.Failure(
                    *(doing, one_line(str(detail.get("problem", "")))),
                    *(self._recorder.rows, env, self.number),
                    *(event.time_ns, event.thread),
                )
            )
            kind = "exception" if doing == "step" else doing
        self._recorder.event(
            r.SceneEvent(
                *(kind, self._recorder.rows, env, self.number, snapshot),
                *(0 if failed else 1, event.time_ns, os.getpid(), event.thread),
                detail or None,
            )
        )

    def _set_state(
        self, scene: Scene, original: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Somebody sets the state: before a step, or in a callback within one."""
        result = original(*args, **kwargs)
        if self.session.on:
            with self.session.guard:
                if not self._within_step:
                    self._digest = self._state_digest()
                env = self._stepping()
                if self._within_step:  # which is wrong, so that it may cost something
                    worlds = args[3] if len(args) > 3 else kwargs.get("worlds")
                    env = self._only(worlds)
                self._tell("set_state", env, within_step=self._within_step)
        return result

    def _pushed(
        self, scene: Scene, original: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Somebody pushes links: told, so that nobody takes that for a leak."""
        result = original(*args, **kwargs)
        if self.session.on:
            with self.session.guard:
                worlds = args[2] if len(args) > 2 else kwargs.get("worlds")
                env = self._only(worlds)
                self._tell(r.UNRECORDED_INPUT, env, input="set_link_wrenches")
        return result

    def _was_read(
        self, scene: Scene, original: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Somebody looks at an environment's state: once after each native step.

        Each time where the scene holds another's, which is not for the tap to judge.
        """
        reader = self._handle.reading
        if reader is not None and len(reader.envs) == 1 and self.session.on:
            with self.session.guard:
                told = self._recorder.rows, reader.envs[0]
                if told != self._told_read or self._handle.resident is not reader:
                    self._told_read = told
                    self._tell_read(reader, *args, **kwargs)
        return original(*args, **kwargs)

    def _tell_read(
        self, reader: LaneGroup, row: int, field: str, *_: Any, **__: Any
    ) -> None:
        env = next(iter(self.numbers.get(reader, reader.envs)))
        self._recorder.event(
            r.SceneEvent(
                *("read", self._recorder.rows, env, self.number, -1),
                *(1, time.time_ns(), os.getpid(), _thread(), {"field": field}),
            )
        )

    def _configure(
        self, scene: Scene, original: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Somebody changes the persistent configuration."""
        result = original(*args, **kwargs)
        if self.session.on:
            with self.session.guard:
                old, self._values = self._values, self._configuration()
                self._tell_configuration(old, self._values, self._stepping())
        return result

    def _stepping(self) -> int:
        """The environment whose turn it is, if it is one's alone; else -1."""
        stepping = self._handle.stepping
        if stepping is None or len(stepping.envs) != 1:
            return -1
        return self._number_of(stepping.envs[0])

    def _only(self, worlds: Any) -> int:
        """The environment of the one world that is meant; -1 where several are."""
        stepping = self._stepping()
        lanes = self._handle.stepping
        if stepping >= 0 or worlds is None or lanes is None:
            return stepping
        # Counted where they are, however many: only two numbers cross over.
        so_far = (worlds * 1).cumsum(0)
        before = ((so_far == 0) * 1).cumsum(0)
        count, first = (
            int(self._scene.to_host(one[-1:], CAUSE)[0]) for one in (so_far, before)
        )
        numbers = self.numbers.get(lanes, ())
        if count != 1 or first >= len(numbers):
            return -1
        return int(numbers[first])

    def _tell(self, kind: str, env: int, **detail: Any) -> None:
        self._recorder.event(
            r.SceneEvent(
                *(kind, self._recorder.rows, env, self.number, -1),
                *(1, time.time_ns(), os.getpid(), _thread(), detail),
            )
        )

    def wants(self, env: int, wanted: dict[str, Any]) -> None:
        """Tell how an environment wants its scene configured."""
        told = {name: np.asarray(value).tolist() for name, value in wanted.items()}
        self._recorder.event(
            r.SceneEvent(
                *("acquire", self._recorder.rows, env, self.number, -1),
                *(1, time.time_ns(), os.getpid(), _thread(), {"wanted": told}),
            )
        )

    def _number_of(self, env: int) -> int:
        """The recording's number of an environment that an event names."""
        stepping = self._handle.stepping
        if stepping is not None and env in stepping.envs:
            numbers = self.numbers.get(stepping, ())
            return numbers[stepping.envs.index(env)] if numbers else -1
        found = {
            numbers[lanes.envs.index(env)]
            for lanes, numbers in self.numbers.items()
            if env in lanes.envs
        }
        return found.pop() if len(found) == 1 else -1

    def _configuration(self) -> dict[str, Any]:
        found = self._scene.persistent_configuration().items()
        return {name: np.array(value) for name, value in found}

    def _tell_configuration(
        self, old: dict[str, Any], new: dict[str, Any], env: int
    ) -> None:
        told = bytes.fromhex(self._scene.configuration_fingerprint())[:DIGEST_BYTES]
        self._step.configuration_digest = told
        for name in {**old, **new}:
            before, after = old.get(name), new.get(name)
            if before is not None and after is not None:
                if before.dtype == after.dtype and np.array_equal(before, after):
                    continue
            self._recorder.change(
                r.ConfigurationChange(
                    *(name, _plain(before), _plain(after), self._recorder.rows),
                    *(env, self.number, time.time_ns()),
                    thread=_thread(),
                    digest=told,
                )
            )


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


def _plain(value: Any) -> Any:
    return None if value is None else value.tolist()


def _thread() -> int:
    return threading.get_ident()


def _kind(kind: str | None, h_s: float) -> StepKind:
    if h_s == 0:
        return StepKind.ZERO
    if kind is None:
        return StepKind.FREE
    return StepKind.RESET if kind == "reset" else StepKind.SUBSTEP


def _surface(scene: Scene, row: SceneRow) -> dict[str, Any]:
    found: dict[str, Any] = {}
    surface = scene.surface(row.index)
    if surface is not None:
        found["surfRefPositions"] = surface.vertices
        found["surfFaceIndices"] = surface.faces.reshape(-1, 1)
    if row.static:
        for name in ("translation", "rotation"):
            if name in row.fields:
                found[name] = scene.read(row.index, name, [0])[0]
    return found
