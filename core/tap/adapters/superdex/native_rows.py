"""Tells the native steps of one scene as they were read, many at a time.

The stepping thread hands over what it read, a control step at a time. It is told where
much of it is, mostly by the thread that takes it on; there it is also learned which
values need not be asked for, since they lie in the captured states.
"""

from __future__ import annotations

from time import time_ns
from typing import TYPE_CHECKING, Any

from isoscope.core.recording.labelled import records as r
from isoscope.core.tap.adapters.superdex.layout import Layout, Learner
from isoscope.core.tap.raw_natives import (
    BETWEEN,
    CAPTURED,
    NO_LAYOUT,
    RELEASED,
    SETTLED,
    Place,
    Taken,
    add_raw_table,
    encoded,
)

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.intake_recorder import IntakeRecorder
    from isoscope.core.tap.adapters.superdex.actors import Readers

MOST_LEARNED = 3  # layouts of one scene
ROW_BYTES = 600  # of a step that waits to be told, besides its state

# What happened to the scene: a number of steps before it, and a `records.SceneEvent`
# without row and detail: what comes before the row, and after it.
Event = tuple[int, str, tuple[Any, ...]]
# A `Between`: what, about what, and where the state begins and ends.
Mark = tuple[int, Any, int, int]


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

    Attributes
    ----------
    layout
        What is known to hold some of the values; None until it was learned.
    exact
        Whether each state that was restored was, as far as it was looked at, the one
        that had been captured.
    """

    def __init__(
        self, recorder: IntakeRecorder, readers: Readers, state: bytes, scene: int
    ) -> None:
        self.layout: Layout | None = None
        self.exact = True
        self._recorder = recorder
        self._intake = recorder.intake
        self._frames = readers.frames()
        self._table = add_raw_table(self._intake, self._frames, scene)
        self._untold: list[Any] = [state] if state else []
        self._layouts: list[Layout] = []
        self._handles: dict[int, bytes] = {}  # states by the handle's value
        self._last_row = self._checked_row = -1
        self._learner: Learner | None = None
        if readers.frame is not None and not readers.soft:
            self._learner = Learner()

    def add(
        self,
        taken: Taken,
        events: list[Event],
        marks: list[Mark],
        count: int,
        looks: bool,
    ) -> int:
        """Keep steps; returns the first one's number, -1 where they were refused.

        Parameters
        ----------
        events
            What happened meanwhile.
        marks
            Of what is between the steps what has a handle, or was compared.
        count
            How many steps there are, what is between them not counted.
        looks
            Whether all values were read with one of them.
        """
        size = len(taken.states) + ROW_BYTES * (count + 1)
        raw = taken, events, marks, count, looks
        row = self._intake.natives_later(self._tell, raw, count, size)
        if row < 0:
            self._skip(taken, events, marks)
        return row

    def _skip(self, taken: Taken, events: list[Event], marks: list[Mark]) -> None:
        """Take note of what the steps led to that are not kept."""
        with self._intake.lock:
            self._intake.catch_up()
            for _ in events:
                self._intake.refuse("events")
            self._marked(marks, taken.states)
            # Without the steps: handles, and the state in the end.
            kept = [s for s in taken.steps if len(s) == BETWEEN]
            self._untold.append((-1, taken._replace(steps=kept)))
            begin, last = 0, (0, 0)
            for end, *_ in taken.steps:
                last, begin = ((begin, end) if end > begin else last), end
            if last[1]:
                self._untold.append(taken.states[slice(*last)])

    def _tell(self, raws: list[tuple[int, Any]]) -> None:
        """Add one row of all these: for `Intake.natives_later`."""
        items, self._untold = self._untold, []
        happened = []
        for row, (taken, events, marks, count, looks) in raws:
            if looks:
                items += self._looked_at(row, taken)
            if count:
                self._last_row = row + count - 1
            self._marked(marks, taken.states)
            items.append((row, taken))
            happened += [(e[1], row + e[0], *e[2], None) for e in events]
        content = self._intake.blob(encoded(items))
        self._intake.add_raw(self._table, (content,))
        if happened:
            self._recorder.events_packed(happened)

    # -- what is read at times only ------------------------------------------------

    def _looked_at(self, row: int, taken: Taken) -> list[Place]:
        """Learn from the steps of which all was read, and compare; new places."""
        begin, found = 0, []
        for step in taken.steps:
            begin, first = step[0], begin
            if len(step) == BETWEEN:
                continue
            full, layout = step[1], step[-1]
            self._last_row = row
            row += 1
            if full is None:
                continue
            state = taken.states[first:begin]
            if layout != NO_LAYOUT:
                self._compare(layout, state, full)
            if self._learner is not None:
                found += self._learned(state, full)
        return found

    def _marked(self, marks: list[Mark], states: bytes) -> None:
        for what, about, begin, end in marks:
            if what == RELEASED:
                self._handles.pop(about, None)
            elif what == SETTLED:
                if self.layout is not None:
                    self._compare(self.layout.number, states[begin:end], about)
            elif what == CAPTURED:
                self._handles[about] = states[begin:end]
            elif about >= 0 and self._handles.get(about) != states[begin:end]:
                self.exact = False

    def _compare(self, number: int, state: bytes, full: list[Any]) -> None:
        """Read all again from now on where the state doesn't hold what it held."""
        checked, self._checked_row = self._checked_row, self._last_row
        if self._layouts[number].holds(state, full) or self.layout is None:
            return
        self.layout = self._learner = None
        if not full and len(self._layouts) < MOST_LEARNED:  # states have grown
            self._learner = Learner()
        count, why = self._last_row - checked, "values were not where they had been"
        self._recorder.dropped(
            r.Dropped("actors", max(count, 1), self._last_row, time_ns(), why)
        )

    def _learned(self, state: bytes, full: list[Any]) -> list[Place]:
        assert self._learner is not None
        self._learner.add(state, full)
        if not self._learner.enough:
            return []
        frame, number = self._frames[0], len(self._layouts)
        found = self._learner.learn(frame.fields, frame.dtype, number)
        known = 0 if self.layout is None else len(self.layout.places)
        if self._learner.over or number + 1 >= MOST_LEARNED:
            self._learner = None
        if found is None or len(found.places) <= known:
            return []
        self._layouts.append(found)
        self.layout, self._checked_row = found, self._last_row
        lists = found.places.tolist(), found.offsets.tolist()
        return [Place(number, found.length, *lists)]
