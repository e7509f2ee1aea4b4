"""Sort a batch of objects into templates, parsing a new one where none fits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.superdex.scan.filebytes import OutOfBoundsError
from isoscope.core.recording.superdex.scan.header import parse
from isoscope.core.recording.superdex.scan.match import Found, match
from isoscope.core.recording.superdex.scan.messages import UnrecognisedError

if TYPE_CHECKING:
    from isoscope.core.recording.superdex.scan.filebytes import FileBytes
    from isoscope.core.recording.superdex.scan.template import Template
    from isoscope.core.recording.tracks import Array, Int64Array

# In one batch: rows that could not be parsed, after which the rest is left to h5py.
_MAX_FAILURES = 16
# Templates parsed in one batch, at least; and one for so many rows.
_MIN_NEW, _ROWS_PER_NEW = 64, 8
_KEPT_PER_PLACE = 256
_SHARED = 8

Place = tuple[str, ...]


@dataclass(slots=True)
class Batch:
    """What became of one batch.

    Attributes
    ----------
    found
        The objects, by template.
    failed
        int64: rows that are left to h5py.
    """

    found: list[Found] = field(default_factory=list)
    failed: list[Int64Array] = field(default_factory=list)


class Classifier:
    """Keeps the templates seen so far, those that matched last first.

    They are kept by place (the path of the object inside its event); objects of one
    role, such as all the actors, also try those of each other.
    """

    def __init__(self, source: FileBytes) -> None:
        self.source = source
        self._by_place: dict[Place, list[Template]] = {}
        self._by_role: dict[str, list[Template]] = {}

    def templates(self, place: Place) -> list[Template]:
        """The templates of objects at this place, those that matched last first."""
        return self._by_place.get(place, [])

    def classify(
        self, place: Place, role: str, rows: Int64Array, addresses: Array
    ) -> Batch:
        """Find the template of every object.

        Parameters
        ----------
        rows
            int64 [n], ascending: which events of the block.
        addresses
            uint64 [n]: their objects' headers.
        """
        batch = Batch()
        known = self._by_place.setdefault(place, [])
        shared = self._by_role.setdefault(role, [])
        for template in [*known, *(t for t in shared if t not in known)]:
            if not len(rows):
                break
            rows, addresses = self._take(template, batch, rows, addresses)
        self._parse_new(batch, rows, addresses)
        batch.found.sort(key=len, reverse=True)
        used = [f.template for f in batch.found]
        self._by_place[place] = _front(used, known, _KEPT_PER_PLACE)
        self._by_role[role] = _front(used[:1], shared, _SHARED)
        return batch

    def _take(
        self, template: Template, batch: Batch, rows: Int64Array, addresses: Array
    ) -> tuple[Int64Array, Array]:
        """Take what fits the template; gives back the rest."""
        found = match(template, self.source, rows, addresses)
        if not len(found):
            return rows, addresses
        batch.found.append(found)
        rest = ~np.isin(rows, found.rows, assume_unique=True)
        return rows[rest], addresses[rest]

    def _parse_new(self, batch: Batch, rows: Int64Array, addresses: Array) -> None:
        budget = max(_MIN_NEW, len(rows) // _ROWS_PER_NEW)
        failures = 0
        while len(rows) and budget and failures < _MAX_FAILURES:
            middle = len(rows) // 2
            before = len(rows)
            row = int(rows[middle])
            try:
                template = parse(self.source, int(addresses[middle]))
            except (UnrecognisedError, OutOfBoundsError):
                template = None
            if template is not None:
                budget -= 1
                rows, addresses = self._take(template, batch, rows, addresses)
                if len(rows) < before and not np.isin(row, rows):
                    continue
            # Not accepted, or not even its own template's (a wrong checksum say).
            failures += 1
            batch.failed.append(np.array([row]))
            rest = rows != row
            rows, addresses = rows[rest], addresses[rest]
        if len(rows):
            batch.failed.append(rows)


def _front(used: list[Template], known: list[Template], most: int) -> list[Template]:
    """The used ones first, then the others, so many at most."""
    return [*used, *(t for t in known if t not in used)][:most]
