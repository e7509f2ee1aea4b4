"""The list of a file's events: by number, whatever order the file keeps them in."""

from __future__ import annotations

from array import array
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from h5py import h5, h5i, h5l

from isoscope.core.errors import CancelledError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from h5py import h5g

    from isoscope.core.recording.source import Cancel
    from isoscope.core.recording.tracks import Int64Array

_MAX_DIGITS = 18  # an int64 holds any such number
_AT_ONCE = 1 << 14  # entries listed before other threads get a turn
_BYTES_PER_LINK = 64  # of heap and index, about
_MOST_ROOM = 1 << 28


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


def list_events(events: h5g.GroupID, stops: Cancel | None = None) -> Listing:
    """List the events of this group, by hard links only.

    The library is let go of now and then, so that another thread can read an event
    while a million are listed.

    Raises
    ------
    RuntimeError or OSError
        From libhdf5, if the list is damaged.
    CancelledError
        If `stops` said so, which is asked now and then.
    """
    names: list[bytes] = []
    kinds = bytearray()
    addresses = array("Q")

    def take(name: bytes, link: h5l.LinkInfo) -> bool | None:
        # Here for each of up to a million events: no more than needed.
        names.append(name)
        addresses.append(link.u)
        kinds.append(link.type)
        return True if len(names) == _AT_ONCE else None

    numbers: list[Int64Array] = []
    found: list[np.ndarray[tuple[int], np.dtype[np.uint64]]] = []
    strange: list[bytes] = []
    elsewhere: list[bytes] = []
    more, start = True, 0
    with _room_for(events, events.get_num_objs()):
        while more:
            if stops is not None and stops():
                raise CancelledError("listing the events was stopped")
            # By the index that names are looked up in, so that what is listed can be
            # opened, and in its own order: any other would be sorted anew each time.
            more, start = events.links.iterate(
                take, idx_type=h5.INDEX_NAME, order=h5.ITER_NATIVE, idx=start, info=True
            )
            part = _numbers(names)
            numbered = part >= 0
            hard = np.frombuffer(kinds, np.uint8) == h5l.TYPE_HARD
            if not numbered.all():
                strange += [names[i] for i in np.flatnonzero(~numbered)]
            if not hard.all():
                elsewhere += [names[i] for i in np.flatnonzero(numbered & ~hard)]
            numbers.append(part[numbered & hard])
            found.append(np.array(addresses, np.uint64)[numbered & hard])
            names, kinds, addresses = [], bytearray(), array("Q")
    unsorted = np.concatenate(numbers)
    order = np.argsort(unsorted, kind="stable")
    told = [
        *_told("link that leads elsewhere was not followed", elsewhere),
        *_told("entry whose name is no event number", strange),
        *missing(unsorted[order]),
    ]
    return Listing(unsorted[order], np.concatenate(found)[order], told)


@contextmanager
def _room_for(events: h5g.GroupID, count: int) -> Iterator[None]:
    """Let the library hold a long list's heap, which it visits in no order."""
    size = min(count * _BYTES_PER_LINK, _MOST_ROOM)
    file = h5i.get_file_id(events)
    before = file.get_mdc_config()
    if size <= before.initial_size:
        yield
        return
    roomy = file.get_mdc_config()
    roomy.set_initial_size = True
    roomy.initial_size = size
    roomy.max_size = max(size, roomy.max_size)
    file.set_mdc_config(roomy)
    try:
        yield
    finally:
        before.set_initial_size = True
        file.set_mdc_config(before)


def _numbers(names: list[bytes]) -> Int64Array:
    """The numbers that these are the names of; -1 for "01", "x" and the like."""
    text = np.array(names, np.bytes_)
    try:
        numbers: Int64Array = text.astype(np.int64)
    except (ValueError, OverflowError):
        return np.array([_number(name) for name in names], np.int64)
    if len(names) and not (numbers.astype(text.dtype) == text).all():
        return np.array([_number(name) for name in names], np.int64)
    return numbers


def _number(name: bytes) -> int:
    if not name.isdigit() or len(name) > _MAX_DIGITS or (name[:1] == b"0" != name):
        return -1
    return int(name)


def _told(message: str, names: list[bytes]) -> list[tuple[str, str, int]]:
    """What to tell of these entries, if there are any."""
    if not names:
        return []
    first = names[0].decode("utf-8", "backslashreplace")
    return [(message, f"/events/{first}", len(names))]


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
