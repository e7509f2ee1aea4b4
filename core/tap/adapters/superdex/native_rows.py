"""Tells the native steps of one scene as they were read, many at a time.

The stepping thread hands over what it read, a control step at a time. It is packed
later, mostly by the thread that takes it on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.core.tap.raw_natives import Taken, add_raw_table, encoded

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
    from isoscope.core.tap.adapters.superdex.actors import Readers

ROW_BYTES = 600  # of a step that waits to be told, besides its state

# What happened to the scene: a number of steps before it, and a `records.SceneEvent`
# without row and detail: what comes before the row, and after it.
Event = tuple[int, str, tuple[Any, ...]]


class NativeRows:
    """Tells the native steps of one scene, as long as the scene has the same actors.

    Parameters
    ----------
    recorder
        Of a session: where they go.
    readers
        What reads the actors.
    state
        The scene's; empty where it isn't known.
    scene
        Its number.
    """

    def __init__(
        self, recorder: IntakeRecorder, readers: Readers, state: bytes, scene: int
    ) -> None:
        self._recorder = recorder
        self._intake = recorder.intake
        self._table = add_raw_table(self._intake, readers.frames(), scene)
        self._untold: list[Any] = [state] if state else []

    def add(self, taken: Taken, events: list[Event], count: int) -> int:
        """Keep steps; returns the first one's number, -1 where they were refused.

        Parameters
        ----------
        events
            What happened meanwhile.
        count
            How many steps there are, what is between them not counted.
        """
        size = len(taken.states) + ROW_BYTES * (count + 1)
        raw = taken, events
        row = self._intake.natives_later(self._tell, raw, count, size)
        if row < 0:
            self._skip(taken, events)
        return row

    def _skip(self, taken: Taken, events: list[Event]) -> None:
        """Take note of the state that the steps led to, which are not kept."""
        with self._intake.lock:
            self._intake.catch_up()
            for _ in events:
                self._intake.refuse("events")
            if taken.steps:
                self._untold.append(last_state(taken.states, taken.steps))

    def _tell(self, raws: list[tuple[int, Any]]) -> None:
        """Add one row of all these: for `Intake.natives_later`."""
        items, self._untold = self._untold, []
        happened = []
        for row, (taken, events) in raws:
            if taken.steps:
                items.append((row, taken))
            happened += [(e[1], row + e[0], *e[2], None) for e in events]
        if items:
            content = self._intake.blob(encoded(items))
            self._intake.add_raw(self._table, (content,))
        if happened:
            self._recorder.events_packed(happened)


def last_state(states: bytes, steps: list[tuple[Any, ...]]) -> bytes:
    """The last of states that lie end to end; of `Taken`, at least one step."""
    return states[steps[-2][0] if len(steps) > 1 else 0 :]
