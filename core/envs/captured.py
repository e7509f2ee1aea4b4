"""All that makes an environment go on as it would have: captured, as plain JSON.

Random streams, counts, flags, draws, queues and noise, and the scene's state as bytes.
Arrays are written as dtype, shape and base64 of their bytes, so that a float comes back
with all its bits and NaN stays the NaN it was.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from isoscope.core.envs.arrays import like
from isoscope.core.envs.errors import NotResetError, StateError
from isoscope.core.envs.streams import StreamsState  # noqa: TC001 - msgspec reads it

if TYPE_CHECKING:
    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.scene import Array

SCHEMA: Literal["isoscope.lanes/1"] = "isoscope.lanes/1"


class ArrayState(msgspec.Struct, frozen=True):
    """An array: NumPy's name of its dtype, its shape, its bytes in base64."""

    dtype: str
    shape: tuple[int, ...]
    data: str


class LanesState(msgspec.Struct, frozen=True, kw_only=True):
    """A lane group between two steps."""

    schema: Literal["isoscope.lanes/1"] = SCHEMA
    task: str
    key: str
    engine: str
    streams: tuple[StreamsState, ...]
    arrays: dict[str, ArrayState]
    draws: dict[str, ArrayState]
    disturbances: dict[str, ArrayState]
    scene: str


def capture_lanes(lanes: LaneGroup) -> LanesState:
    """Capture a lane group between two steps; changes nothing.

    Raises
    ------
    NotResetError
        If a step or a reset was interrupted, or it shares a scene and was never reset.
    """
    if lanes.interrupted or (lanes.shared and lanes.own is None):
        raise NotResetError(f"capturing env {lanes.envs[0]}: reset it first")
    scene = lanes.handle.enter(lanes.envs[0])
    lanes.settle()
    handle = lanes.own if lanes.own is not None else lanes.handle.capture()
    try:
        data = scene.state_to_bytes(handle)
    finally:
        if lanes.own is None:
            lanes.handle.release(handle)

    def packed(arrays: dict[str, Array]) -> dict[str, ArrayState]:
        return {
            name: pack(scene.to_host(array, "captured environment"))
            for name, array in arrays.items()
        }

    disturbing = lanes.disturbing
    return LanesState(
        task=lanes.task.name,
        key=lanes.task.key(),
        engine=scene.engine,
        streams=tuple(s.capture() for s in lanes.streams),
        arrays=packed(_arrays(lanes)),
        draws=packed(lanes.draws.values),
        disturbances={} if disturbing is None else packed(disturbing.state),
        scene=base64.b64encode(data).decode(),
    )


def restore_lanes(lanes: LaneGroup, state: LanesState) -> None:
    """Go on from a captured state.

    Raises
    ------
    StateError
        If it is another task's, has other lanes, or is damaged; nothing was changed.
    IsoscopeError
        If the scene refuses its part; nothing was changed.
    """
    scene = lanes.handle.enter(lanes.envs[0])
    doing = f"restoring env {lanes.envs[0]}"
    if (state.task, state.key) != (lanes.task.name, lanes.task.key()):
        raise StateError(
            f"{doing}: the state is of {state.task} ({state.key}), this is "
            f"{lanes.task.name} ({lanes.task.key()})"
        )
    if len(state.streams) != len(lanes.envs):
        raise StateError(
            f"{doing}: the state has {len(state.streams)} lanes, here are "
            f"{len(lanes.envs)}"
        )
    mine = _arrays(lanes)
    disturbing = {} if lanes.disturbing is None else lanes.disturbing.state
    arrays = _unpacked(doing, state.arrays, mine)
    moved = _unpacked(doing, state.disturbances, disturbing)
    drawn = {name: unpack(a, f"{doing}, {name}") for name, a in state.draws.items()}
    try:
        data = base64.b64decode(state.scene, validate=True)
    except (binascii.Error, ValueError):
        raise StateError(f"{doing}: the scene's part is no base64") from None
    handle = scene.state_from_bytes(data)

    lanes.settle()
    for streams, captured in zip(lanes.streams, state.streams, strict=True):
        streams.restore(captured)
    lanes.handle.restore(handle, env=lanes.envs[0])
    lanes.handle.resident = lanes
    if lanes.shared:
        lanes.close()
        lanes.own = handle
        lanes.handle.resident = lanes
    else:
        lanes.handle.release(handle)

    def up(array: np.ndarray[Any, Any]) -> Array:
        return scene.to_device(array, "captured environment")

    for name, array in arrays.items():
        setattr(lanes, name, like(up(array), mine[name]))
    for name, array in moved.items():
        disturbing[name] = like(up(array), disturbing[name])
    lanes.draws.put_back(
        {name: like(up(array), scene.velocities(0)) for name, array in drawn.items()}
    )
    lanes.view.draws, lanes.view.count = lanes.draws.values, lanes.count
    lanes.interrupted = False


def _arrays(lanes: LaneGroup) -> dict[str, Array]:
    names = ("count", "episode", "ready", "valid", "observation")
    return {name: getattr(lanes, name) for name in names}


def _unpacked(
    doing: str, states: dict[str, ArrayState], mine: dict[str, Array]
) -> dict[str, np.ndarray[Any, Any]]:
    if states.keys() != mine.keys():
        raise StateError(
            f"{doing}: the state has {', '.join(sorted(states)) or 'nothing'} where "
            f"{', '.join(sorted(mine)) or 'nothing'} is expected"
        )
    found = {name: unpack(s, f"{doing}, {name}") for name, s in states.items()}
    for name, array in found.items():
        if array.shape != tuple(mine[name].shape):
            raise StateError(
                f"{doing}, {name}: the state has the shape {array.shape} instead of "
                f"{tuple(mine[name].shape)}"
            )
    return found


def pack(array: np.ndarray[Any, Any]) -> ArrayState:
    """Write an array of numbers or booleans."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return ArrayState(
        array.dtype.name, array.shape, base64.b64encode(little.tobytes()).decode()
    )


def unpack(state: ArrayState, doing: str) -> np.ndarray[Any, Any]:
    """Read it back.

    Raises
    ------
    StateError
    """
    try:
        dtype = np.dtype(state.dtype)
        if dtype.kind not in "bif":
            raise TypeError(f"dtype {state.dtype}")
        data = base64.b64decode(state.data, validate=True)
        array = np.frombuffer(data, dtype.newbyteorder("<")).reshape(state.shape)
    except (TypeError, ValueError, binascii.Error) as error:
        raise StateError(f"{doing}: no such array ({error})") from None
    return array.astype(dtype)
