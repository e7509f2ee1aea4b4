"""Frames: values that go with the rows of a table, filled in where they will be kept.

A frame has a fixed list of fields of one dtype and a flat vector of values a row. It
belongs to one thread. What isn't marked as present is absent.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.recording.labelled.tables import Column, Schema, pool_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.labelled.buffers import Buffer
    from isoscope.core.recording.labelled.intake import Intake
    from isoscope.core.recording.labelled.records import Field
    from isoscope.core.recording.tracks import Array

OVER = ("native", "transitions")
_ROW = struct.Struct("<q")  # a frame's first column
_CODES = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "<u8": "Q", "|u1": "B"}


class Frame:
    """Values of some fields, a vector a row; made by `Recorder.frame`.

    Attributes
    ----------
    fields
        What is in it, in order.
    slices
        By field its place in `values`.
    """

    __slots__ = (
        "_all",
        "_buffer",
        "_intake",
        "_packer",
        "_row_bytes",
        "_sizes",
        "_valid",
        "_values",
        "fields",
        "slices",
    )

    def __init__(
        self, intake: Intake, fields: Sequence[Field], dtype: Any, over: str, scene: int
    ) -> None:
        self.fields = tuple(fields)
        sizes = [int(np.prod(f.shape, dtype=np.int64)) for f in self.fields]
        ends = np.cumsum([0, *sizes]).tolist()
        self.slices = [slice(a, b) for a, b in pairwise(ends)]
        self._sizes = sizes
        kind = np.dtype(dtype)
        pool_of(kind)
        columns = (
            Column("row", "<i8", (), ""),
            Column("values", kind.str, (ends[-1],)),
            Column("valid", "|u1", (len(sizes),), ""),
        )
        about = {
            "over": over,
            "scene": scene,
            "fields": [msgspec.structs.asdict(f) for f in self.fields],
        }
        self._intake = intake
        with intake.lock:  # the name is the number of the table
            schema = Schema(f"frame{len(intake.buffers)}", columns)
            table = intake.add_table(schema, {"frame": about})
        self._buffer: Buffer = intake.buffers[table]
        self._row_bytes = schema.dtype.itemsize
        code = _CODES.get(columns[1].dtype)
        self._packer = (
            struct.Struct(f"<{ends[-1]}{code}{len(sizes)}s") if code else None
        )
        self._all = b"\1" * len(sizes)
        self._values: Array | None = None
        self._valid: Array | None = None

    @property
    def table(self) -> int:
        """The number of its table."""
        return self._buffer.table

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its values."""
        kind: np.dtype[Any] = self._buffer.rows.dtype["values"].base
        return kind

    @property
    def values(self) -> Array:
        """The next row's vector [width].

        Fill it in, then hand the frame to `Recorder.native` or `Recorder.transition`,
        after which this is another array.
        """
        if self._values is None:
            buffer = self._buffer
            self._values = buffer.rows[buffer.count]["values"]
        return self._values

    @property
    def valid(self) -> Array:
        """uint8 [fields]: set 1 where the field is present in the next row; first 0."""
        if self._valid is None:
            buffer = self._buffer
            self._valid = buffer.rows[buffer.count]["valid"]
        return self._valid

    def fill(self, values: Sequence[float]) -> None:
        """Fill in all fields of the next row at once: [width] plain numbers.

        Raises
        ------
        struct.error
            If there are more or fewer numbers, or they don't fit the dtype.
        """
        packer, buffer = self._packer, self._buffer
        if packer is None:
            self.values[...] = values
            self.valid[...] = 1
            return
        at = buffer.count * self._row_bytes + _ROW.size
        packer.pack_into(buffer.raw, at, *values, self._all)

    def put(self, index: int, value: Any) -> None:
        """Fill in one field of the next row: its value [*shape], of any number type.

        Raises
        ------
        ValueError
            If it is of another size.
        """
        place = self.slices[index]
        flat = np.asarray(value).reshape(-1)
        if flat.size != self._sizes[index]:
            field = self.fields[index]
            raise ValueError(
                f"{field.name} has {flat.size} components, not {self._sizes[index]}"
            )
        self.values[place] = flat
        self.valid[index] = 1

    def commit(self, row: int) -> None:
        """Keep the vector as that of a row; -1, a refused one, clears it."""
        buffer = self._buffer
        if row < 0 or self._intake.stopped:
            self.valid[...] = 0
            return
        with self._intake.lock:
            _ROW.pack_into(buffer.raw, buffer.count * self._row_bytes, row)
            self._intake.filled(buffer)
        self._values = self._valid = None

    def extend(self, rows: Array, values: Array, valid: Array) -> None:
        """Keep the vectors of many rows at once; the caller holds the intake's lock.

        Parameters
        ----------
        rows
            int64 [n], ascending.
        values
            [n, width].
        valid
            [n, fields]: where a field is present.
        """
        if self._intake.stopped:
            return
        packed = np.zeros(len(rows), self._buffer.schema.dtype)
        packed["row"], packed["values"], packed["valid"] = rows, values, valid
        self._intake.extend(self._buffer.table, packed)
        self._values = self._valid = None


@dataclass(frozen=True, slots=True)
class Ragged:
    """A field whose length varies from row to row; made by `Recorder.ragged`."""

    intake: Intake
    field: Field
    rows: int
    elements: int

    @classmethod
    def make(
        cls, intake: Intake, field: Field, dtype: Any, over: str, scene: int
    ) -> Ragged:
        """Add its two tables."""
        kind = np.dtype(dtype)
        pool_of(kind)
        value = Column("value", kind.str, field.shape)
        ends = (Column("row", "<i8", (), ""), Column("end", "<i8", (), ""))
        about = {
            "over": over,
            "scene": scene,
            "field": msgspec.structs.asdict(field),
        }
        with intake.lock:
            number = len(intake.buffers)
            elements = intake.add_table(Schema(f"elements{number}", (value,)))
            rows = intake.add_table(
                Schema(f"ragged{number}", ends),
                {"ragged": {**about, "elements": elements}},
            )
        return cls(intake, field, rows, elements)

    def put(self, row: int, values: Any) -> None:
        """Keep a row's entries [n, *shape]; a refused row's are not kept.

        Raises
        ------
        ValueError
            If they are of another shape.
        """
        buffer = self.intake.buffers[self.elements]
        entries = np.asarray(values).reshape(-1, *self.field.shape)
        if row < 0 or self.intake.stopped:
            return
        packed = np.zeros(len(entries), buffer.schema.dtype)
        packed["value"] = entries
        with self.intake.lock:
            self.intake.extend(self.elements, packed)
            rows = self.intake.buffers[self.rows]
            rows.rows[rows.count] = (row, len(buffer))
            self.intake.filled(rows)
