"""The clock: where the playhead is, how fast it moves, over which time.

One model for the whole program. Every view observes `changed` and owns no time of its
own; the state changes only through the named commands below. There is no timer in
here: whoever owns one calls :meth:`Clock.tick` with the elapsed seconds, so tests drive
it with a fixed dt and no window.

The cursor is a row (a native step, from 0). Which time it plays over decides how long
each row lasts: a `TimeAxis` gives a duration to every row, zero for the rows that this
time doesn't count. Trace, playing the control time of environment 0 whose rows are
0, 2 and 4 with h = 0.02 s each::

    row         0     1     2     3     4
    duration   0.02   0    0.02   0    0.02
    shown from 0           0.02         0.04

Rows without a duration are passed over while playing, and can still be stepped to.

Past the last row there may be a tail: steps that were not recorded, as of a what-if.
The cursor's row is then the last one, and `ClockState.beyond` says how far past it is.

Inside a row the clock keeps how much of it has been played. A row is shown from its
beginning to its end whichever way it is played: forwards it holds ``begin <= t < end``,
backwards ``begin < t <= end``, so both ways take the same time over the same rows.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from psygnal import Signal

from isoscope.core.rowmarks import RowMarks
from isoscope.core.timeaxis import TimeAxis, TimeKind

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

__all__ = ["RATES", "Clock", "ClockState", "TimeAxis", "TimeKind"]

RATES = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
# No tick moves further than this, so that an absurd rate can't make the time infinite.
MAX_ADVANCE_S = 1e9


@dataclass(frozen=True, slots=True)
class ClockState:
    """What the clock says, as one value; two of them can be compared.

    Attributes
    ----------
    row
        The native step at the cursor; 0 when there is none.
    rows
        How many there are.
    direction
        1 playing, -1 playing backwards, 0 stopped.
    rate
        Seconds of the chosen time per second of the user's.
    loop
        Whether playing goes round in the loop range, or in everything.
    loop_in, loop_out
        The loop range, rows, inclusive, in order; None where it is open.
    follow
        Whether the cursor sticks to the end of a growing source. Excludes looping and
        playing backwards: the last of these commands holds.
    kind
        Which time is played over.
    beyond, tail
        Steps past the last row: at the cursor (0 for none), and how many there are.
    """

    row: int = 0
    rows: int = 0
    direction: int = 0
    rate: float = 1.0
    loop: bool = False
    loop_in: int | None = None
    loop_out: int | None = None
    follow: bool = False
    kind: TimeKind = TimeKind.RECORDING
    beyond: int = 0
    tail: int = 0

    @property
    def playing(self) -> bool:
        """Whether the cursor moves by itself."""
        return self.direction != 0

    @property
    def span(self) -> tuple[int, int]:
        """First and last row of the range that playing stays in."""
        last = max(self.rows - 1, 0)
        if not self.loop:
            return 0, last
        low = 0 if self.loop_in is None else min(self.loop_in, last)
        high = last if self.loop_out is None else min(self.loop_out, last)
        return low, high


class Clock:
    """The one clock. Commands change it; `changed` tells (new state, old state).

    A command is told once, when all of it holds: no observer sees a row that isn't
    there or an axis that isn't the state's.
    """

    changed = Signal(ClockState, ClockState)
    axis_changed = Signal()
    ticked = Signal()  # it was played on, perhaps within a row

    def __init__(self) -> None:
        self._state = ClockState()
        empty = np.zeros(0)
        self._axes: dict[TimeKind, TimeAxis] = {}
        self._axis = TimeAxis(TimeKind.RECORDING, empty, empty)
        self._asked = TimeKind.RECORDING  # kept where there is no axis for it
        self._ends = empty  # play time at which each row ends, then each of the tail
        self._tail = empty  # how long each step of the tail lasts
        self._played_s = 0.0  # play time of the cursor, between rows too
        self._marks: dict[str, RowMarks] = {}

    # -- what it says ---------------------------------------------------------------

    @property
    def state(self) -> ClockState:
        """The present state."""
        return self._state

    @property
    def row(self) -> int:
        """The native step at the cursor."""
        return self._state.row

    @property
    def beyond(self) -> int:
        """How many steps past the last row the cursor is; 0 for none."""
        return self._state.beyond

    @property
    def axis(self) -> TimeAxis:
        """The time that is played over."""
        return self._axis

    @property
    def kinds(self) -> tuple[TimeKind, ...]:
        """The times that can be chosen."""
        return tuple(self._axes)

    def stamp(self, row: int | None = None, kind: TimeKind | None = None) -> float:
        """What a time (the chosen one) says at a row (the cursor's); NaN if unknown."""
        axis = self._axes.get(kind) if kind is not None else self._axis
        row = self._state.row if row is None else row
        if axis is None or not 0 <= row < len(axis):
            return float("nan")
        return float(axis.stamps[row])

    @property
    def played_s(self) -> float:
        """Play time of the cursor, between rows too [s]."""
        return self._played_s

    def begins_s(self, row: int) -> float:
        """Play time from which a row is shown [s]; rows are clamped."""
        return self._begins(min(max(row, 0), len(self._ends)))

    def marks(self, name: str) -> list[int]:
        """A copy of the rows marked under this name, ascending, each once."""
        return self._marks.get(name, RowMarks()).rows()

    def has_marks(self, name: str) -> bool:
        """Whether any row is marked under this name."""
        return bool(self._marks.get(name))

    # -- commands: what there is to play ---------------------------------------------

    def set_axes(self, axes: list[TimeAxis], *, keep_cursor: bool = True) -> None:
        """Say what times there are, of the same rows; also after growth.

        It plays over the time that was last asked for, or else over the first one.
        With `keep_cursor` the cursor stays where it is inside its row, or at the end
        while following. Without it these are the times of something else: the cursor
        goes to the front, and the loop range and the marks are forgotten.
        """
        state = self._state
        rows = min((len(axis) for axis in axes), default=0)
        self._axes = {axis.kind: axis.cut(rows) for axis in axes}
        kind = self._asked
        if kind not in self._axes:
            kind = axes[0].kind if axes else state.kind
        part = self._part_played() if keep_cursor else 0.0
        beyond = state.beyond
        if not keep_cursor or rows != state.rows:
            self._tail, beyond = np.zeros(0), 0  # they were another end's
        self._choose(kind)
        changes: dict[str, Any] = {"rows": rows, "kind": kind, "tail": len(self._tail)}
        if not keep_cursor:
            self._marks.clear()
            changes |= {"loop_in": None, "loop_out": None}
        if state.follow:
            self._place(rows - 1, **changes)
        elif keep_cursor and state.row < rows:
            self._place(state.row + beyond, part, **changes)
        else:
            self._place(state.row if keep_cursor else 0, **changes)
        self.axis_changed.emit()

    def set_time(self, kind: TimeKind) -> None:
        """Play over another time; one that there is no axis for changes nothing."""
        if kind in self._axes:
            self._asked = kind
        if kind in self._axes and kind != self._state.kind:
            part = self._part_played()
            self._choose(kind)
            self._place(self._at, part, kind=kind)
            self.axis_changed.emit()

    def set_tail(self, durations_s: Array) -> None:
        """Say how long each step past the last row lasts [s]; none without any.

        A cursor that is past the last row goes back to it.
        """
        state = self._state
        self._tail = np.asarray(durations_s, np.float64) if state.rows else np.zeros(0)
        part = 0.0 if state.beyond else self._part_played()
        self._choose(state.kind)
        self._place(state.row, part, tail=len(self._tail))

    def set_marks(self, name: str, rows: Array | list[int]) -> None:
        """Name rows to step between, such as ``"control"`` or ``"event"``."""
        self._marks[name] = RowMarks(rows)

    def add_marks(self, name: str, rows: Array | list[int]) -> None:
        """Name more rows."""
        self._marks.setdefault(name, RowMarks()).add(rows)

    # -- commands: the cursor ----------------------------------------------------------

    def seek(self, row: int) -> None:
        """Put the cursor on a row (clamped); stops following."""
        self._place(min(row, self._state.rows - 1), follow=False)

    def seek_past(self, step: int) -> None:
        """Go to a step past the last row, from 1 (clamped); stops following."""
        self._place(self._state.rows - 1 + max(step, 0), follow=False)

    def seek_time(self, stamp: float) -> None:
        """Put the cursor on the first row whose shown time is nearest to `stamp`."""
        stamps = self._axis.stamps
        if math.isfinite(stamp) and np.isfinite(stamps).any():
            self.seek(int(np.nanargmin(np.abs(stamps - stamp))))

    def step(self, rows: int) -> None:
        """Move by native steps, also past the last row; stops playing."""
        self._place(self._at + rows, direction=0, follow=False)

    def step_mark(self, name: str, count: int) -> bool:
        """Move to the count-th next (or, below 0, previous) marked row.

        Stops playing. Past the last mark it goes to the last one. Returns whether
        there was a mark in that direction; if not, nothing changes.
        """
        state = self._state
        # Only marks of rows that are there; a source may be marked ahead of its rows.
        found = self._marks.get(name, RowMarks()).step(state.row, count, state.rows)
        if found is None:
            return False
        self._place(found, direction=0, follow=False)
        return True

    def home(self) -> None:
        """Go to the first row (of the loop range, if it loops)."""
        self.seek(self._state.span[0])

    def end(self) -> None:
        """Go to the last row (of the loop range, if it loops)."""
        self.seek(self._state.span[1])

    # -- commands: playing ----------------------------------------------------

    def play(self, direction: int = 1) -> None:
        """Play; from the other end of the span if the cursor is at its end."""
        state, at = self._state, self._at
        low, high = self._reach
        if state.rows == 0:
            return
        if direction > 0:
            outside = not low <= at < high and not state.follow
            row, part = (low, 0.0) if outside else (at, self._part_played())
            self._place(row, part, direction=1)
            return
        part = self._part_played()
        if not low < at <= high:
            self._place(high, 1.0, direction=-1, follow=False)
        else:
            # A row that hasn't been played at all is shown for its whole time.
            self._place(at, part or 1.0, direction=-1, follow=False)

    def pause(self) -> None:
        """Stop playing."""
        self._set(direction=0)

    def toggle(self) -> None:
        """Play or pause."""
        if self._state.playing:
            self.pause()
        else:
            self.play()

    def set_rate(self, rate: float) -> None:
        """Set the speed; finite and above 0, else nothing changes."""
        if np.isfinite(rate) and rate > 0:
            self._set(rate=float(rate))

    def faster(self) -> None:
        """Take the next higher rate, if there is one."""
        at = bisect_right(RATES, self._state.rate)
        if at < len(RATES):
            self.set_rate(RATES[at])

    def slower(self) -> None:
        """Take the next lower rate, if there is one."""
        at = bisect_left(RATES, self._state.rate) - 1
        if at >= 0:
            self.set_rate(RATES[at])

    def set_loop(self, on: bool) -> None:
        """Go round, or stop at the end; going round stops following."""
        self._set(loop=on, follow=self._state.follow and not on)

    def toggle_loop(self) -> None:
        """Switch looping."""
        self.set_loop(not self._state.loop)

    def loop_in_here(self) -> None:
        """Begin the loop range at the cursor and loop."""
        state = self._state
        out = state.loop_out
        if out is not None and out <= state.row:
            out = None
        self._set(loop_in=state.row, loop_out=out, loop=True, follow=False)

    def loop_out_here(self) -> None:
        """End the loop range at the cursor and loop."""
        state = self._state
        start = state.loop_in
        if start is not None and start >= state.row:
            start = None
        self._set(loop_in=start, loop_out=state.row, loop=True, follow=False)

    def set_loop_range(self, low: int | None, high: int | None) -> None:
        """Set the loop range, rows inclusive; None leaves that side open."""
        low = None if low is None else max(int(low), 0)
        high = None if high is None else max(int(high), 0)
        if low is not None and high is not None and low > high:
            low, high = high, low
        self._set(loop_in=low, loop_out=high)

    def set_follow(self, on: bool) -> None:
        """Stick to the end of a growing source; stops looping and playing backwards."""
        if not on:
            self._set(follow=False)
            return
        direction = max(self._state.direction, 0)
        last = self._state.rows - 1
        self._place(last, follow=True, loop=False, direction=direction)

    def tick(self, dt_s: float) -> None:
        """Let `dt_s` seconds of the user's pass; moves the cursor when playing."""
        state = self._state
        if not state.playing or state.rows == 0 or not 0 < dt_s < math.inf:
            return
        if state.follow:
            return  # it is at the end, and goes on when the source grows
        low, high = self._reach
        begin, finish = self._begins(low), float(self._ends[high])
        forwards = state.direction > 0
        # The span may have moved away from under the cursor.
        at = self._played_s
        if self._at < low or self._at > high:
            at = begin if forwards else finish
        at += state.direction * min(state.rate * dt_s, MAX_ADVANCE_S)
        if at >= finish if forwards else at <= begin:
            if not state.loop:
                self._place(high if forwards else low, direction=0)
                return
            length = finish - begin
            if length <= 0:
                at = begin
            elif forwards:
                at = begin + (at - begin) % length
            else:
                at = finish - (finish - at) % length
        self._played_s = at
        find = bisect_right if forwards else bisect_left
        self._set(**self._placed(find(self._ends, at, low, high), state.rows))
        self.ticked.emit()

    # -- inside ---------------------------------------------------------------

    def _choose(self, kind: TimeKind) -> None:
        empty = np.zeros(0)
        self._axis = self._axes.get(kind, TimeAxis(kind, empty, empty))
        ends = self._axis.ends_s
        self._ends = np.cumsum(self._axis.durations_s) if ends is None else ends
        if len(self._tail) and len(self._ends):
            tail = self._ends[-1] + np.cumsum(self._tail)
            self._ends = np.concatenate([self._ends, tail])

    @property
    def _at(self) -> int:
        """The cursor's place among the rows and the tail."""
        return self._state.row + self._state.beyond

    @property
    def _reach(self) -> tuple[int, int]:
        """First and last place that playing stays in; going round leaves the tail."""
        low, high = self._state.span
        return low, high if self._state.loop else high + self._state.tail

    @staticmethod
    def _placed(at: int, rows: int) -> dict[str, int]:
        row = min(at, max(rows - 1, 0))
        return {"row": row, "beyond": at - row}

    def _begins(self, row: int) -> float:
        return float(self._ends[row - 1]) if row > 0 else 0.0

    def _part_played(self) -> float:
        """How much of the cursor's row has been played, 0 to 1."""
        row = self._at
        if row >= len(self._ends):
            return 0.0
        begin, end = self._begins(row), float(self._ends[row])
        if end <= begin:
            return 0.0
        return min(max((self._played_s - begin) / (end - begin), 0.0), 1.0)

    def _place(self, at: int, part: float = 0.0, **changes: Any) -> None:
        """Put the cursor on a place (clamped), this much of it played; tell once."""
        rows = changes.get("rows", self._state.rows)
        tail = changes.get("tail", self._state.tail)
        at = min(max(int(at), 0), max(rows - 1 + tail, 0))
        begin = self._begins(at) if rows else 0.0
        end = float(self._ends[at]) if rows else 0.0
        self._played_s = begin + part * (end - begin)
        self._set(**self._placed(at, rows), **changes)

    def _set(self, **changes: Any) -> None:
        old = self._state
        new = replace(old, **changes)
        if new != old:
            self._state = new
            self.changed.emit(new, old)
