from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from isoscope.core.clock import RATES, Clock, ClockState, TimeAxis, TimeKind


def recording_axis(durations: list[float]) -> TimeAxis:
    h = np.array(durations)
    return TimeAxis.recording(np.cumsum(h), h)


def clock_of(durations: list[float]) -> Clock:
    clock = Clock()
    h = np.array(durations)
    clock.set_axes([recording_axis(durations), TimeAxis.native(h)])
    return clock


def told(clock: Clock) -> list[tuple[ClockState, ClockState]]:
    seen: list[tuple[ClockState, ClockState]] = []
    clock.changed.connect(lambda new, old: seen.append((new, old)))
    return seen


# -- seeking and stepping ----------------------------------------------------------


def test_cursor_is_clamped_to_the_rows_there_are() -> None:
    clock = clock_of([0.02] * 5)
    clock.seek(99)
    assert clock.row == 4
    clock.seek(-3)
    assert clock.row == 0


def test_an_empty_clock_takes_every_command() -> None:
    clock = Clock()
    for command in (
        clock.play,
        clock.pause,
        clock.toggle,
        clock.home,
        clock.end,
        clock.loop_in_here,
        clock.loop_out_here,
        clock.toggle_loop,
        clock.faster,
        clock.slower,
    ):
        command()
    clock.seek(3)
    clock.step(-2)
    clock.set_follow(True)
    clock.tick(1.0)
    assert clock.row == 0
    assert math.isnan(clock.stamp())


def test_stepping_stops_playing_and_is_told_once() -> None:
    clock = clock_of([0.02] * 5)
    clock.set_follow(True)
    clock.play()
    seen = told(clock)
    clock.step(-2)
    assert [(new.row, new.direction, new.follow) for new, _ in seen] == [(2, 0, False)]


def test_seek_time_takes_the_first_of_the_nearest_rows() -> None:
    clock = Clock()
    h = np.full(6, 0.02)
    rewound = np.array([0.02, 0.04, np.nan, 0.02, 0.04, 0.06])
    clock.set_axes([TimeAxis(TimeKind.SCENE, rewound, h)])
    clock.seek_time(0.041)
    assert clock.row == 1
    clock.seek_time(10.0)
    assert clock.row == 5
    for nowhere in (math.nan, math.inf, -math.inf):
        clock.seek_time(nowhere)
        assert clock.row == 5


def test_a_time_that_is_unknown_everywhere_is_not_sought() -> None:
    clock = Clock()
    h = np.full(3, 0.02)
    clock.set_axes([TimeAxis(TimeKind.SCENE, np.full(3, np.nan), h)])
    clock.seek(1)
    clock.seek_time(0.0)
    assert clock.row == 1


def test_marks_are_stepped_between() -> None:
    clock = clock_of([0.02] * 10)
    clock.set_marks("control", [7, 3, 3, 5])
    assert clock.marks("control") == [3, 5, 7]
    assert clock.step_mark("control", 2)
    assert clock.row == 5
    assert clock.step_mark("control", 10)
    assert clock.row == 7
    assert not clock.step_mark("control", 1)
    assert clock.step_mark("control", -1)
    assert clock.row == 5
    clock.seek(4)
    assert clock.step_mark("control", -10)
    assert clock.row == 3
    assert not clock.step_mark("control", -1)
    assert not clock.step_mark("nothing", 1)


def test_a_count_of_no_marks_moves_nothing() -> None:
    clock = clock_of([0.02] * 10)
    clock.set_marks("event", [2, 8])
    clock.seek(5)
    clock.play()
    assert not clock.step_mark("event", 0)
    assert clock.row == 5
    assert clock.state.playing


def test_marks_ahead_of_the_rows_wait_for_them() -> None:
    clock = clock_of([0.02] * 4)
    clock.set_marks("event", [2, 8])
    clock.seek(2)
    assert not clock.step_mark("event", 1)
    assert clock.row == 2
    clock.set_axes([recording_axis([0.02] * 10)])
    assert clock.step_mark("event", 1)
    assert clock.row == 8


# -- playing ---------------------------------------------------------------------------


def test_rows_are_shown_as_long_as_they_last() -> None:
    clock = clock_of([0.125, 0.5, 0.125])
    clock.play()
    rows = []
    for _ in range(12):
        clock.tick(0.0625)
        rows.append(clock.row)
    assert rows == [0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2]
    assert not clock.state.playing


def test_backwards_shows_each_row_as_long_as_forwards() -> None:
    clock = clock_of([0.125, 0.5, 0.25])
    clock.end()
    clock.play(-1)
    rows = [clock.row]
    while clock.state.playing:
        clock.tick(0.125)
        rows.append(clock.row)
    assert rows == [2, 2, 1, 1, 1, 1, 0, 0]


def test_play_at_the_end_begins_again() -> None:
    clock = clock_of([0.02] * 5)
    clock.end()
    clock.play()
    assert clock.row == 0
    clock.play(-1)
    assert clock.row == 4


def test_rows_without_a_duration_are_passed_over() -> None:
    clock = clock_of([0.02, 0.0, 0.02, 0.0, 0.02])
    clock.play()
    seen = {clock.row}
    while clock.state.playing:
        clock.tick(0.004)
        seen.add(clock.row)
    assert seen == {0, 2, 4}
    clock.play(-1)
    seen = {clock.row}
    while clock.state.playing:
        clock.tick(0.004)
        seen.add(clock.row)
    assert seen == {0, 2, 4}
    clock.step(1)
    assert clock.row == 1


def test_a_recording_whose_steps_all_last_nothing_stops_at_once() -> None:
    clock = Clock()
    clock.set_axes([recording_axis([0.0] * 4)])
    clock.play()
    clock.tick(0.02)
    assert (clock.row, clock.state.playing) == (3, False)
    clock.set_loop(True)
    clock.play()
    clock.tick(0.02)
    assert clock.state.playing


def test_looping_goes_round_both_ways() -> None:
    clock = clock_of([1.0] * 10)
    clock.set_loop_range(6, 3)
    clock.set_loop(True)
    assert clock.state.span == (3, 6)
    clock.home()
    clock.play()
    rows = []
    for _ in range(6):
        clock.tick(1.0)
        rows.append(clock.row)
    assert rows == [4, 5, 6, 3, 4, 5]
    clock.home()
    clock.play(-1)
    rows = [clock.row]
    for _ in range(5):
        clock.tick(1.0)
        rows.append(clock.row)
    assert rows == [6, 5, 4, 3, 6, 5]


@pytest.mark.parametrize(("direction", "enters"), [(1, 3), (-1, 6)])
@pytest.mark.parametrize("start", [0, 9])
def test_a_loop_range_elsewhere_is_entered_at_once(
    start: int, direction: int, enters: int
) -> None:
    clock = clock_of([1.0] * 10)
    clock.seek(start)
    clock.set_rate(0.5)
    clock.play(direction)
    clock.set_loop_range(3, 6)
    clock.set_loop(True)
    clock.tick(0.1)
    assert clock.row == enters


def test_a_loop_range_below_zero_begins_at_zero() -> None:
    clock = clock_of([1.0] * 4)
    clock.set_loop_range(-5, 2)
    clock.set_loop(True)
    assert clock.state.span == (0, 2)
    clock.play()
    clock.tick(2.5)
    assert clock.row == 2


def test_setting_the_loop_from_the_cursor_drops_the_other_side_where_it_is_passed() -> (
    None
):
    clock = clock_of([1.0] * 10)
    clock.seek(5)
    clock.loop_in_here()
    assert (clock.state.loop_in, clock.state.loop_out) == (5, None)
    clock.seek(8)
    clock.loop_out_here()
    assert clock.state.span == (5, 8)
    clock.seek(2)
    clock.loop_out_here()
    assert clock.state.span == (0, 2)
    clock.seek(4)
    clock.loop_in_here()
    assert clock.state.span == (4, 9)


@pytest.mark.parametrize("dt", [0.0, -1.0, math.nan, math.inf, -math.inf])
def test_no_time_moves_nothing(dt: float) -> None:
    clock = clock_of([1.0] * 4)
    clock.seek(1)
    clock.play()
    clock.tick(dt)
    assert (clock.row, clock.state.playing) == (1, True)


def test_an_absurd_rate_ends_at_the_end() -> None:
    clock = clock_of([1.0] * 4)
    clock.set_rate(1e308)
    clock.play()
    clock.tick(1e5)
    assert (clock.row, clock.state.playing) == (3, False)
    clock.set_loop(True)
    clock.play()
    clock.tick(1e5)
    assert 0 <= clock.row < 4
    clock.set_rate(1.0)
    clock.home()
    clock.tick(1.5)
    assert clock.row == 1


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_that_is_none_changes_nothing(rate: float) -> None:
    clock = clock_of([1.0])
    clock.set_rate(rate)
    assert clock.state.rate == 1.0


def test_rates_go_up_and_down_and_stay_at_their_ends() -> None:
    clock = clock_of([1.0])
    seen = [clock.state.rate]
    for _ in RATES:
        clock.faster()
        seen.append(clock.state.rate)
    assert seen == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0, 32.0, 32.0, 32.0, 32.0]
    clock.set_rate(100.0)
    clock.faster()
    assert clock.state.rate == 100.0
    clock.slower()
    assert clock.state.rate == 32.0
    clock.set_rate(0.01)
    clock.slower()
    assert clock.state.rate == 0.01


# -- growth, following, other times ------------------------------------------------


def test_following_sticks_to_the_end_of_a_growing_source() -> None:
    clock = clock_of([0.02] * 3)
    clock.set_follow(True)
    clock.play()
    for rows in (5, 9, 10):
        clock.set_axes([recording_axis([0.02] * rows)])
        assert clock.row == rows - 1
        clock.tick(0.5)
        assert (clock.row, clock.state.playing) == (rows - 1, True)
    clock.seek(4)
    clock.set_axes([recording_axis([0.02] * 12)])
    assert (clock.row, clock.state.follow) == (4, False)


@pytest.mark.parametrize("command", ["loop", "in", "out", "backwards"])
def test_what_leaves_the_end_stops_following(command: str) -> None:
    clock = clock_of([0.02] * 5)
    clock.set_follow(True)
    {
        "loop": clock.toggle_loop,
        "in": clock.loop_in_here,
        "out": clock.loop_out_here,
        "backwards": lambda: clock.play(-1),
    }[command]()
    assert not clock.state.follow


def test_following_stops_looping_and_playing_backwards() -> None:
    clock = clock_of([0.02] * 5)
    clock.set_loop(True)
    clock.play(-1)
    clock.set_follow(True)
    state = clock.state
    assert (state.row, state.follow, state.loop, state.direction) == (4, True, False, 0)


def test_growth_does_not_set_playing_back() -> None:
    # Growth that comes more often than a row lasts once held the cursor on its row.
    clock = clock_of([1.0] * 3)
    clock.play()
    for rows in range(4, 14):
        clock.tick(0.25)
        clock.set_axes([recording_axis([1.0] * rows)])
    assert clock.row == 2


def test_growth_is_told_once_and_with_rows_that_are_there() -> None:
    clock = clock_of([1.0] * 10)
    clock.seek(9)
    seen = told(clock)
    clock.set_axes([recording_axis([1.0] * 4)])
    assert [(new.row, new.rows) for new, _ in seen] == [(3, 4)]


def test_columns_that_are_longer_by_what_was_just_written_are_cut() -> None:
    h = np.full(5, 0.02)
    clock = Clock()
    clock.set_axes(
        [TimeAxis.recording(np.cumsum(h)[:3], h[:4]), TimeAxis.native(h)],
    )
    assert clock.state.rows == 3
    assert [len(clock.axis), len(clock.axis.durations_s)] == [3, 3]
    clock.set_time(TimeKind.NATIVE)
    clock.end()
    assert clock.row == 2


def test_times_of_something_else_begin_afresh() -> None:
    clock = clock_of([1.0] * 10)
    clock.set_marks("event", [4])
    clock.set_loop_range(2, 6)
    clock.seek(5)
    clock.set_axes([recording_axis([1.0] * 10)], keep_cursor=False)
    state = clock.state
    assert (state.row, state.loop_in, state.loop_out) == (0, None, None)
    assert clock.marks("event") == []


def test_another_time_keeps_the_row_and_how_much_of_it_was_played() -> None:
    clock = Clock()
    h = np.array([1.0, 3.0, 1.0])
    clock.set_axes([TimeAxis.recording(np.cumsum(h), h), TimeAxis.native(h)])
    clock.play()
    clock.tick(2.5)
    assert clock.row == 1
    clock.set_time(TimeKind.NATIVE)
    assert (clock.row, clock.state.kind) == (1, TimeKind.NATIVE)
    assert clock.stamp() == 1.0
    assert clock.stamp(kind=TimeKind.RECORDING) == 4.0
    clock.tick(0.6)  # half of the row's one second is left
    assert clock.row == 2


def test_a_time_that_is_not_there_is_not_chosen() -> None:
    clock = clock_of([1.0] * 3)
    clock.set_time(TimeKind.WALL)
    assert clock.state.kind is TimeKind.RECORDING
    clock.set_axes([TimeAxis.native(np.ones(3))])
    assert clock.state.kind is TimeKind.NATIVE
    assert clock.kinds == (TimeKind.NATIVE,)


def test_the_time_asked_for_comes_back_where_there_is_one() -> None:
    h = np.full(4, 0.02)
    both = [recording_axis([0.02] * 4), TimeAxis.native(h)]
    clock = Clock()
    # Something without a known h, such as a file that can't be read, comes first.
    clock.set_axes([TimeAxis.native(np.empty(0))], keep_cursor=False)
    assert clock.state.kind is TimeKind.NATIVE
    clock.set_axes(both, keep_cursor=False)
    assert clock.state.kind is TimeKind.RECORDING
    clock.set_time(TimeKind.NATIVE)
    clock.set_axes(both, keep_cursor=False)
    assert clock.state.kind is TimeKind.NATIVE


def test_a_native_axis_lasts_as_long_as_most_steps_do() -> None:
    assert TimeAxis.native(np.array([0.02, 0.02, 0.0, np.nan])).durations_s[0] == 0.02
    assert TimeAxis.native(np.array([np.nan, 0.0])).durations_s.tolist() == [0.02] * 2


@pytest.mark.parametrize("bad", [math.nan, -0.1, math.inf])
def test_a_duration_that_is_no_time_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="recording"):
        TimeAxis(TimeKind.RECORDING, np.zeros(2), np.array([0.1, bad]))


# -- properties ------------------------------------------------------------------------

durations = st.lists(
    st.sampled_from([0.0, 1e-5, 0.005, 0.02, 0.04, 1.0]), min_size=1, max_size=30
)


@given(durations, st.sampled_from(RATES), st.sampled_from([1, -1]), st.integers(1, 400))
@settings(deadline=None)
def test_playing_takes_the_time_that_the_rows_last(
    lasts: list[float], rate: float, direction: int, ticks: int
) -> None:
    total = sum(lasts)
    clock = clock_of(lasts)
    clock.set_rate(rate)
    if direction < 0:
        clock.end()
        clock.play(-1)
    else:
        clock.home()
        clock.play(1)
    dt = total / rate / ticks
    rows = [clock.row]
    spent = 0
    while clock.state.playing and spent < ticks + 2:
        clock.tick(dt if dt > 0 else 1.0)
        rows.append(clock.row)
        spent += 1
    assert not clock.state.playing
    # Rounding may take the last tick a little before or after the end.
    assert total == 0 or ticks <= spent <= ticks + 1
    assert rows == sorted(rows, reverse=direction < 0)
    assert clock.row == (len(lasts) - 1 if direction > 0 else 0)


@given(durations, st.lists(st.floats(1e-6, 0.5), max_size=40))
@settings(deadline=None)
def test_the_row_is_the_one_whose_time_it_is(
    lasts: list[float], ticks: list[float]
) -> None:
    clock = clock_of(lasts)
    clock.play()
    ends = np.cumsum(lasts)
    passed = 0.0
    for dt in ticks:
        clock.tick(dt)
        if not clock.state.playing:
            assert passed + dt >= ends[-1] * (1 - 1e-12)
            break
        passed += dt
        assert clock.row == bisect_right(ends, passed)


class AnyCommands(RuleBasedStateMachine):
    """Whatever is commanded, the state stays one that can be shown."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.last = self.clock.state
        self.clock.changed.connect(self._hear)

    def _hear(self, new: ClockState, old: ClockState) -> None:
        assert old == self.last
        assert new != old
        assert 0 <= new.row < max(new.rows, 1)
        assert new.rows == len(self.clock.axis)
        assert new.kind is self.clock.axis.kind
        self.last = new

    @rule(lasts=st.one_of(st.just([]), durations), keep=st.booleans())
    def set_axes(self, lasts: list[float], keep: bool) -> None:
        h = np.array(lasts)
        axes = [recording_axis(lasts), TimeAxis.native(h)] if lasts else []
        self.clock.set_axes(axes, keep_cursor=keep)

    @rule(row=st.integers(-5, 40))
    def seek(self, row: int) -> None:
        self.clock.seek(row)

    @rule(stamp=st.floats())
    def seek_time(self, stamp: float) -> None:
        self.clock.seek_time(stamp)

    @rule(rows=st.integers(-12, 12))
    def step(self, rows: int) -> None:
        self.clock.step(rows)

    @rule(rows=st.lists(st.integers(-5, 40), max_size=6))
    def set_marks(self, rows: list[int]) -> None:
        self.clock.set_marks("m", rows)

    @rule(count=st.integers(-4, 4))
    def step_mark(self, count: int) -> None:
        row = self.clock.row
        moved = self.clock.step_mark("m", count)
        assert moved == (self.clock.row != row)
        assert not moved or self.clock.row in self.clock.marks("m")

    @rule(
        name=st.sampled_from(
            [
                "home",
                "end",
                "pause",
                "toggle",
                "faster",
                "slower",
                "toggle_loop",
                "loop_in_here",
                "loop_out_here",
            ]
        )
    )
    def plain(self, name: str) -> None:
        getattr(self.clock, name)()

    @rule(direction=st.sampled_from([1, -1]))
    def play(self, direction: int) -> None:
        self.clock.play(direction)

    @rule(rate=st.floats())
    def set_rate(self, rate: float) -> None:
        self.clock.set_rate(rate)

    @rule(
        low=st.one_of(st.none(), st.integers(-5, 40)),
        high=st.one_of(st.none(), st.integers(-5, 40)),
    )
    def set_loop_range(self, low: int | None, high: int | None) -> None:
        self.clock.set_loop_range(low, high)

    @rule(on=st.booleans())
    def set_follow(self, on: bool) -> None:
        self.clock.set_follow(on)

    @rule(kind=st.sampled_from(TimeKind))
    def set_time(self, kind: TimeKind) -> None:
        self.clock.set_time(kind)

    @rule(dt=st.one_of(st.floats(0, 3), st.floats()))
    def tick(self, dt: float) -> None:
        before = self.clock.state
        self.clock.tick(dt)
        after = self.clock.state
        if after.playing and after.loop and after != before:
            low, high = after.span
            assert low <= after.row <= high

    @invariant()
    def is_a_state_that_can_be_shown(self) -> None:
        state: Any = self.clock.state
        assert state == self.last
        assert type(state.row) is int
        assert 0 <= state.row < max(state.rows, 1)
        low, high = state.span
        assert 0 <= low <= high < max(state.rows, 1)
        assert state.rate > 0
        assert math.isfinite(state.rate)
        assert not (state.follow and (state.loop or state.direction < 0))
        assert not state.follow or state.row == max(state.rows - 1, 0)


AnyCommands.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None
)
TestAnyCommands = AnyCommands.TestCase
