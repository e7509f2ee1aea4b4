"""The list of a file's events: by number, whatever order the file keeps them in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from h5py import h5, h5l

if TYPE_CHECKING:
    from h5py import h5g

    from isoscope.core.recording.tracks import Int64Array

_MAX_DIGITS = 18  # an int64 holds any such number


@dataclass(frozen=True, slots=True)
class Listing:
    """What /events lists.

    Attributes
    ----------
    numbers
        int64 [E]: event numbers, ascending. "10" comes after "2".
    addresses
        uint64 [E]: address of each event's object header in the file.
    told
        What is odd about the list: message, place, how many.
    """

    numbers: Int64Array
    addresses: np.ndarray[tuple[int], np.dtype[np.uint64]]
    told: list[tuple[str, str, int]] = field(default_factory=list)


def list_events(events: h5g.GroupID) -> Listing:
    """List the events of this group, by hard links only.

    Raises
    ------
    RuntimeError or OSError
        From libhdf5, if the list is damaged.
    """
    numbers: list[int] = []
    addresses: list[int] = []
    strange: list[str] = []
    elsewhere: list[str] = []

    def take(name: bytes, link: h5l.LinkInfo) -> None:
        # Here for each of up to a million events: no more than needed.
        digits = len(name)
        if not name.isdigit() or digits > _MAX_DIGITS or (digits > 1 and name[0] == 48):
            strange.append(name.decode("utf-8", "backslashreplace"))
        elif link.type != h5l.TYPE_HARD:
            elsewhere.append(name.decode())
        else:
            numbers.append(int(name))
            addresses.append(link.u)

    events.links.iterate(take, idx_type=h5.INDEX_NAME, info=True)
    found = np.array(numbers, np.int64)
    order = np.argsort(found, kind="stable")
    sorted_numbers = found[order]
    told = []
    if elsewhere:
        place = f"/events/{elsewhere[0]}"
        told.append(
            ("link that leads elsewhere was not followed", place, len(elsewhere))
        )
    if strange:
        told.append(
            (
                "entry whose name is no event number",
                f"/events/{strange[0]}",
                len(strange),
            )
        )
    told += missing(sorted_numbers)
    return Listing(sorted_numbers, np.array(addresses, np.uint64)[order], told)


def missing(numbers: Int64Array) -> list[tuple[str, str, int]]:
    """What to tell of numbers that are not there, between 0 and the last one."""
    if not len(numbers):
        return []
    count = int(numbers[-1]) + 1 - len(numbers)
    if count <= 0:
        return []
    holes = np.flatnonzero(numbers != np.arange(len(numbers)))
    first = int(holes[0])
    return [("event is missing", f"/events/{first}", count)]
