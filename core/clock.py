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
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from psygnal import Signal

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

RATES = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


class TimeKind(StrEnum):
    """Which time the cursor plays over and is shown in."""

    NATIVE = "native"
    RECORDING = "recording"
    SCENE = "scene"
    CONTROL = "control"
    WALL = "wall"


@dataclass(frozen=True, eq=False)
class TimeAxis:
    """One time over the rows.

    Attributes
    ----------
    kind
        Which time.
    stamps
        float64 [T]: what is shown for a row, in seconds (row numbers for NATIVE); NaN
        where unknown. May go backwards: scene and control time do.
    durations_s
        float64 [T], finite and not negative: how long a row lasts when played at
        rate 1.
    """

    kind: TimeKind
    stamps: Array
    durations_s: Array

    @classmethod
    def native(cls, h_s: Array) -> TimeAxis:
        """Every row lasts equally long: the median h [T], or 1/50 s if unknown."""
        known = h_s[np.isfinite(h_s) & (h_s > 0)]
        each = float(np.median(known)) if len(known) else 0.02
        rows = len(h_s)
        return cls(TimeKind.NATIVE, np.arange(rows, dtype=float), np.full(rows, each))

    @classmethod
    def recording(cls, time_s: Array, h_s: Array) -> TimeAxis:
        """Each row lasts its h [T]; shown is the recording's own time [T]."""
        lasts = np.where(np.isfinite(h_s) & (h_s > 0), h_s, 0.0)
        return cls(TimeKind.RECORDING, time_s, lasts)

    def __len__(self) -> int:
        """Rows covered."""
        return len(self.stamps)


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
        The loop range, rows, inclusive; None where it is open.
    follow
        Whether the cursor sticks to the end of a growing source.
    kind
        Which time is played over.
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
        return (low, high) if low <= high else (high, low)


class Clock:
    """The one clock. Commands change it; `changed` tells (new state, old state)."""

    changed = Signal(ClockState, ClockState)
    axis_changed = Signal()

    def __init__(self) -> None:
        self._state = ClockState()
        empty = np.zeros(0)
        self._axes: dict[TimeKind, TimeAxis] = {}
        self._axis = TimeAxis(TimeKind.RECORDING, empty, empty)
        self._ends = empty  # play time at which each row ends
        self._played_s = 0.0  # play time of the cursor, between rows too
        self._marks: dict[str, list[int]] = {}

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

    def marks(self, name: str) -> list[int]:
        """The rows marked under this name, ascending."""
        return self._marks.get(name, [])

    # -- commands: what there is to play ---------------------------------------------

    def set_axes(self, axes: list[TimeAxis], *, keep_cursor: bool = True) -> None:
        """Say what times there are, all of equal length; also after growth.

        With `keep_cursor` the cursor stays on its row, or at the end while following.
        """
        self._axes = {axis.kind: axis for axis in axes}
        kind = self._state.kind
        if kind not in self._axes and axes:
            kind = axes[0].kind
        rows = len(axes[0]) if axes else 0
        last = max(rows - 1, 0)
        row = min(self._state.row, last) if keep_cursor else 0
        if self._state.follow:
            row = last
        self._choose(kind)
        loops = {} if keep_cursor else {"loop_in": None, "loop_out": None}
        self._set(rows=rows, kind=kind, **loops)
        self._jump(row)
        self.axis_changed.emit()

    def set_time(self, kind: TimeKind) -> None:
        """Play over another time; one that there is no axis for changes nothing."""
        if kind in self._axes and kind != self._state.kind:
            self._choose(kind)
            self._set(kind=kind)
            self._jump(self._state.row)
            self.axis_changed.emit()

    def set_marks(self, name: str, rows: Array | list[int]) -> None:
        """Name rows to step between, such as ``"control"`` or ``"event"``."""
        self._marks[name] = sorted(int(row) for row in rows)

    # -- commands: the cursor ----------------------------------------------------------

    def seek(self, row: int) -> None:
        """Put the cursor on a row (clamped); stops following."""
        self._set(follow=False)
        self._jump(row)

    def seek_time(self, stamp: float) -> None:
        """Put the cursor on the first row whose shown time is nearest to `stamp`."""
        stamps = self._axis.stamps
        if len(stamps) and np.isfinite(stamps).any():
            self.seek(int(np.nanargmin(np.abs(stamps - stamp))))

    def step(self, rows: int) -> None:
        """Move by native steps; stops playing."""
        self._set(direction=0)
        self.seek(self._state.row + rows)

    def step_mark(self, name: str, count: int) -> bool:
        """Move to the count-th next (or, below 0, previous) marked row.

        Stops playing. Past the last mark it goes to the last one. Returns whether
        there was a mark in that direction.
        """
        marks = self.marks(name)
        row = self._state.row
        ahead = count > 0
        at = bisect_right(marks, row) if ahead else bisect_left(marks, row) - 1
        if not 0 <= at < len(marks):
            return False
        at = min(max(at + (count - 1 if ahead else count + 1), 0), len(marks) - 1)
        self._set(direction=0)
        self.seek(marks[at])
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
        state = self._state
        low, high = state.span
        if state.rows == 0:
            return
        if direction > 0 and state.row >= high and not state.follow:
            self._jump(low)
        elif direction < 0 and state.row <= low:
            self._jump(high)
        self._set(direction=1 if direction > 0 else -1)

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
        """Take the next higher rate."""
        at = bisect_right(RATES, self._state.rate)
        self.set_rate(RATES[min(at, len(RATES) - 1)])

    def slower(self) -> None:
        """Take the next lower rate."""
        at = bisect_left(RATES, self._state.rate) - 1
        self.set_rate(RATES[max(at, 0)])

    def set_loop(self, on: bool) -> None:
        """Go round, or stop at the end."""
        self._set(loop=on)

    def toggle_loop(self) -> None:
        """Switch looping."""
        self.set_loop(not self._state.loop)

    def loop_in_here(self) -> None:
        """Begin the loop range at the cursor and loop."""
        state = self._state
        out = state.loop_out
        if out is not None and out <= state.row:
            out = None
        self._set(loop_in=state.row, loop_out=out, loop=True)

    def loop_out_here(self) -> None:
        """End the loop range at the cursor and loop."""
        state = self._state
        start = state.loop_in
        if start is not None and start >= state.row:
            start = None
        self._set(loop_in=start, loop_out=state.row, loop=True)

    def set_loop_range(self, low: int | None, high: int | None) -> None:
        """Set the loop range, rows inclusive; None leaves that side open."""
        if low is not None and high is not None and low > high:
            low, high = high, low
        self._set(loop_in=low, loop_out=high)

    def set_follow(self, on: bool) -> None:
        """Stick to the end of a growing source."""
        self._set(follow=on)
        if on:
            self._jump(self._state.rows - 1)

    def tick(self, dt_s: float) -> None:
        """Let `dt_s` seconds of the user's pass; moves the cursor when playing."""
        state = self._state
        if not state.playing or state.rows == 0 or dt_s <= 0:
            return
        low, high = state.span
        begin = self._begins(low)
        finish = float(self._ends[high])
        at = self._played_s + state.direction * state.rate * dt_s
        beyond = at >= finish if state.direction > 0 else at < begin
        if beyond and not state.loop:
            self._jump(high if state.direction > 0 else low)
            if not state.follow:
                self._set(direction=0)
            return
        length = finish - begin
        if beyond:
            at = begin + (at - begin) % length if length > 0 else begin
        self._played_s = at
        row = bisect_right(self._ends, at, low, high)
        self._set(row=row)

    # -- inside ---------------------------------------------------------------

    def _choose(self, kind: TimeKind) -> None:
        empty = np.zeros(0)
        self._axis = self._axes.get(kind, TimeAxis(kind, empty, empty))
        self._ends = np.cumsum(self._axis.durations_s)

    def _begins(self, row: int) -> float:
        return float(self._ends[row - 1]) if row > 0 else 0.0

    def _jump(self, row: int) -> None:
        rows = self._state.rows
        row = min(max(row, 0), max(rows - 1, 0))
        if rows:
            self._played_s = self._begins(row)
        self._set(row=row)

    def _set(self, **changes: Any) -> None:
        old = self._state
        new = replace(old, **changes)
        if new != old:
            self._state = new
            self.changed.emit(new, old)
