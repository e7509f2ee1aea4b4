"""Watches one of the simulator's scenes: a row of each native step, for each lane seen.

A batch that lives on a device may have thousands of worlds: only those that somebody
wants to see cross over, and the ledger of copies says so.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.envs.events import scene_events
from isoscope.core.errors import one_line
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.records import DIGEST_BYTES
from isoscope.core.tap.adapters.hooks import hook, unhook
from isoscope.core.tap.adapters.scene_steps import SceneSteps
from isoscope.core.tap.adapters.seen import CAUSE
from isoscope.core.tap.raw_natives import state_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.envs.events import SceneEvent
    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.envs.scene_handle import SceneHandle
    from isoscope.core.scene import Scene
    from isoscope.core.tap.session import TapSession

COVERS = (
    "positions",
    "velocities",
    "integration history",
    "controller targets",
    "external forces",
    "scene time",
    "validity",
)
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
    steps
        The native steps, from when they end until they are told.
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
        self.numbers: dict[LaneGroup, Sequence[int]] = {}
        self._recorder = session.recorder
        self._handle = handle
        self._scene: Scene = handle.scene
        self._handles: dict[int, int] = {}
        self._restored = -1
        self._values = self._configuration()
        self.steps = SceneSteps(session, self._scene, number, seen)
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
        self.steps.controls.close()
        for name, made in self._hooks:
            unhook(self._scene, name, made)
        if not self._handle.closed:
            self._off()
            self._off_begun()

    # -- native steps ------------------------------------------------------------------

    def _begun(self, scene: Scene, h_s: float) -> None:
        self._within_step = True

    def _recorded(self, scene: Scene, h_s: float) -> None:
        self._within_step = False
        lanes: LaneGroup | None = self._handle.stepping
        place = None if lanes is None else lanes.place
        numbers = () if lanes is None else self.numbers.get(lanes, ())
        restored, self._restored = self._restored, -1
        self.steps.stepped(h_s, place, numbers, restored)

    # -- snapshots ---------------------------------------------------------------------

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
                *(data, env, self.number, self.steps.last_row, episode, k),
                wall_ns=time.time_ns(),
                why=why,
                digest=state_digest(data),
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
            self.steps.became_another()
            self.steps.controls.forget()
        env = self._number_of(event.env)
        if kind == "configure":
            self._configured(env)
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
        told = env, self.number, snapshot, 0 if failed else 1, event.time_ns
        who = os.getpid(), event.thread
        row = self._recorder.rows
        self._recorder.event_later((kind, row, *told, *who, detail or None))

    def _set_state(
        self, scene: Scene, original: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Somebody sets the state: before a step, or in a callback within one."""
        result = original(*args, **kwargs)
        if self.session.on:
            with self.session.guard:
                if not self._within_step:
                    self.steps.became_another()
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
        reader = None if self.steps.sampling else self._handle.reading
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
        self._tell("read", env, field=field)

    def _configure(
        self, scene: Scene, original: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Somebody changes the persistent configuration."""
        result = original(*args, **kwargs)
        if self.session.on:
            with self.session.guard:
                self._configured(self._stepping())
        return result

    def _configured(self, env: int) -> None:
        old, self._values = self._values, self._configuration()
        self._tell_configuration(old, self._values, env)

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
        now = time.time_ns(), os.getpid(), _thread()
        told = kind, self._recorder.rows, env, self.number, -1, 1, *now, detail
        self._recorder.event_later(told)

    def wants(self, env: int, wanted: dict[str, Any]) -> None:
        """Tell how an environment wants its scene configured."""
        told = {name: np.asarray(value).tolist() for name, value in wanted.items()}
        self._tell("acquire", env, wanted=told)

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
        self.steps.digest, self.steps.gravity = told, new.get("gravity")
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


def _plain(value: Any) -> Any:
    return None if value is None else value.tolist()


def _thread() -> int:
    return threading.get_ident()
