"""Frames: values that go with the rows of a table, filled in where they will be kept.

A frame has a fixed list of fields of one dtype and a flat vector of values a row. It
belongs to one thread. What isn't marked as present is absent.
"""

from __future__ import annotations

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


class Frame:
    """Values of some fields, a vector a row; made by `Recorder.frame`.

    Attributes
    ----------
    fields
        What is in it, in order.
    slices
        By field its place in `values`.
    values
        The next row's vector [width]: fill it in, then hand the frame to
        `Recorder.native` or `Recorder.transition`, after which this is another array.
    valid
        uint8 [fields]: set 1 where the field is present in the next row. Begins as 0.
    """

    __slots__ = (
        "_buffer",
        "_flat",
        "_intake",
        "_sizes",
        "fields",
        "slices",
        "valid",
        "values",
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
        self._next()

    def _next(self) -> None:
        buffer = self._buffer
        row = buffer.rows[buffer.count]
        self.values: Array = row["values"]
        self.valid: Array = row["valid"]

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
            buffer.rows["row"][buffer.count] = row
            self._intake.filled(buffer)
        self._next()


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
