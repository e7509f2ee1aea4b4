"""Native steps as they were read: how they are told, and how they are taken apart.

Whoever steps a scene has no time to hash states and to fill in tables. What it read is
told as it is, many steps in one blob, and taken apart where streams are merged: into
rows of ``native`` and of the frames that go with them.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from itertools import pairwise
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
NO_LAYOUT = -1


class Step(NamedTuple):
    """A native step.

    Attributes
    ----------
    end
        Where in `Taken.states` the state after it ends; it begins where the one before
        ends.
    full
        All values of the frames; None where only `values` were read.
    told
        Columns of ``native`` from the solver's status to its residual.
    values
        What the layout doesn't have, all without one.
    layout
        Number of the `Place` by which the others lie in the state, or `NO_LAYOUT`.
    """

    end: int
    full: list[Any] | None
    h_s: float
    scene_time_s: float
    wall_ns: int
    told: tuple[int, int, float]
    restored_from: int
    values: list[Any]
    layout: int


class Between(NamedTuple):
    """What happened to the state between native steps.

    Attributes
    ----------
    end
        As in `Step`; where the one before ends if the state was not taken.
    what
        ``RESTORED``: the state is that of a handle, and was taken. ``KNOWN``: it was
        not. ``CAPTURED``: under a handle. ``RELEASED``: a handle. ``SETTLED``: taken
        to be compared with all of the row's values.
    about
        Value of the handle, -1 if it isn't known; or the values, none where there is
        nothing to be compared and what waits is to be let go of.
    """

    end: int
    what: int
    about: Any


RESTORED, KNOWN, CAPTURED, RELEASED, SETTLED = range(5)
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


class Place(NamedTuple):
    """Which values of the first frame lie in states of one length, and where.

    Rows with such values are told once a later state held all the values that were
    read with it.
    """

    number: int
    length: int
    places: list[int]
    offsets: list[int]


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


def encoded(items: Sequence[bytes | Place | tuple[int, Taken]]) -> bytes:
    """The content of a row.

    Parameters
    ----------
    items
        In order: the state in which the scene is; a place before it is used; steps with
        the number of the first.
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
        Rows of frames, structured, with the table's number and the layout whose check
        they wait for, or `NO_LAYOUT`; in order.
    checks
        Layout, row, and whether the rows up to this one hold.
    """

    numbers: Array
    natives: Array
    frames: list[tuple[int, Array, int]]
    checks: list[tuple[int, int, bool]]


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
        self.first = next(iter(frames), -1)
        self._scene = scene
        self._frames = []
        for table, schema in frames.items():
            if [c.name for c in schema.columns] != ["row", "values", "valid"]:
                raise ValueError("raw steps with a frame of another form")
            width = np.empty(0, schema.dtype)["values"].shape[1]
            self._frames.append((table, schema.dtype, width))
        self._width = sum(width for *_, width in self._frames)
        self._layouts: dict[int, _Cut] = {}
        self._layout = NO_LAYOUT  # the last one
        self._waits: dict[int, int] = {}  # by layout the last row that does
        self._state: tuple[bytes, bytes] = b"", _ABSENT  # and its digest
        self._left: dict[int, tuple[bytes, bytes]] = {}  # by environment
        self._handles: dict[int, tuple[bytes, bytes]] = {}

    def expand(self, contents: Sequence[Any]) -> Expanded:
        """Take contents apart."""
        rows = _Rows()
        for content in contents:
            try:
                for item in msgspec.msgpack.decode(content):
                    if isinstance(item, bytes):
                        self._state = item, state_digest(item)
                    elif len(item) == len(Place._fields):
                        place = Place(*item)
                        self._layouts[place.number] = self._cut(place)
                    else:
                        row, taken = item
                        self._take(int(row), Taken(*taken), rows)
            except (msgspec.MsgspecError, struct.error) as error:
                raise ValueError(f"raw steps that can't be read: {error}") from None
        packed = b"".join(rows.natives)
        natives = np.frombuffer(packed, NATIVE.dtype).copy()
        numbers = np.array(rows.numbers, np.int64)
        return Expanded(numbers, natives, self._framed(rows, numbers), rows.checks)

    def _take(self, row: int, taken: Taken, rows: _Rows) -> None:
        place, substep, kind, where, gravity, digest, states, steps = taken
        env, begin, pack = place[0], 0, NATIVE.packer.pack
        for step in steps:
            state = states[begin : step[0]]
            begin = step[0]
            if len(step) == BETWEEN:
                self._between(step[1], step[2], state, env, rows)
                continue
            _, full, h_s, time_s, wall_ns, told, restored_from, values, layout = step
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
            rows.states.append(state)
            rows.layouts.append(layout)
            if layout != NO_LAYOUT:
                self._layout, self._waits[layout] = layout, row
                if full is not None:
                    self._settle(rows, state, full)
            row += 1
            substep += 1

    # -- states ------------------------------------------------------------------------

    def _between(
        self, what: int, about: Any, state: bytes, env: int, rows: _Rows
    ) -> None:
        """Take in a `Between`."""
        if what == KNOWN:
            self._state = self._handles.get(about, (b"", _ABSENT))
        elif what == RELEASED:
            self._handles.pop(about, None)
        elif what == SETTLED:
            self._settle(rows, state, about)
        else:
            mine = self._left.get(env, self._state)
            if state == mine[0]:
                self._state = mine
            elif state != self._state[0]:
                self._state = state, state_digest(state)
            if what == CAPTURED:
                self._handles[about] = self._state

    # -- values ------------------------------------------------------------------------

    def _cut(self, place: Place) -> _Cut:
        if not self._frames:
            raise ValueError("raw steps with values of no frame")
        _, dtype, width = self._frames[0]
        return _Cut(place, np.empty(0, dtype)["values"].dtype, width)

    def _settle(self, rows: _Rows, state: bytes, full: list[Any]) -> None:
        """Say of what waits for the last layout's check whether it may be told."""
        last = self._waits.pop(self._layout, None)
        if last is not None:
            holds = self._layouts[self._layout].holds(state, full)
            rows.checks.append((self._layout, last, holds))

    def _framed(self, rows: _Rows, numbers: Array) -> list[tuple[int, Array, int]]:
        """The frames' rows, in runs of one layout."""
        if not self._frames or not len(numbers):
            return []
        layouts = np.array(rows.layouts, np.int64)
        starts = [0, *(np.flatnonzero(np.diff(layouts)) + 1).tolist(), len(layouts)]
        found = []
        for a, b in pairwise(starts):
            layout = int(layouts[a])
            values = np.array(rows.values[a:b], np.float64).reshape(b - a, -1)
            at = 0
            for k, (table, dtype, width) in enumerate(self._frames):
                packed = np.empty(b - a, dtype)
                packed["row"], packed["valid"] = numbers[a:b], 1
                if layout == NO_LAYOUT:
                    if values.shape[1] != self._width:
                        raise ValueError("raw steps whose values are not their frames'")
                    packed["values"] = values[:, at : at + width]
                elif not k:
                    cut = self._layouts[layout]
                    cut.fill(packed["values"], values, rows.states[a:b])
                else:
                    raise ValueError("raw steps with a layout of more than one frame")
                at += width
                found.append((table, packed, NO_LAYOUT if k else layout))
        return found


class _Rows:
    """What was taken apart of one packet, by step."""

    def __init__(self) -> None:
        self.natives: list[bytes] = []
        self.numbers: list[int] = []
        self.values: list[list[Any]] = []
        self.states: list[bytes] = []
        self.layouts: list[int] = []
        self.checks: list[tuple[int, int, bool]] = []


class _Cut:
    """Cuts values out of states."""

    def __init__(self, place: Place, dtype: Any, width: int) -> None:
        places, offsets = (np.array(p, np.int64) for p in place[2:])
        size = dtype.itemsize
        if (
            places.ndim != 1
            or places.shape != offsets.shape
            or not len(places)
            or (np.diff(places) <= 0).any()
            or not 0 <= places[0] <= places[-1] < width
            or offsets.min() < 0
            or offsets.max() + size > place.length
        ):
            raise ValueError("raw steps with values where there are none")
        self._dtype, self._length, self._width = dtype, place.length, width
        self._places = places
        self._others = np.setdiff1d(np.arange(width), places)
        self._bytes = (offsets[:, None] + np.arange(size)).reshape(-1)

    def _found(self, states: list[bytes]) -> Array:
        if any(len(state) != self._length for state in states):
            raise ValueError("raw steps with a state of another length")
        content = np.frombuffer(b"".join(states), np.uint8).reshape(len(states), -1)
        found: Array = np.ascontiguousarray(content[:, self._bytes]).view(self._dtype)
        return found

    def fill(self, into: Array, asked: Array, states: list[bytes]) -> None:
        into[:, self._places] = self._found(states)
        into[:, self._others] = asked

    def holds(self, state: bytes, full: list[Any]) -> bool:
        if len(state) != self._length or len(full) != self._width:
            return False
        told = np.array(full, self._dtype)[self._places]
        return told.tobytes() == self._found([state]).tobytes()


def state_digest(state: bytes) -> bytes:
    """BLAKE2b of a captured state, `DIGEST_BYTES` long."""
    return blake2b(state, digest_size=DIGEST_BYTES).digest()
