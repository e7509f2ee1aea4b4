"""What a window that joins is told first: all definitions, and the latest state.

Kept: every definition, the arrays that actors were created with, the last native step
of each scene, the last transition of each environment, and the last row of each frame:
with its native step, however old, but with no older transition, between which and the
last one others would seem to be missing. Not kept: what happened before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.tap.defined import Defined
from isoscope.core.tap.packet import Rows

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.core.tap.packet import Packet
    from isoscope.core.tap.target import Target

_KEY = {"native": "scene", "transitions": "env"}


class LatestState:
    """Follows a merged stream.

    Parameters
    ----------
    target
        What the stream was merged into.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._defined = Defined()
        self._last: dict[str, dict[Any, int]] = {over: {} for over in _KEY}
        self._kept: dict[str, dict[int, bytes]] = {over: {} for over in _KEY}
        self._frames: dict[int, tuple[int, int, bytes]] = {}
        self._entries: dict[int, tuple[int, bytes]] = {}
        self._ends: dict[int, int] = {}

    @property
    def references(self) -> dict[int, bytes]:
        """Of the last packet's blobs those that actors' definitions name."""
        return self._defined.references

    def take(self, packet: Packet) -> None:
        """Take note of what was told."""
        self._defined.take(packet)
        blocks: dict[int, list[tuple[int, Array]]] = {}
        for rows in packet.blocks:
            dtype = self._target.intake.buffers[rows.table].schema.dtype
            values = np.frombuffer(rows.content, dtype)
            blocks.setdefault(rows.table, []).append((rows.first, values))
        for over, key in _KEY.items():
            mine = blocks.get(self._target.intake.tables[over], [])
            for first, values in mine:
                names, numbers = values[key].tolist(), range(first, first + len(values))
                self._last[over].update(zip(names, numbers, strict=True))
            self._take_frames(over, mine, blocks)

    def _take_frames(
        self,
        over: str,
        mine: list[tuple[int, Array]],
        blocks: dict[int, list[tuple[int, Array]]],
    ) -> None:
        for table, (goes_with, elements) in self._target.frames.items():
            if goes_with != over or table not in blocks:
                continue
            first, values = blocks[table][-1]
            row = int(values["row"][-1])
            if over == "native":
                self._last[over][("frame", table)] = row
            number = first + len(values) - 1
            self._frames[table] = (row, number, values[-1:].tobytes())
            if elements >= 0:
                self._take_entries(table, elements, blocks)
        wanted = set(self._last[over].values())
        kept = self._kept[over]
        for row in kept.keys() - wanted:
            del kept[row]
        for first, values in mine:
            for row in wanted:
                if first <= row < first + len(values):
                    kept[row] = values[row - first : row - first + 1].tobytes()

    def _take_entries(
        self, table: int, elements: int, blocks: dict[int, list[tuple[int, Array]]]
    ) -> None:
        """The entries of a ragged field's last row."""
        ends = [int(e) for _, values in blocks[table] for e in values["end"][-2:]]
        start = ends[-2] if len(ends) > 1 else self._ends.get(table, 0)
        self._ends[table] = ends[-1]
        parts = [
            values[max(start - first, 0) :].tobytes()
            for first, values in blocks.get(elements, [])
            if first + len(values) > start
        ]
        self._entries[table] = (start, b"".join(parts))

    def packet(self) -> Packet:
        """What a window that joins now is told first."""
        tables, buffers = self._target.intake.tables, self._target.intake.buffers
        packet = self._defined.packet()
        for over in _KEY:
            packet.blocks += [
                Rows(tables[over], row, 1, content)
                for row, content in sorted(self._kept[over].items())
            ]
        for table, (row, number, content) in sorted(self._frames.items()):
            over, elements = self._target.frames[table]
            if row not in self._kept[over]:
                continue
            if elements >= 0:
                first, entries = self._entries[table]
                count = len(entries) // buffers[elements].schema.dtype.itemsize
                if count:
                    packet.blocks.append(Rows(elements, first, count, entries))
            packet.blocks.append(Rows(table, number, 1, content))
        return packet
