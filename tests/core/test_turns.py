"""One environment's series, decimated over its own rows."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.clocklines import ArrayRows, HeldRows, magnitudes
from isoscope.core.turns import BREAK, TurnDecimator, Turns

OWN = np.array([0, 1, 4, 5, 8])
BROKEN = np.array([False, False, False, False, True])


def test_the_worked_trace() -> None:
    turns = Turns.of(OWN, BROKEN)
    assert turns.sequence.tolist() == [0, 1, 4, 5, BREAK, 8]
    assert turns.place.tolist() == [0, 1, 4, 5, 8, 8]
    line = TurnDecimator(ArrayRows(np.arange(9.0)), turns).window(0, 9, 100)
    assert line.rows.tolist() == [0, 1, 4, 5, 8]
    assert line.values.tolist() == [0, 1, 4, 5, 8]
    assert line.joined.tolist() == [True, True, True, False, False]


def test_nothing_breaks_before_the_first_row() -> None:
    assert Turns.of(OWN, np.ones(5, np.bool_)).sequence.tolist() == [
        0,
        BREAK,
        1,
        BREAK,
        4,
        BREAK,
        5,
        BREAK,
        8,
    ]


def test_a_value_that_is_absent_is_no_point_and_never_bridged() -> None:
    values = np.arange(9.0)
    values[4] = np.nan
    turns = Turns.of(OWN, np.zeros(5, np.bool_))
    line = TurnDecimator(ArrayRows(values), turns).window(0, 9, 100)
    assert line.rows.tolist() == [0, 1, 5, 8]
    assert line.joined.tolist() == [True, False, True, False]


def test_a_window_reaches_to_the_next_own_row_on_either_side() -> None:
    turns = Turns.of(OWN, np.zeros(5, np.bool_))
    line = TurnDecimator(ArrayRows(np.arange(9.0)), turns).window(4, 5, 100)
    assert line.rows.tolist() == [1, 4, 5]


def test_no_row_gives_no_point() -> None:
    turns = Turns.of(np.zeros(0, np.int64), np.zeros(0, np.bool_))
    decimator = TurnDecimator(ArrayRows(np.zeros(4)), turns)
    assert len(decimator.window(0, 4, 10).rows) == 0
    assert decimator.prepare(0, 4, 10, time.perf_counter())


@given(
    st.integers(1, 4000),
    st.integers(1, 9),
    st.integers(1, 40),
    st.randoms(use_true_random=False),
)
def test_extremes_and_ends_are_always_there(rows, envs, bins, random) -> None:
    owner = np.array([random.randrange(envs) for _ in range(rows)])
    values = np.array([random.uniform(-1, 1) for _ in range(rows)])
    own = np.flatnonzero(owner == 0)
    turns = Turns.of(own, np.zeros(len(own), np.bool_))
    decimator = TurnDecimator(ArrayRows(values), turns)
    assert decimator.prepare(0, rows, bins, time.perf_counter() + 60)
    line = decimator.window(0, rows, bins)
    assert set(line.rows.tolist()) <= set(own.tolist())
    assert np.array_equal(line.values, values[line.rows])
    if len(own):
        assert line.extent == (values[own].min(), values[own].max())
        assert line.rows[0] == own[0]
        assert line.rows[-1] == own[-1]
        assert line.joined[:-1].all()


def test_a_clock_stands_still_while_others_step() -> None:
    clock = HeldRows(np.array([9.0, 1.0, 9.0, 2.0, 9.0]), np.array([1, 3]))
    values, known = clock.read(0, 5)
    assert known.tolist() == [False, True, True, True, True]
    assert values[1:].tolist() == [1.0, 1.0, 2.0, 2.0]
    assert [clock.at(row) for row in (0, 1, 2, 4)] == [None, 1.0, 1.0, 2.0]
    assert len(clock) == 5
    nobody = HeldRows(np.zeros(3), np.zeros(0, np.int64))
    assert not nobody.read(0, 3)[1].any()


def test_an_array_tells_what_it_does_not_know() -> None:
    rows = ArrayRows(np.array([1.0, np.nan]))
    assert (rows.at(0), rows.at(1), rows.at(2), rows.at(-1)) == (1.0, None, None, None)


def test_magnitudes_keep_the_unknown_unknown() -> None:
    found = magnitudes(np.array([1e-3, 0.0, np.nan]), 1e-9)
    assert found[:2].tolist() == [-3.0, -9.0]
    assert np.isnan(found[2])
