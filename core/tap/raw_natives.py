"""Native steps as they were read: how they are told, and how they are taken apart.

Whoever steps a scene has no time to hash states and to fill in tables. What it read is
told as it is, many steps in one blob, and taken apart where streams are merged: into
rows of ``native`` and of the frames that go with them.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from isoscope.core.recording.labelled.records import DIGEST_BYTES
from isoscope.core.recording.labelled.tables import NATIVE, Column, Schema
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.recording.labelled.buffers import Buffer
    from isoscope.core.recording.labelled.frames import Frame
    from isoscope.core.recording.labelled.intake import Intake
    from isoscope.core.recording.tracks import Array

KIND = "raw"
COLUMNS = (Column("content", "<i4", (), None, "bytes"),)
_ABSENT = bytes(DIGEST_BYTES)
_ZERO = int(StepKind.ZERO)


class Step(NamedTuple):
    """A native step.

    Attributes
    ----------
    end
        Where in `Taken.states` the state after it ends; it begins where the one before
        ends.
    told
        Columns of ``native`` from the solver's status to its residual.
    values
        Of the frames, end to end.
    """

    end: int
    h_s: float
    scene_time_s: float
    wall_ns: int
    told: tuple[int, int, float]
    restored_from: int
    values: list[Any]


class Between(NamedTuple):
    """The state became another one between native steps.

    Attributes
    ----------
    end
        As in `Step`: of the state that it became.
    """

    end: int


BETWEEN = len(Between._fields)


class Taken(NamedTuple):
    """Native steps of one environment that follow each other.

    Attributes
    ----------
    place
        Columns of ``native`` up to the control step.
    substep
        Of the first.
    kind
        Of all that have a length.
    where
        Process and thread.
    gravity, digest
        Of the configuration.
    states
        Those that were taken, end to end.
    steps
        Each a `Step` or a `Between`.
    """

    place: tuple[int, int, int]
    substep: int
    kind: int
    where: tuple[int, int]
    gravity: tuple[float, ...]
    digest: bytes
    states: bytes
    steps: list[tuple[Any, ...]]


def add_raw_table(intake: Intake, frames: Sequence[Frame], scene: int) -> Buffer:
    """Add a table of raw native steps to an intake that is going to be merged.

    A row of it is a blob: see `encoded`.

    Parameters
    ----------
    frames
        What goes with each step, end to end in its values.
    scene
        Its number.
    """
    about = {"frames": [frame.table for frame in frames], "scene": scene}
    with intake.lock:
        schema = Schema(f"{KIND}{len(intake.buffers)}", COLUMNS)
        return intake.buffers[intake.add_table(schema, {KIND: about})]


def encoded(items: Sequence[bytes | tuple[int, Taken]]) -> bytes:
    """The content of a row.

    Parameters
    ----------
    items
        In order: the state in which the scene is; steps with the number of the first.
    """
    return msgspec.msgpack.encode(items)


class Expanded(NamedTuple):
    """Native steps that were taken apart.

    Attributes
    ----------
    numbers
        Of the rows, int64 [n].
    natives
        Rows of ``native``, structured [n].
    frames
        Rows of frames, structured [n], with the table's number.
    """

    numbers: Array
    natives: Array
    frames: list[tuple[int, Array]]


class RawNatives:
    """Takes the rows of one raw table apart.

    Parameters
    ----------
    frames
        The tables of its frames with their schemas, in order.
    scene
        The scene's number.

    Raises
    ------
    ValueError
        If they are of another form; also where contents are, in `expand`.
    """

    def __init__(self, frames: Mapping[int, Schema], scene: int) -> None:
        self._scene = scene
        self._frames = []
        for table, schema in frames.items():
            if [c.name for c in schema.columns] != ["row", "values", "valid"]:
                raise ValueError("raw steps with a frame of another form")
            width = np.empty(0, schema.dtype)["values"].shape[1]
            self._frames.append((table, schema.dtype, width))
        self._width = sum(width for *_, width in self._frames)
        self._state = b"", _ABSENT  # and its digest
        self._left: dict[int, tuple[bytes, bytes]] = {}  # by environment

    def expand(self, contents: Sequence[Any]) -> Expanded:
        """Take contents apart."""
        rows = _Rows()
        for content in contents:
            try:
                for item in msgspec.msgpack.decode(content):
                    if isinstance(item, bytes):
                        self._state = item, state_digest(item)
                    else:
                        row, taken = item
                        self._take(int(row), Taken(*taken), rows)
            except (msgspec.MsgspecError, struct.error) as error:
                raise ValueError(f"raw steps that can't be read: {error}") from None
        packed = b"".join(rows.natives)
        natives = np.frombuffer(packed, NATIVE.dtype).copy()
        numbers = np.array(rows.numbers, np.int64)
        return Expanded(numbers, natives, self._framed(rows, numbers))

    def _take(self, row: int, taken: Taken, rows: _Rows) -> None:
        place, substep, kind, where, gravity, digest, states, steps = taken
        env, begin, pack = place[0], 0, NATIVE.packer.pack
        for step in steps:
            state = states[begin : step[0]]
            begin = step[0]
            if len(step) == BETWEEN:
                self._between(state, env)
                continue
            _, h_s, time_s, wall_ns, told, restored_from, values = step
            before = self._state[1]
            self._state = self._left[env] = state, state_digest(state)
            whole = kind if h_s else _ZERO
            native = pack(
                *(*place, substep, whole, self._scene, h_s, time_s, wall_ns, *where),
                *(*gravity, *told, before, self._state[1], digest, restored_from, 0.0),
            )
            rows.natives.append(native)
            rows.numbers.append(row)
            rows.values.append(values)
            row += 1
            substep += 1

    def _between(self, state: bytes, env: int) -> None:
        """Take in the state that the scene is in now; hashed where it's another one."""
        left = self._left.get(env, self._state)
        if state == left[0]:
            self._state = left
        elif state != self._state[0]:
            self._state = state, state_digest(state)

    def _framed(self, rows: _Rows, numbers: Array) -> list[tuple[int, Array]]:
        """The frames' rows."""
        if not self._frames or not len(numbers):
            return []
        values = np.array(rows.values, np.float64).reshape(len(numbers), -1)
        if values.shape[1] != self._width:
            raise ValueError("raw steps whose values are not their frames'")
        at, found = 0, []
        for table, dtype, width in self._frames:
            packed = np.empty(len(numbers), dtype)
            packed["row"], packed["valid"] = numbers, 1
            packed["values"] = values[:, at : at + width]
            at += width
            found.append((table, packed))
        return found


class _Rows:
    """What was taken apart of one packet, by step."""

    def __init__(self) -> None:
        self.natives: list[bytes] = []
        self.numbers: list[int] = []
        self.values: list[list[Any]] = []


def state_digest(state: bytes) -> bytes:
    """BLAKE2b of a captured state, `DIGEST_BYTES` long."""
    return blake2b(state, digest_size=DIGEST_BYTES).digest()
