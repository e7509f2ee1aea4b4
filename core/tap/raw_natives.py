"""Native steps as one row of bytes each: how they lie, and how they are taken apart.

Whoever steps a scene has no time to hash states and to fill in several tables. It packs
a step into a row of a table of its own, which is taken apart where streams are merged,
many rows at once: into rows of ``native`` and of the frames that go with them.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoscope.core.recording.labelled.records import DIGEST_BYTES
from isoscope.core.recording.labelled.tables import NATIVE, Column, Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.recording.labelled.buffers import Buffer
    from isoscope.core.recording.labelled.frames import Frame
    from isoscope.core.recording.labelled.intake import Intake
    from isoscope.core.recording.tracks import Array

KIND = "raw"
_HEAD = (Column("raw_row", "<i8", (), ""), Column("raw_before", "<i8", (), ""))
_FIXED = len(_HEAD) + len(NATIVE.columns)


def add_raw_table(intake: Intake, frames: Sequence[Frame], state_bytes: int) -> Buffer:
    """Add a table of raw native steps to an intake that is going to be merged.

    A row of it is the step's number (see `Intake.add_native`); the number of the step
    after which the scene was as it was before this one, -1 where `digest_before` says
    it; a row of ``native``, whose time and digests of states are filled in later; the
    values of the frames, all of which are present; the state after the step.

    Parameters
    ----------
    frames
        What goes with each step.
    state_bytes
        Length of the state; 0 where rows have its digest instead.
    """
    columns = [*_HEAD, *NATIVE.columns]
    for k, frame in enumerate(frames):
        width = frame.slices[-1].stop
        columns.append(Column(f"values{k}", frame.dtype.str, (width,)))
    if state_bytes:
        # Packed as a digest is: as bytes.
        state = Column("state", "|u1", (state_bytes,), None, "digest")
        columns.append(state)
    about = {"frames": [frame.table for frame in frames]}
    with intake.lock:
        schema = Schema(f"{KIND}{len(intake.buffers)}", tuple(columns))
        return intake.buffers[intake.add_table(schema, {KIND: about})]


class Expanded(NamedTuple):
    """Native steps that were taken apart.

    Attributes
    ----------
    numbers
        Of the rows, int64 [n].
    natives
        Rows of ``native``, structured [n].
    frames
        Rows of frames, structured [n] each, by the table's number.
    """

    numbers: Array
    natives: Array
    frames: list[tuple[int, Array]]


class RawNatives:
    """Takes the rows of one raw table apart.

    Parameters
    ----------
    schema
        Its columns.
    frames
        The tables of its frames with their schemas, in order.

    Raises
    ------
    ValueError
        If they don't go together.
    """

    def __init__(self, schema: Schema, frames: Mapping[int, Schema]) -> None:
        columns = schema.columns
        end = _FIXED + len(frames)
        more = columns[end:]
        if columns[:_FIXED] != (*_HEAD, *NATIVE.columns) or len(columns) < end:
            raise ValueError("raw steps of another form")
        if len(more) > 1 or any(c.dtype != "|u1" or len(c.shape) != 1 for c in more):
            raise ValueError("raw steps with more than a state")
        self._frames = []
        pairs = zip(columns[_FIXED:end], frames.items(), strict=True)
        for column, (table, frame) in pairs:
            form = np.empty(0, frame.dtype)
            if [c.name for c in frame.columns] != ["row", "values", "valid"]:
                raise ValueError("raw steps with a frame of another form")
            if form["values"].dtype.str != column.dtype or (
                form["values"].shape[1:] != column.shape
            ):
                raise ValueError("raw steps whose values are not their frame's")
            self._frames.append((table, column.name, frame.dtype))
        names = [(c.name, c.dtype, c.shape) for c in columns[_FIXED:]]
        self._dtype = np.dtype(
            [("row", "<i8"), ("before", "<i8"), ("native", NATIVE.dtype), *names]
        )
        # The state is the last of a row.
        self._size = more[0].size if more else 0
        self._at = self._dtype.itemsize - self._size
        # By environment its last step and the digest of the state after it.
        self._last: dict[int, int] = {}
        self._digests: dict[int, bytes] = {}

    def expand(self, rows: Array) -> Expanded:
        """Take rows apart, structured [n]."""
        raw = np.ascontiguousarray(rows).view(self._dtype)
        natives = raw["native"].copy()
        numbers = raw["row"].copy()
        if self._size and len(raw):
            self._hash(raw, natives, numbers)
        frames = []
        for table, name, dtype in self._frames:
            packed = np.empty(len(raw), dtype)
            packed["row"], packed["values"], packed["valid"] = numbers, raw[name], 1
            frames.append((table, packed))
        return Expanded(numbers, natives, frames)

    def _hash(self, raw: Array, natives: Array, numbers: Array) -> None:
        """Fill in the digests of the states before and after."""
        at, size, step = self._at, self._size, raw.dtype.itemsize
        content = raw.view(np.uint8).data
        last, known = self._last, self._digests
        afters = bytearray()
        befores: list[tuple[int, bytes]] = []
        columns = numbers, raw["before"], natives["env"]
        told = zip(*(column.tolist() for column in columns), strict=True)
        for k, (row, before, env) in enumerate(told):
            digest = blake2b(content[at : at + size], digest_size=DIGEST_BYTES).digest()
            at += step
            afters += digest
            if before >= 0:
                befores.append((k, known.get(before, _ABSENT)))
            known.pop(last.get(env, -1), None)
            last[env], known[row] = row, digest
        natives["digest_after"] = np.frombuffer(afters, np.uint8).reshape(
            -1, DIGEST_BYTES
        )
        if befores:
            places, digests = zip(*befores, strict=True)
            found = np.frombuffer(b"".join(digests), np.uint8)
            natives["digest_before"][list(places)] = found.reshape(-1, DIGEST_BYTES)


_ABSENT = bytes(DIGEST_BYTES)
