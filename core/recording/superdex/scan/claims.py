"""Which event each header block belongs to: no two may share one.

libhdf5 holds header blocks by their address. Where two objects claim one block (a
damaged address that happens to lead to another event's block), it depends on what was
read before whether it opens the second of them. Such events are left to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.superdex.scan.match import Found
    from isoscope.core.recording.tracks import BoolArray, Int64Array


class Claims:
    """The addresses of all continuation blocks so far."""

    def __init__(self) -> None:
        self._earlier: list[Int64Array] = []  # sorted, one a block of events

    def contested(self, found: list[Found], events: int) -> BoolArray:
        """Bool [events]: those that claim a block that is claimed already.

        Parameters
        ----------
        found
            All objects of one block of events.
        events
            How many events that is.
        """
        result: BoolArray = np.zeros(events, np.bool_)
        rows = [f.rows for f in found for _ in _continuations(f)]
        if not rows:
            return result
        addresses = np.concatenate([a for f in found for a in _continuations(f)])
        owners = np.concatenate(rows)
        order = np.argsort(addresses, kind="stable")
        addresses, owners = addresses[order], owners[order]
        twice = np.flatnonzero(addresses[1:] == addresses[:-1])
        result[owners[twice]] = True
        result[owners[twice + 1]] = True
        low, high = addresses[0], addresses[-1]
        for earlier in self._earlier:
            if earlier[0] <= high and low <= earlier[-1]:
                result[owners[np.isin(addresses, earlier)]] = True
        self._earlier.append(addresses)
        return result


def _continuations(found: Found) -> list[Int64Array]:
    return [
        start
        for piece, start in zip(found.template.pieces, found.starts, strict=True)
        # Blocks of dense groups, which carry a checksum, are shared without harm.
        if piece.origin.pointer is not None and piece.checksum is None
    ]
