"""An engine for re-simulation from any scene that keeps `isoscope.core.scene`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.errors import IsoscopeError
from isoscope.core.recording.labelled.records import DIGEST_BYTES
from isoscope.core.replay.engine import ReplayError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.recording.tracks import Array
    from isoscope.core.scene import Scene

CAUSE = "replay"
# What a recording's native control inputs were set with.
SETTERS = {"force": "set_dof_forces", "target": "set_targets"}
# Told with the configuration, and never set: they are what the scene is made of.
FIXED = ("model", "integrator")


class SceneEngine:
    """A scene as `isoscope.core.replay.engine.Engine` has it.

    Parameters
    ----------
    scene
        Closed with the engine.
    device
        Where it computes, for people.
    """

    def __init__(self, scene: Scene, device: str = "") -> None:
        self._scene = scene
        self._device = device
        self._rows = {row.name: row for row in scene.rows}
        self._actors = {actor.name: actor.index for actor in scene.actors}
        self._told: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """See `Engine.name`."""
        return f"{self._scene.engine}{f' on {self._device}' if self._device else ''}"

    @property
    def worlds(self) -> int:
        """W."""
        return self._scene.worlds

    @property
    def scene(self) -> Scene:
        """The scene itself, for a task's own mapping from actions to inputs."""
        return self._scene

    def has(self, actor: str, field: str) -> bool:
        """Whether `read` can give this field."""
        row = self._rows.get(actor)
        return row is not None and field in row.fields

    # -- persistent configuration ------------------------------------------------------

    def configuration(self) -> Mapping[str, Any]:
        """The persistent configuration as plain values."""
        if self._told is None:
            found = self._scene.persistent_configuration().items()
            self._told = {name: np.asarray(value).tolist() for name, value in found}
        return self._told

    def configuration_digest(self) -> bytes:
        """As the tap records it."""
        return bytes.fromhex(self._scene.configuration_fingerprint())[:DIGEST_BYTES]

    def configure(self, values: Mapping[str, Any]) -> None:
        """Set what differs; see `Engine.configure`.

        Some values are held to others (a lower limit to the upper one), so what is
        refused is tried again after the others.
        """
        waiting = {
            name: value
            for name, value in values.items()
            if name not in FIXED and not same_value(value, self.configuration()[name])
        }
        while waiting:
            refused: dict[str, IsoscopeError] = {}
            for name, value in waiting.items():
                there = np.asarray(self._scene.persistent_configuration()[name])
                try:
                    self._scene.configure(name, filled(value, there))
                except IsoscopeError as error:
                    refused[name] = error
            self._told = None
            if len(refused) == len(waiting):
                raise next(iter(refused.values()))
            waiting = {name: waiting[name] for name in refused}

    # -- states ------------------------------------------------------------------------

    def check_bytes(self, data: bytes) -> None:
        """See `Engine.check_bytes`."""
        self._scene.release(self._scene.state_from_bytes(data))

    def restore_bytes(self, data: bytes, worlds: Sequence[int] | None = None) -> None:
        """Go to a snapshot's state, in all worlds or in these."""
        handle = self._scene.state_from_bytes(data)
        mask = None if worlds is None else self._mask(np.asarray(worlds, np.int64))
        self._scene.restore(handle, True, mask)

    def state_bytes(self) -> bytes:
        """The present state as a snapshot's bytes."""
        handle = self._scene.capture()
        try:
            return self._scene.state_to_bytes(handle)
        finally:
            self._scene.release(handle)

    def capture(self) -> int:
        """Keep the present state; a handle."""
        return self._scene.capture()

    def restore(self, handle: int) -> None:
        """Go back to a kept state."""
        self._scene.restore(handle)

    def release(self, handle: int) -> None:
        """Forget a kept state."""
        self._scene.release(handle)

    # -- stepping ----------------------------------------------------------------------

    def apply(self, actor: str, field: str, values: Array, worlds: Array) -> None:
        """Set a native control input [n, size] in worlds int64 [n].

        Raises
        ------
        ReplayError
            For an input that the scene doesn't have.
        """
        setter, index = SETTERS.get(field), self._actors.get(actor)
        if setter is None or index is None:
            raise ReplayError(
                f"applying {field} to {actor}: the scene has no such control input"
            )
        whole = np.zeros((self.worlds, values.shape[1]), values.dtype)
        whole[worlds] = values
        up = self._scene.to_device(whole, CAUSE)
        getattr(self._scene, setter)(index, up, self._mask(worlds))

    def step(self, h_s: float, worlds: Array) -> None:
        """Advance worlds int64 [n] by h; the others stay as they are."""
        self._scene.step(h_s, self._mask(worlds))

    def read(self, actor: str, field: str, worlds: Array) -> Array:
        """A recorded field of worlds int64 [n], [n, *shape]."""
        only = None if len(worlds) == self.worlds else worlds.tolist()
        return self._scene.read(self._rows[actor].index, field, only)

    def edit_state(
        self,
        actor: str,
        field: str,
        component: int | str | None,
        value: Sequence[float],
        world: int,
    ) -> None:
        """See `isoscope.core.replay.branch.editing.StateEditing`."""
        from isoscope.core.replay.branch.scene_state import edit_scene_state

        edit_scene_state(self._scene, actor, field, component, value, world)

    def close(self) -> None:
        """Close the scene."""
        self._scene.close()

    def _mask(self, worlds: Array) -> Any:
        if len(worlds) == self.worlds:
            return None
        mask = np.zeros(self.worlds, np.bool_)
        mask[worlds] = True
        return self._scene.to_device(mask, CAUSE)


def same_value(recorded: Any, here: Any) -> bool:
    """Whether a recorded value is this one; None in it stands for not finite."""
    if isinstance(recorded, list) or isinstance(here, list):
        if not (isinstance(recorded, list) and isinstance(here, list)):
            return False
        return len(recorded) == len(here) and all(
            same_value(one, two) for one, two in zip(recorded, here, strict=True)
        )
    if recorded is None:
        return isinstance(here, float) and not np.isfinite(here)
    return bool(recorded == here)


def filled(recorded: Any, there: Array) -> Array:
    """A recorded value as an array, with what is there for None."""
    given = np.array(recorded, object)
    none = np.frompyfunc(lambda one: one is None, 1, 1)(given)
    missing = np.asarray(none, np.bool_)  # of a single number it is no array
    if not missing.any():
        return np.array(recorded, there.dtype)
    own = np.broadcast_to(there, given.shape)
    return np.where(missing, own, given).astype(there.dtype)
