"""Native steps as they were read: how they are told, and how they are taken apart.

Whoever steps a scene has no time to hash states and to fill in tables. What it read is
told as it is, many steps in one blob, and taken apart where streams are merged: into
rows of ``native`` and of the frames that go with them.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from itertools import islice
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
# A step begins with these; what was read of the scene's state follows. `left` is where
# the state begins in which the scene was before, -1 for that of the step before it;
# `begin` and `end` enclose the state after it, all within `Taken.states`.
HEAD = np.dtype(
    [
        *((name, "<i4") for name in ("left", "begin", "end")),
        *((name, "<i4") for name in ("solver_status", "solver_iterations")),
        ("restored_from", "<i8"),
        *((name, "<f8") for name in ("solver_residual", "h_s", "scene_time_s")),
        ("wall_ns", "<i8"),
    ]
)
pack_head = struct.Struct("<5iq3dq").pack  # takes these, in order
HEAD_BYTES = HEAD.itemsize
_TOLD = tuple(c.name for c in NATIVE.columns if c.name in (HEAD.names or ()))
_ZERO = int(StepKind.ZERO)
_ABSENT = bytes(DIGEST_BYTES)


class Taken(NamedTuple):
    """Native steps of one environment that follow each other.

    Attributes
    ----------
    env, episode, control_step
        Whose they are.
    substep
        Of the first.
    kind
        Of all that have a length.
    process, thread
        Where.
    gravity, digest
        Of the configuration.
    states
        Those that were taken, end to end.
    left
        Where the state begins in which the scene is after all of them, where that is
        none that a step led to; else -1.
    steps
        Each a `HEAD` and the values that go with it, end to end.
    """

    env: int
    episode: int
    control_step: int
    substep: int
    kind: int
    process: int
    thread: int
    gravity: Sequence[float]
    digest: bytes
    states: bytes
    left: int
    steps: bytes


_PLACED = ("env", "episode", "control_step", "kind", "process", "thread", "gravity")


class Layout(NamedTuple):
    """How the values of a step lie in its bytes.

    Attributes
    ----------
    dtype
        Of all.
    width
        How many there are.
    order
        For the columns of the frames, end to end: which of them each is. A value may
        be told in several columns.
    """

    dtype: str
    width: int
    order: Sequence[int]

    def columns(self, values: bytes) -> Array:
        """Of steps that lie end to end, the columns of their frames [n, columns]."""
        told = np.frombuffer(values, self.dtype).reshape(-1, self.width)
        columns: Array = told[:, np.array(self.order, np.int64)]
        return columns


def add_raw_table(
    intake: Intake, frames: Sequence[Frame], scene: int, layout: Layout
) -> Buffer:
    """Add a table of raw native steps to an intake that is going to be merged.

    A row of it is a blob: see `encoded`.

    Parameters
    ----------
    frames
        What goes with each step.
    scene
        Its number.
    layout
        Of a step's values.
    """
    about = {
        "frames": [frame.table for frame in frames],
        "scene": scene,
        "layout": [layout.dtype, layout.width, list(layout.order)],
    }
    with intake.lock:
        schema = Schema(f"{KIND}{len(intake.buffers)}", COLUMNS)
        return intake.buffers[intake.add_table(schema, {KIND: about})]


def encoded(items: Sequence[bytes | tuple[int, tuple[Any, ...]]]) -> bytes:
    """The content of a row.

    Parameters
    ----------
    items
        In order: the state in which the scene is; steps, the fields of a `Taken`, with
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
    layout
        Of a step's values.

    Raises
    ------
    ValueError
        If they are of another form; also where contents are, in `expand`.
    """

    def __init__(
        self, frames: Mapping[int, Schema], scene: int, layout: Layout
    ) -> None:
        self._scene = scene
        self._frames = []
        for table, schema in frames.items():
            if [c.name for c in schema.columns] != ["row", "values", "valid"]:
                raise ValueError("raw steps with a frame of another form")
            width = np.empty(0, schema.dtype)["values"].shape[1]
            self._frames.append((table, schema.dtype, width))
        self._order = np.array(layout.order, np.int64)
        values = np.dtype(layout.dtype)
        if (
            values.kind != "f"
            or layout.width < 0
            or len(self._order) != sum(width for *_, width in self._frames)
            or not ((self._order >= 0) & (self._order < layout.width)).all()
        ):
            raise ValueError("raw steps whose values are not their frames'")
        self._step = np.dtype([("head", HEAD), ("values", values, (layout.width,))])
        self._state = b"", _ABSENT  # and its digest
        self._left: dict[int, tuple[bytes, bytes]] = {}  # by environment

    def expand(self, contents: Sequence[Any]) -> Expanded:
        """Take contents apart."""
        told: list[bytes | tuple[int, Taken]] = []
        for content in contents:
            try:
                for item in msgspec.msgpack.decode(content):
                    if not isinstance(item, bytes):
                        row, taken = item
                        item = int(row), Taken(*taken)
                    told.append(item)
            except msgspec.MsgspecError as error:
                raise ValueError(f"raw steps that can't be read: {error}") from None
        items = [item for item in told if not isinstance(item, bytes)]
        counts = [self._count(taken) for _, taken in items]
        steps = np.frombuffer(b"".join(t.steps for _, t in items), self._step)
        before, after = self._digests(told, counts, steps["head"])
        natives = np.zeros(len(steps), NATIVE.dtype)
        for name in _TOLD:
            natives[name] = steps["head"][name]
        for name in _PLACED:
            each = _column([getattr(taken, name) for _, taken in items], name)
            natives[name] = np.repeat(each, counts, axis=0)
        natives["kind"][natives["h_s"] == 0] = _ZERO
        natives["scene"] = self._scene
        ahead = np.arange(len(steps)) - np.repeat(np.cumsum([0, *counts])[:-1], counts)
        substeps = _column([taken.substep for _, taken in items], "substep")
        natives["substep"] = np.repeat(substeps, counts) + ahead
        numbers = np.repeat(np.array([row for row, _ in items], np.int64), counts)
        natives["digest_before"], natives["digest_after"] = _rows(before), _rows(after)
        configured = _rows([taken.digest for _, taken in items])
        natives["configuration_digest"] = np.repeat(configured, counts, axis=0)
        numbers += ahead
        return Expanded(numbers, natives, self._framed(steps["values"], numbers))

    def _count(self, taken: Taken) -> int:
        count, rest = divmod(len(taken.steps), self._step.itemsize)
        if rest:
            raise ValueError("raw steps whose values are not their frames'")
        return count

    def _digests(
        self, told: Sequence[bytes | tuple[int, Taken]], counts: list[int], head: Array
    ) -> tuple[list[bytes], list[bytes]]:
        """Of the states before and after each step."""
        before: list[bytes] = []
        after: list[bytes] = []
        each = iter(counts)
        parts = zip(*(head[n].tolist() for n in ("left", "begin", "end")), strict=True)
        for item in told:
            if isinstance(item, bytes):
                self._state = item, state_digest(item)
                continue
            taken = item[1]
            states, env, within = taken.states, taken.env, 0
            for left, begin, end in islice(parts, next(each)):
                if left >= 0:
                    self._between(_part(states, within, left, begin), env)
                before.append(self._state[1])
                state = _part(states, within, begin, end)
                self._state = self._left[env] = state, state_digest(state)
                after.append(self._state[1])
                within = end
            if taken.left >= 0:
                self._between(_part(states, within, taken.left, len(states)), env)
        return before, after

    def _between(self, state: bytes, env: int) -> None:
        """Take in the state that the scene is in now; hashed where it's another one."""
        left = self._left.get(env, self._state)
        if state == left[0]:
            self._state = left
        elif state != self._state[0]:
            self._state = state, state_digest(state)

    def _framed(self, values: Array, numbers: Array) -> list[tuple[int, Array]]:
        """The frames' rows."""
        if not len(numbers):
            return []
        in_order = values[:, self._order]
        at, found = 0, []
        for table, dtype, width in self._frames:
            packed = np.empty(len(numbers), dtype)
            packed["row"], packed["valid"] = numbers, 1
            packed["values"] = in_order[:, at : at + width]
            at += width
            found.append((table, packed))
        return found


def state_digest(state: bytes) -> bytes:
    """BLAKE2b of a captured state, `DIGEST_BYTES` long."""
    return blake2b(state, digest_size=DIGEST_BYTES).digest()


def _part(states: bytes, within: int, begin: int, end: int) -> bytes:
    """One of states that lie end to end."""
    if not within <= begin <= end <= len(states):
        raise ValueError("raw steps whose states are not there")
    return states[begin:end]


def _column(values: list[Any], name: str) -> Array:
    """Values of a column of ``native``, as numbers that fit."""
    dtype = NATIVE.dtype[name]
    told = np.array(values, np.float64 if dtype.base.kind == "f" else np.int64)
    column = told.reshape(-1, *dtype.shape).astype(dtype.base)
    if dtype.base.kind == "i" and not np.array_equal(column, told):
        raise ValueError(f"raw steps with a {name} that is out of range")
    return column


def _rows(digests: list[bytes]) -> Array:
    """uint8 [n, DIGEST_BYTES]."""
    padded = (digest[:DIGEST_BYTES].ljust(DIGEST_BYTES, b"\0") for digest in digests)
    return np.frombuffer(b"".join(padded), np.uint8).reshape(-1, DIGEST_BYTES)
