"""One native scene in the engine's own process: what a block of operations does to it.

It reads states and configuration by what the tap reads them by, so that the same
comes out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isoscope.core.errors import IsoscopeError
from isoscope.core.replay.worker import messages as m
from isoscope.core.replay.worker.placing import place
from isoscope.core.replay.worker.settings import Settings
from isoscope.core.tap.adapters.superdex.actors import Actors, is_link
from isoscope.core.tap.adapters.superdex.configuration import Configuration, digest
from isoscope.core.tap.raw_natives import state_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.labelled import records as r
    from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder

# A snapshot's first bytes, and where it tells how long the rest is.
HEAD, LENGTH_AT = 8, 16
FORMS = ("driven", "nonzero", "all")
TRIES = 16  # of other forms in vain, before none is tried for a step any more


class SnapshotError(IsoscopeError):
    """A snapshot that this scene can't take up."""


@dataclass(slots=True)
class _Frame:
    fields: list[r.Field]
    dtype: Any


class _Names:
    """Takes what the tap would tell a recording, and gives actors their numbers."""

    rows = 0

    def __init__(self, numbers: list[tuple[str, int]]) -> None:
        self._left = list(numbers)
        self._next = -2
        self.actors: dict[int, r.ActorInfo] = {}

    def actor(self, info: r.ActorInfo) -> int:
        """The recorded number of the next actor of that name, else one below zero."""
        number = next((n for name, n in self._left if name == info.name), None)
        if number is None:
            self._next -= 1
            number = self._next
        else:
            self._left.remove((info.name, number))
        self.actors[number] = info
        return number

    def frame(self, fields: list[r.Field], dtype: Any, scene: int = 0) -> _Frame:
        return _Frame(fields, np.dtype(dtype))


class NativeScene:
    """A native scene that is stepped again.

    Parameters
    ----------
    scene, physics
        The scene, and the engine's module.
    numbers
        Names and numbers that the recording has for its actors, in order.
    driven
        By ``actor/field``, the components that are ever other than zero.
    """

    def __init__(
        self,
        scene: Any,
        physics: Any,
        numbers: list[tuple[str, int]],
        driven: dict[str, list[int]],
    ) -> None:
        self._scene, self._physics = scene, physics
        self._names = _Names(numbers)
        told = cast("IntakeRecorder", self._names)
        self._actors = Actors(told, scene, 0, physics)
        self._actors.refresh()
        pushed = {
            actor for actor, _, f in (k.rpartition("/") for k in driven) if f == "force"
        }
        for handle, known in self._actors.known.items():
            if known.actor.get_name() in pushed and is_link(known.actor):
                self._actors.pushed(handle)
        self._readers = self._actors.refresh()
        self._read, self._layout = self._readers.taker(physics), self._readers.layout()
        self._configuration = Configuration(scene, physics)
        self._driven = driven
        self._by_name = {
            k.actor.get_name(): k.actor for k in self._actors.known.values()
        }
        numbered = {
            f"{k.actor.get_name()}#{k.number}": k.actor
            for k in self._actors.known.values()
        }
        self._settings = Settings(scene, physics, self.configuration, numbered)
        self._dtype = np.float64 if physics.uses_double_precision() else np.float32
        self._bytes = physics.DynamicArrayUint8()
        self._handles: dict[int, Any] = {}
        self._forces: dict[str, list[float]] = {}
        self._form, self._tries = FORMS[0], TRIES
        self.taken: list[bytes] = []
        self.states = bytearray()

    # -- what it is --------------------------------------------------------------------

    def topology(self) -> list[tuple[str, str]]:
        """Names and kinds of the actors."""
        return [(k.actor.get_name(), k.kind) for k in self._actors.known.values()]

    def fields(self) -> list[tuple[str, str, list[int]]]:
        """What a read gives; see `messages.Made`."""
        names = {n: info.name for n, info in self._names.actors.items()}
        return [
            (names[f.actor], f.name, list(f.shape))
            for frame in self._readers.frames()
            for f in frame.fields
        ]

    @property
    def dtype(self) -> str:
        """Of a state's numbers."""
        return np.dtype(self._dtype).str

    def configuration(self) -> dict[str, Any]:
        """The persistent configuration, by name."""
        return self._configuration.read(self._actors.known.values())

    # -- operations --------------------------------------------------------------------

    def do(self, one: m.Operation) -> Any:
        """Do one; what it gives, if it asks for something."""
        match one:
            case m.Step():
                self._scene.step(one.h_s)
            case m.Apply():
                self._apply(one.actor, one.field, one.values)
            case m.Read():
                self.taken.append(self._read(b""))
                self.states.append(self._judged(one.expected))
            case m.Compare():
                self.states.append(self._compared(one.data))
            case m.Restore():
                self._scene.restore_state(self._handles[one.handle], False)
            case m.Capture():
                self._handles[one.handle] = self._scene.capture_state()
            case m.Release():
                self._scene.release_state(self._handles.pop(one.handle))
            case m.RestoreBytes():
                self._restore(one.data)
            case m.Configure():
                self._settings.set(one.values)
            case m.EditState():
                self._place(one)
            case m.Check():
                self._check(one.data)
            case m.AskConfiguration():
                values = self.configuration()
                return [values, digest(values)]
            case m.AskState():
                return self._state()
        return None

    def reads(self) -> bytes:
        """What was read since it was last asked."""
        taken, self.taken = self.taken, []
        return self._layout.columns(b"".join(taken)).tobytes()

    # -- states ------------------------------------------------------------------------

    def _state(self) -> bytes:
        self._bytes.clear()
        self._scene.capture_state_to_bytes(self._bytes)
        return bytes(self._bytes)

    def _restore(self, data: bytes) -> None:
        self._scene.restore_state_from_bytes(np.frombuffer(data, np.uint8))

    def _place(self, one: m.EditState) -> None:
        known = self._actors.known.values()
        place(self._physics, known, one.actor, one.field, one.component, one.value)

    def _check(self, data: bytes) -> None:
        own = self._state()
        if data[:HEAD] != own[:HEAD]:
            raise SnapshotError("it is of another build of the engine")
        if _told_length(own) == len(own) and _told_length(data) != len(data):
            raise SnapshotError(f"it is cut or damaged: {len(data)} bytes")
        before = self._scene.capture_state()
        try:
            self._restore(data)
        except Exception as error:
            raise SnapshotError(f"the engine refuses it: {error}") from error
        finally:
            self._scene.restore_state(before, True)

    def _judged(self, expected: bytes) -> int:
        """Whether the whole state is the recorded one, by its digest."""
        if not expected:
            return m.UNKNOWN
        forms = FORMS if self._tries > 0 else ()
        if self._in_some_form(lambda: state_digest(self._state()) == expected, forms):
            self._tries = TRIES
            return m.EQUAL
        self._tries -= 1
        return m.UNKNOWN

    def _compared(self, data: bytes) -> int:
        """Whether the whole state is a snapshot's."""
        scene, here = self._scene, self._scene.capture_state()
        self._restore(data)
        there = scene.capture_state()
        scene.restore_state(here, True)

        def same() -> bool:
            now = scene.capture_state()
            found: bool = scene.is_equal_state(now, there)
            scene.release_state(now)
            return found

        equal = self._in_some_form(same, FORMS)
        scene.release_state(there)
        return m.EQUAL if equal else m.OTHER

    def _in_some_form(self, equal: Callable[[], bool], forms: tuple[str, ...]) -> bool:
        """Whether the state is the recorded one, however the forces were set there.

        A state also holds which components of the external forces were set, zeros too,
        and of that a recording has the values only. So they are set again as others may
        have set them, until it is equal; which of these it was stays for the next.
        """
        if equal():
            return True
        before = self._form
        if not self._forces:
            return False
        for form in forms:
            if form != before:
                self._set_forces(form)
                if equal():
                    return True
        if forms:
            self._set_forces(before)
        return False

    def _set_forces(self, form: str) -> None:
        self._form = form
        for actor, values in self._forces.items():
            self._force(actor, values)

    # -- control inputs ----------------------------------------------------------------

    def _apply(self, name: str, field: str, data: bytes) -> None:
        values = np.frombuffer(data, self._dtype).tolist()
        if field == "force":
            self._forces[name] = values
            self._force(name, values)
        else:
            self._by_name[name].set_articulated_target_pose(values)

    def _force(self, name: str, values: list[float]) -> None:
        if self._form == "all":
            chosen = list(range(len(values)))
        elif self._form == "nonzero":
            chosen = [k for k, value in enumerate(values) if value != 0]
        else:
            chosen = self._driven.get(f"{name}/force", [])
        actor = self._by_name[name]
        if chosen:
            actor.set_external_forces_on_dofs(chosen, [values[k] for k in chosen])
        else:
            actor.clear_external_forces()


def _told_length(data: bytes) -> int:
    """How long a snapshot says that it is, in bytes; -1 where it ends before."""
    end = LENGTH_AT + 8
    if len(data) < end:
        return -1
    return end + int.from_bytes(data[LENGTH_AT:end], "little")
