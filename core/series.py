"""One number a row out of a field: what a plot draws and a table's column holds.

A fixed field gives one component, by its flat index. A ragged field, whose length
varies from row to row, gives a measure of each row: how many points it holds, or the
sum or the largest of their norms. A row in which the field is absent, or odd, has no
number; an empty row has a count and a sum of 0 but no largest norm.

Axis order: rows first; units are those of the field, except that a count has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np

from isoscope.core.recording.labelled.records import Field
from isoscope.core.recording.near import near
from isoscope.core.recording.schema import FIELDS, meaning
from isoscope.core.recording.tracks import RaggedWindow

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import AnyTrack, Array, BoolArray, Int64Array

Measure: TypeAlias = Literal["count", "sum", "max"]
MEASURES: dict[Measure, str] = {
    "count": "how many a step",
    "sum": "sum of the norms a step",
    "max": "largest norm a step",
}
# In the place of an actor's index: the control steps' own fields.
CONTROL = -1
_NUMERIC = "fiub"
# Where bodies are, then how they move, then what acts on them, then the rest.
_KINDS = (
    "pose",
    "target",
    "velocity",
    "contact",
    "distance",
    "solver",
    "other",
    "identity",
)
_SCHEMA_ORDER = {name: at for at, name in enumerate(FIELDS)}


class Reference(Protocol):
    """What names a series: an actor (None: the step itself), a field, a part of it."""

    @property
    def actor(self) -> int | None:
        """Index of the actor; `CONTROL` for what goes with control steps."""
        ...

    @property
    def field(self) -> str:
        """Name of the field."""
        ...

    @property
    def component(self) -> int | None:
        """Flat index into a row's values; None means all of them."""
        ...

    @property
    def measure(self) -> Measure | None:
        """Of a ragged field: what is taken of each row; None means the count."""
        ...


def field_order(name: str) -> tuple[int, int, str]:
    """To sort fields by: their kind, then as the schema lists them, then by name."""
    known = _SCHEMA_ORDER.get(name, len(_SCHEMA_ORDER))
    return _KINDS.index(meaning(name).kind), known, name


def track_of(recording: Recording, ref: Reference) -> AnyTrack | None:
    """The track that is referred to, or None where the recording has none."""
    if ref.actor is None:
        return recording.scene.get(ref.field)
    if ref.actor == CONTROL:
        return recording.control.get(ref.field)
    if not 0 <= ref.actor < len(recording.actors):
        return None
    return recording.actors[ref.actor].fields.get(ref.field)


def is_numeric(track: AnyTrack) -> bool:
    """Whether the field holds numbers at all."""
    return track.dtype.kind in _NUMERIC


def component_count(track: AnyTrack) -> int:
    """Values of a row of a fixed field; 1 for a ragged one, which gives a measure."""
    if track.ragged:
        return 1
    return int(np.prod(track.shape, dtype=np.int64))


def told_by(track: AnyTrack | None) -> Field | None:
    """What a labelled recording says of a field; None where it is another kind's."""
    found = getattr(track, "field", None)
    return found if isinstance(found, Field) else None


def unit_told(field: str, track: AnyTrack | None) -> str | None:
    """The unit of a field's values, as the recording says it or the schema knows it."""
    told = told_by(track)
    if told is not None and told.unit is not None:
        return told.unit
    return meaning(field).unit


def component_names(
    field: str, shape: tuple[int, ...], track: AnyTrack | None = None
) -> list[str]:
    """A short name for each flat index of a row: ``x``, ``3``, ``2.z``; ``""`` if one.

    The last axis takes the names of the schema where their number fits.
    """
    if shape == ():
        return [""]
    told = told_by(track)
    if told is not None and len(told.names) == int(np.prod(shape, dtype=np.int64)):
        return list(told.names)
    known = meaning(field).components
    last = known if len(known) == shape[-1] else [str(i) for i in range(shape[-1])]
    names = list(last)
    for size in reversed(shape[:-1]):
        names = [f"{i}.{name}" for i in range(size) for name in names]
    return names


def values_a_point(field: str) -> int:
    """How many values of a ragged field make one point: 3 for a vector, else 1."""
    return len(meaning(field).components) or 1


def unit_of(ref: Reference, track: AnyTrack | None) -> str | None:
    """The unit of what the reference names; None where it is unknown."""
    if track is not None and track.ragged and (ref.measure or "count") == "count":
        return ""
    return unit_told(ref.field, track)


class FieldRows:
    """The rows of one series of a recording; see `isoscope.core.decimate.Rows`.

    Parameters
    ----------
    recording
        For the number of rows, which may grow.
    track
        A track of it that holds numbers.
    field
        The track's name.
    component
        Flat index, of a fixed field.
    measure
        Of a ragged field.
    """

    def __init__(
        self,
        recording: Recording,
        track: AnyTrack,
        field: str,
        component: int = 0,
        measure: Measure | None = None,
    ) -> None:
        self.recording = recording
        self.track = track
        self.component = component
        self.measure: Measure = measure or "count"
        self._a_point = values_a_point(field)
        self._size = component_count(track)

    def __len__(self) -> int:
        """Rows of the recording; those the track doesn't cover can't be drawn."""
        return len(self.recording)

    @property
    def settled(self) -> int:
        """How many rows, from the first, never change any more."""
        return self.settled_for(None)

    def settled_for(self, row: int | None) -> int:
        """The same, of the rows of one environment, which this row is of."""
        settled_for = getattr(self.track, "settled_for", None)
        rows = len(self)
        return rows if settled_for is None else min(settled_for(row), rows)

    def read(self, start: int, stop: int) -> tuple[Array, BoolArray]:
        """Rows start .. stop: float64 [n], and where there is a finite number."""
        window = self.track.read(start, stop)
        if isinstance(window, RaggedWindow):
            values = self._measured(window)
        else:
            flat = window.values.reshape(stop - start, self._size)
            values = flat[:, self.component].astype(np.float64)
        return values, window.valid & np.isfinite(values)

    def pick(self, rows: Int64Array) -> tuple[Array, BoolArray]:
        """These rows, ascending: float64 [n], and where there is a finite number."""
        if len(rows) == 0:
            return np.zeros(0), np.zeros(0, np.bool_)
        pick = getattr(self.track, "pick", None)
        if pick is not None:  # the rows lie far apart, and it can find them
            found, valid = pick(rows)
            flat = found.reshape(len(valid), -1)
            values = flat[:, self.component].astype(np.float64)
            return values, valid & np.isfinite(values)
        values, drawable = np.empty(len(rows)), np.empty(len(rows), np.bool_)
        for part in near(rows):
            at = rows[part] - rows[part.start]
            window = self.track.read(int(rows[part.start]), int(rows[part][-1]) + 1)
            if isinstance(window, RaggedWindow):
                values[part] = self._measured(window)[at]
            else:
                flat = window.values.reshape(len(window.valid), -1)
                values[part] = flat[at, self.component]
            drawable[part] = window.valid[at] & np.isfinite(values[part])
        return values, drawable

    def at(self, row: int) -> float | None:
        """The number in one row, also if it isn't finite; None where there is none."""
        value = None if row in self.track.odd else self.track.at(row)
        if value is None:
            return None
        if not self.track.ragged:
            return float(value.reshape(-1)[self.component])
        if value.size == 0 and self.measure == "max":
            return None
        return float(self.read(row, row + 1)[0][0])

    def _measured(self, window: RaggedWindow) -> Array:
        lengths, a_point = np.diff(window.offsets), self._a_point
        counts = lengths // a_point
        if self.measure == "count":
            return counts.astype(np.float64)
        result = np.full(len(counts), 0.0 if self.measure == "sum" else np.nan)
        if (lengths % a_point).any():  # not made of whole points: nothing to measure
            result[lengths % a_point > 0] = np.nan
            for row in np.flatnonzero((lengths > 0) & (lengths % a_point == 0)):
                begin, end = window.offsets[row], window.offsets[row + 1]
                norms = _norms(window.values[begin:end], a_point)
                result[row] = norms.sum() if self.measure == "sum" else norms.max()
            return result
        filled = counts > 0
        if filled.any():
            reduce = np.add if self.measure == "sum" else np.maximum
            starts = window.offsets[:-1][filled] // a_point
            result[filled] = reduce.reduceat(_norms(window.values, a_point), starts)
        return result


def _norms(values: Array, a_point: int) -> Array:
    points = values.reshape(-1, a_point).astype(np.float64)
    norms: Array = np.sqrt(np.einsum("ij,ij->i", points, points))
    return norms
