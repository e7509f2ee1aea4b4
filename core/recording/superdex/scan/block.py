"""Scan one block of events: every object of them, from the events down to datasets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.superdex.events import Event
from isoscope.core.recording.superdex.h5walk import MAX_VALUE_BYTES

if TYPE_CHECKING:
    from isoscope.core.recording.superdex.scan.classify import Classifier, Place
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


def scan_block(classifier: Classifier, addresses: Array) -> Block:
    """Scan the events whose headers are at these addresses (uint64 [n])."""
    count = len(addresses)
    block = Block(classifier.source, np.zeros(count, np.bool_))
    scanner = _Scanner(classifier, block)
    scanner.group((), "event", np.arange(count), addresses)
    scanner.children((), "event data")
    if (ACTORS,) in block.found:
        scanner.children((ACTORS,), "actor")
        for place in [p for p in block.found if len(p) == 2 and p[0] == ACTORS]:
            scanner.children(place, "actor data")
    return block


class _Scanner:
    def __init__(self, classifier: Classifier, block: Block) -> None:
        self.classifier, self.block = classifier, block

    def group(
        self, place: Place, role: str, rows: Int64Array, addresses: Array
    ) -> None:
        """Find what is at this place; a dataset where a group is due is h5py's."""
        self._objects(place, role, rows, addresses, dataset=False)

    def children(self, place: Place, role: str) -> None:
        """Find the children of all groups at this place."""
        rows: dict[str, list[Int64Array]] = {}
        addresses: dict[str, list[Array]] = {}
        for found in self.block.found.get(place, []):
            for link in found.template.links:
                rows.setdefault(link.name, []).append(found.rows)
                addresses.setdefault(link.name, []).append(
                    found.pointers(link.piece, link.offset)
                )
        for name, parts in rows.items():
            all_rows = np.concatenate(parts)
            all_addresses = np.concatenate(addresses[name])
            order = np.argsort(all_rows, kind="stable")
            all_rows, all_addresses = all_rows[order], all_addresses[order]
            wanted = ~self.block.slow[all_rows]
            # An event's `actors`, and what is in it, are groups; all else is data.
            self._objects(
                (*place, name),
                ACTORS if place == () and name == ACTORS else role,
                all_rows[wanted],
                all_addresses[wanted],
                dataset=not (place == (ACTORS,) or (place == () and name == ACTORS)),
            )

    def _objects(
        self,
        place: Place,
        role: str,
        rows: Int64Array,
        addresses: Array,
        *,
        dataset: bool,
    ) -> None:
        batch = self.classifier.classify(place, role, rows, addresses)
        for failed in batch.failed:
            self.block.slow[failed] = True
        kept = self.block.found[place] = []
        for found in batch.found:
            values = found.template.values
            good = (values is not None) == dataset and (
                values is None
                or (
                    values.nbytes <= MAX_VALUE_BYTES
                    and (
                        len(found) == 1
                        or len(found) * values.nbytes <= _MAX_COLUMN_BYTES
                    )
                )
            )
            if place == (ACTORS,) and found.template.attributes:
                good = False
            if good and _names_differ(found):
                kept.append(found)
            else:
                self.block.slow[found.rows] = True


def _names_differ(found: Found) -> bool:
    """Whether no child has the name of an attribute: one would hide the other."""
    names = {a.name for a in found.template.attributes}
    return names.isdisjoint(link.name for link in found.template.links)


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


def judge_steps(block: Block) -> BoolArray:
    """Which events are Steps (bool [n]); odd ones among them are marked as slow.

    A Step is taken as a column only where it has its times and gravity and where each
    actor's group is named by its handle: what else there may be, the row-wise way
    knows how to take.
    """
    steps: BoolArray = np.zeros(len(block.slow), np.bool_)
    for found in block.found.get((), []):
        kind = found.template.attribute("eventType")
        if kind is None or kind.dtype.kind != "S" or kind.shape != ():
            block.slow[found.rows] = True
            continue
        is_step = found.field(kind.piece, kind.offset, kind.dtype) == b"Step"
        steps[found.rows] = is_step
        if not _has_times(found):
            block.slow[found.rows[is_step]] = True
    for place, parts in block.found.items():
        if len(place) == 2 and place[0] == ACTORS:
            for found in parts:
                block.slow[found.rows[~_named_by_handle(found, place[1])]] = True
    return steps


def _has_times(found: Found) -> bool:
    for name, shape in (("timeTotal", ()), ("timeStep", ()), ("gravity", (3,))):
        attribute = found.template.attribute(name)
        if (
            attribute is None
            or attribute.shape != shape
            or attribute.dtype.kind not in "fiu"
        ):
            return False
    return True


def _named_by_handle(found: Found, name: str) -> BoolArray:
    """Bool [n]: whether the actor's group has its handle's number as its name."""
    attribute = found.template.attribute("handle")
    number = int(name) if name.isdecimal() and len(name) <= _HANDLE_DIGITS else -1
    if (
        attribute is None
        or attribute.shape != ()
        or attribute.dtype.kind != "u"
        or str(number) != name
    ):
        return np.zeros(len(found), np.bool_)
    values = found.field(attribute.piece, attribute.offset, attribute.dtype)
    named: BoolArray = values == np.uint64(number)
    return named
