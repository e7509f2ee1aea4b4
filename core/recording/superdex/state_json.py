"""The reader of a state that SuperDex wrote as JSON: one row, for looking at.

`Scene.capture_state_to_file` writes what a snapshot covers, component by component.
Components whose numbers equal a recording's (seen by recording and capturing the same
step with release 1.0.0) get the recording's names; all others keep their own, as
``Component/part``, without a unit. Such a file can't be restored by the engine: only
the binary snapshots can.

Releases 1.0.0 and 1.0.1 write different components. Neither writes gravity, meshes,
which actors are static, or the recording's clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.errors import ReadError, one_line
from isoscope.core.recording.model import Actor, Recording
from isoscope.core.recording.problems import ProblemLog
from isoscope.core.recording.superdex.state_fields import (
    actor_fields,
    is_number,
    leaves,
)
from isoscope.core.recording.tracks import FieldTable, Track

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.source import Cancel, Progress
    from isoscope.core.recording.tracks import Array

FORMAT = "superdex-state"
MAX_BYTES = 1 << 27
_KEYS = (b'"actors"', b'"scene"', b'"constraints"')
NOT_RESTORABLE = (
    "a state written as JSON is for looking at: the engine can't restore it; "
    "capture_state_to_bytes makes one that it can"
)


def sniff(path: Path, head: bytes) -> bool:
    """Whether it is JSON that speaks of actors or a scene."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"{") and any(key in start for key in _KEYS)


def open_source(path: Path) -> StateSource:
    """Open a state; raises ReadError."""
    return StateSource(path)


class StateSource:
    """An opened state; see :class:`isoscope.core.recording.source.Source`."""

    def __init__(self, path: Path) -> None:
        self.recording = _recording(path, _parse(path))

    @property
    def event_count(self) -> int:
        """The one state."""
        return 1

    def preview(self, event: int | None = None) -> Recording | None:
        """Give the state itself, unless a later event is asked for."""
        return None if event else self.recording

    def index(
        self, progress: Progress | None = None, cancelled: Cancel | None = None
    ) -> None:
        """Do nothing more: the state was read on opening."""
        if progress is not None:
            progress(1, 1)

    def close(self) -> None:
        """Do nothing: the file was closed on opening."""


def _parse(path: Path) -> dict[str, Any]:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ReadError(
            "reading the state",
            path,
            f"it has {size} bytes, which is more than a state's JSON may have",
        )
    content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        state = msgspec.json.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ReadError(
            "reading the state",
            path,
            f"the JSON is broken or cut ({one_line(error)})",
            remedy="capture it again",
        ) from None
    if not isinstance(state, dict) or not any(
        isinstance(state.get(key), dict) for key in ("actors", "scene")
    ):
        raise ReadError(
            "reading the state",
            path,
            "JSON, but no state of a scene",
            remedy="Scene.capture_state_to_file writes one",
        )
    return state


def _recording(path: Path, state: dict[str, Any]) -> Recording:
    recording = Recording(path, FORMAT, size_bytes=path.stat().st_size)
    problems = ProblemLog(recording.problems)
    problems.tell(NOT_RESTORABLE)
    scene = _dict(state.get("scene"))
    components = {
        key: _dict(entry.get("components"))
        for key, entry in _dict(state.get("actors")).items()
        if isinstance(entry, dict)
    }
    real = _precision(components)
    recording.scene = _table(leaves(scene, np.dtype(np.float64)))
    for key, entry in _dict(state.get("actors")).items():
        if not isinstance(entry, dict):
            problems.tell("actor that is no object", f"actors/{key}", "error")
            continue
        handle = entry.get("_handle")
        if type(handle) is not int or not 0 <= handle < 1 << 64:
            problems.tell("actor without a handle", f"actors/{key}")
            handle = 0
        recording.actors.append(
            Actor(
                index=len(recording.actors),
                handle=handle,
                name=_text(entry.get("_name"), key),
                type=_text(entry.get("_type"), "unknown"),
                static=None,
                created_native=0,
                fields=_table(actor_fields(components[key], real)),
            )
        )
    steps = _number(_dict(scene.get("CSceneStepCounter")).get("value"))
    time = _dict(scene.get("CSceneTime"))
    h_s = _number(time.get("_deltaSeconds")) if steps > 0 else float("nan")
    recording.steps.append(
        np.array([0], np.int64),
        np.array([np.nan]),
        np.array([h_s]),
        np.full((1, 3), np.nan),
        # _totalSeconds is when the last step began; the engine's own
        # get_total_simulation_time gives this sum.
        np.array(
            [_number(time.get("_totalSeconds")) + _number(time.get("_deltaSeconds"))]
        ),
    )
    recording.real = real if components else None
    recording.expected_steps = 1
    recording.complete = True
    recording.notes["restore"] = NOT_RESTORABLE
    if not np.isnan(steps):
        recording.notes["steps_taken"] = f"{steps:.0f}"
    constraints = state.get("constraints")
    if isinstance(constraints, dict):
        recording.notes["constraints"] = str(len(constraints))
    return recording


def _precision(components: dict[str, dict[str, Any]]) -> np.dtype[np.floating]:
    """float32 if each number of the actors is one, else float64.

    JSON doesn't say what the engine computed in, but writes every digit.
    """
    single = np.dtype(np.float32)
    for component in components.values():
        for value in leaves(component, np.dtype(np.float64)).values():
            if value.dtype.kind == "f":
                with np.errstate(over="ignore"):
                    narrow = value.astype(single)
                if not np.array_equal(narrow.astype(np.float64), value):
                    return np.dtype(np.float64)
    return single


def _table(fields: dict[str, Array]) -> FieldTable:
    return FieldTable({name: Track.of(value[None]) for name, value in fields.items()})


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any, otherwise: str) -> str:
    return value if isinstance(value, str) and value else otherwise


def _number(value: Any) -> float:
    return float(value) if is_number(value) else float("nan")
