"""A block of events as far as it was scanned, and the values in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.superdex.events import Event

if TYPE_CHECKING:
    from isoscope.core.recording.superdex.scan.classify import Place
    from isoscope.core.recording.superdex.scan.filebytes import FileBytes
    from isoscope.core.recording.superdex.scan.match import Found
    from isoscope.core.recording.superdex.scan.template import Attribute
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array

ACTORS = "actors"
# Values of one dataset over the block: more, and h5py reads them one by one.
_MAX_COLUMN_BYTES = 1 << 27
_HANDLE_DIGITS = 19  # of which any number fits in 64 bits


@dataclass(slots=True)
class Block:
    """A block of n events as far as they could be scanned.

    Attributes
    ----------
    source
        Where the values are fetched from; its window is this block's.
    found
        For each place inside an event (``()`` the event itself, ``("actors", handle)``
        an actor, …) the objects there, by template.
    slow
        Bool [n]: events that h5py has to read.
    """

    source: FileBytes
    slow: BoolArray
    found: dict[Place, list[Found]] = field(default_factory=dict)
    _owners: dict[Place, tuple[Array, Array]] = field(default_factory=dict)

    def at(self, place: Place, row: int) -> tuple[Found, int] | None:
        """The object at this place of one event, and its row among its template's."""
        parts = self.found.get(place, [])
        if place not in self._owners:
            owner = np.full(len(self.slow), -1, np.int32)
            index = np.zeros(len(self.slow), np.int32)
            for number, found in enumerate(parts):
                owner[found.rows] = number
                index[found.rows] = np.arange(len(found))
            self._owners[place] = owner, index
        owner, index = self._owners[place]
        number = int(owner[row])
        return None if number < 0 else (parts[number], int(index[row]))

    def event(self, row: int, number: int) -> Event:
        """One event, as h5py would give it."""
        event = Event(number, {})
        self._fields((), row, event.fields)
        actors = self.at((ACTORS,), row)
        if actors is not None:
            for link in actors[0].template.links:
                fields = event.actors[link.name] = {}
                self._fields((ACTORS, link.name), row, fields)
        return event

    def _fields(self, place: Place, row: int, out: dict[str, Array]) -> None:
        there = self.at(place, row)
        if there is None:
            raise AssertionError(f"nothing was scanned at {place} of row {row}")
        found, index = there
        for attribute in found.template.attributes:
            out[attribute.name] = attribute_row(self.source, found, attribute, index)
        for link in found.template.links:
            if place == () and link.name == ACTORS:
                continue
            child = self.at((*place, link.name), row)
            if child is None:
                raise AssertionError(f"nothing was scanned at {place}/{link.name}")
            data, at = child
            out[link.name] = dataset_values(self.source, data, np.array([at]))[0].copy()
            for attribute in data.template.attributes:
                out[f"{link.name}@{attribute.name}"] = attribute_row(
                    self.source, data, attribute, at
                )


def attribute_row(
    source: FileBytes, found: Found, attribute: Attribute, index: int
) -> Array:
    """An attribute's value in one row, as its own array."""
    if attribute.shape is not None:
        values = found.field(
            attribute.piece, attribute.offset, attribute.dtype, attribute.shape
        )
        return np.array(values[index, ...])
    start, count = varying_runs(found, attribute)
    return source.runs(
        start[index : index + 1], count[index : index + 1], attribute.dtype
    )


def varying_runs(found: Found, attribute: Attribute) -> tuple[Int64Array, Int64Array]:
    """Where a varying attribute's values are, and how many: int64 [n] each."""
    piece = found.template.pieces[attribute.piece]
    return found.starts[attribute.piece] + piece.length, found.counts[attribute.piece]


def dataset_values(source: FileBytes, found: Found, index: Array) -> Array:
    """Values [k, *shape] of a dataset in these k rows among its template's."""
    values = found.template.values
    if values is None:
        raise AssertionError("a group has no values")
    if values.inline:
        inline = found.field(values.piece, values.offset, values.dtype, values.shape)
        return np.asarray(inline[index])
    starts = found.pointers(values.piece, values.offset)[index].astype(np.int64)
    raw = source.rows(starts, values.nbytes)
    if raw.shape[1] != values.nbytes:
        raw = np.ascontiguousarray(raw[:, : values.nbytes])
    return raw.view(values.dtype).reshape(len(starts), *values.shape)
