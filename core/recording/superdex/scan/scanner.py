"""Scan one block of events: every object of them, from the events down to datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.superdex.h5walk import MAX_VALUE_BYTES
from isoscope.core.recording.superdex.scan.block import ACTORS, Block

if TYPE_CHECKING:
    from isoscope.core.recording.superdex.scan.claims import Claims
    from isoscope.core.recording.superdex.scan.classify import Classifier, Place
    from isoscope.core.recording.superdex.scan.match import Found
    from isoscope.core.recording.tracks import Array, BoolArray, Int64Array

# Values of one dataset over the block: more, and h5py reads them one by one.
_MAX_COLUMN_BYTES = 1 << 27
_HANDLE_DIGITS = 19  # of which any number fits in 64 bits


def scan_block(classifier: Classifier, claims: Claims, addresses: Array) -> Block:
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
    everything = [found for parts in block.found.values() for found in parts]
    block.slow |= claims.contested(everything, count)
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
