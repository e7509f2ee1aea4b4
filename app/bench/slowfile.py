"""Write a file that the fast scan does not know, to measure what the cache saves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py

if TYPE_CHECKING:
    from pathlib import Path


def write_slow_file(source: Path, target: Path, events: int) -> int:
    """Copy a recording's first events into a file of the library's latest format.

    Returns
    -------
    int
        How many events were copied.
    """
    with (
        h5py.File(source, "r", locking=False) as read,
        h5py.File(target, "w", libver="latest") as written,
    ):
        group = written.create_group("events")
        count = min(events, len(read["events"]))
        for number in range(count):
            read.copy(f"events/{number}", group, name=str(number))
    return count
