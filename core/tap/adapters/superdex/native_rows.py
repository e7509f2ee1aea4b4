"""Tells the native steps of one scene as they were read, many at a time.

The stepping thread hands over what it read, a control step at a time. It is packed
later, mostly by the thread that takes it on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoscope.core.recording.labelled.tables import EVENTS
from isoscope.core.tap.raw_natives import Taken, add_raw_table, encoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.labelled.frames import Frame
    from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
    from isoscope.core.tap.raw_natives import Layout

ROW_BYTES = 600  # of what waits to be told, besides its states

# What happened to the scene between steps: a packed row of `tables.EVENTS` in which
# ``row`` is the number of steps before it.
pack_event = EVENTS.packer.pack


class Handed(NamedTuple):
    """What was read of a scene, and what happened to it meanwhile.

    Attributes
    ----------
    taken
        The fields of a `raw_natives.Taken`; None where neither was a step taken nor is
        the state another one.
    last
        Where the last state begins in its states.
    events
        As `pack_event` gives them.
    """

    taken: tuple[Any, ...] | None
    last: int
    events: Sequence[bytes]


class NativeRows:
    """Tells the native steps of one scene, as long as the scene has the same actors.

    Parameters
    ----------
    recorder
        Of a session: where they go.
    frames
        What the values of its actors go into.
    layout
        How these lie in a step's bytes.
    state
        The scene's; empty where it isn't known.
    scene
        Its number.
    """

    def __init__(
        self,
        recorder: IntakeRecorder,
        frames: Sequence[Frame],
        layout: Layout,
        state: bytes,
        scene: int,
    ) -> None:
        self._intake = recorder.intake
        self._events = self._intake.tables["events"]
        self._table = add_raw_table(self._intake, frames, scene, layout)
        self._untold: list[Any] = [state] if state else []
        self._pack = self._tell

    def add(self, handed: tuple[Any, ...], count: int, size: int) -> int:
        """Keep steps; returns the first one's number, -1 where they were refused.

        Parameters
        ----------
        handed
            The fields of a `Handed`.
        count
            How many steps there are.
        size
            Bytes of the states.
        """
        row = self._intake.natives_later(self._pack, handed, count, size + ROW_BYTES)
        if row < 0:
            self._skip(Handed(*handed))
        return row

    def _skip(self, handed: Handed) -> None:
        """Take note of the state that the steps led to, which are not kept."""
        with self._intake.lock:
            self._intake.catch_up()
            for _ in handed.events:
                self._intake.refuse("events")
            if handed.taken is not None:
                self._untold.append(Taken(*handed.taken).states[handed.last :])

    def _tell(self, raws: list[tuple[int, Any]]) -> None:
        """Add one row of all these: for `Intake.natives_later`."""
        items, self._untold = self._untold, []
        events: list[bytes] = []
        rows: list[int] = []
        for row, (taken, _, happened) in raws:
            if taken is not None:
                items.append((row, taken))
            if happened:
                events += happened
                rows += [row] * len(happened)
        if items:
            self._intake.add_raw(self._table, (self._intake.blob(encoded(items)),))
        if events:
            packed = np.frombuffer(b"".join(events), EVENTS.dtype).copy()
            packed["row"] += rows
            self._intake.extend(self._events, packed)
