"""The clock past its last row: stepped, played both ways, and left again."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.core.clock import Clock, ClockState, TimeAxis, TimeKind

ROWS, TAIL = 4, 3


@pytest.fixture
def clock() -> Clock:
    """Four rows of 0.1 s, and three steps of 0.2 s past them."""
    made = Clock()
    lasts = np.full(ROWS, 0.1)
    made.set_axes([TimeAxis(TimeKind.RECORDING, np.cumsum(lasts), lasts)])
    made.set_tail(np.full(TAIL, 0.2))
    return made


def at(clock: Clock) -> tuple[int, int]:
    return clock.row, clock.beyond


def test_stepping_goes_on_past_the_last_row(clock: Clock) -> None:
    clock.seek(ROWS - 2)
    places = []
    for _ in range(6):
        clock.step(1)
        places.append(at(clock))
    assert places == [(3, 0), (3, 1), (3, 2), (3, 3), (3, 3), (3, 3)]
    clock.step(-2)
    assert at(clock) == (3, 1)
    clock.step(-2)
    assert at(clock) == (2, 0)


def test_seeking_and_the_ends_know_recorded_rows_only(clock: Clock) -> None:
    clock.seek_past(2)
    assert at(clock) == (3, 2)
    clock.seek(99)
    assert at(clock) == (3, 0)
    clock.seek_past(99)
    assert at(clock) == (3, TAIL)
    clock.end()
    assert at(clock) == (3, 0)
    clock.seek_past(0)
    assert at(clock) == (3, 0)


@pytest.mark.parametrize("dt_s", [0.01, 0.07, 0.1, 0.33])
def test_it_is_played_for_as_long_as_its_steps_last(clock: Clock, dt_s: float) -> None:
    clock.play()
    seen, spent_s = [at(clock)], 0.0
    while clock.state.playing:
        clock.tick(dt_s)
        spent_s += dt_s
        seen.append(at(clock))
    assert at(clock) == (3, TAIL)
    assert spent_s == pytest.approx(0.4 + 0.6, abs=dt_s + 1e-9)
    assert seen == sorted(seen)
    clock.play(-1)
    while clock.state.playing:
        clock.tick(dt_s)
    assert at(clock) == (0, 0)


def test_going_round_leaves_it_out(clock: Clock) -> None:
    clock.set_loop(True)
    clock.play()
    for _ in range(40):
        clock.tick(0.05)
        assert clock.beyond == 0


def test_playing_from_its_end_begins_anew(clock: Clock) -> None:
    clock.seek_past(TAIL)
    clock.play()
    assert at(clock) == (0, 0)


def test_it_goes_with_what_it_belongs_to(clock: Clock) -> None:
    told: list[ClockState] = []
    clock.seek_past(2)
    clock.changed.connect(lambda new, _: told.append(new))
    clock.set_tail(np.zeros(0))
    assert at(clock) == (3, 0)
    assert [(s.beyond, s.tail) for s in told] == [(0, 0)]
    clock.set_tail(np.full(2, 0.1))
    clock.seek_past(2)
    lasts = np.full(ROWS + 1, 0.1)
    clock.set_axes([TimeAxis(TimeKind.RECORDING, np.cumsum(lasts), lasts)])
    assert (at(clock), clock.state.tail) == ((3, 0), 0), "another end has another tail"


def test_other_times_are_played_with_it(clock: Clock) -> None:
    lasts = np.full(ROWS, 0.1)
    axes = [
        TimeAxis(kind, np.cumsum(lasts), lasts)
        for kind in (TimeKind.RECORDING, TimeKind.SCENE)
    ]
    clock.seek_past(2)
    clock.set_axes(axes)
    assert at(clock) == (3, 2), "the same rows"
    clock.set_time(TimeKind.SCENE)
    assert at(clock) == (3, 2)
    clock.step(1)
    assert at(clock) == (3, 3)
