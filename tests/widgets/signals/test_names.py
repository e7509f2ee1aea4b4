"""The names at the right of plots: in order, apart, and calm while curves grow."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.widgets.signals.names import HOLD_S, NameOrder, spread

heights = st.floats(0, 100)


def test_names_stand_from_the_top_as_their_curves_end() -> None:
    assert NameOrder().order({0: 30.0, 1: 10.0, 2: 20.0}, 4, 0.0) == [1, 2, 0]


def test_curves_that_cross_for_a_moment_change_no_order() -> None:
    names = NameOrder()
    for at in range(60):  # every half second another is above
        up = at % 4 < 2
        ends = {0: 10.0, 1: 40.0} if up else {0: 40.0, 1: 10.0}
        assert names.order(ends, 4, at / 4) == [0, 1]


def test_what_lasts_changes_it() -> None:
    names = NameOrder()
    names.order({0: 10.0, 1: 40.0}, 4, 0.0)
    crossed = {0: 40.0, 1: 10.0}
    assert names.order(crossed, 4, 1.0) == [0, 1]
    assert names.order(crossed, 4, 0.9 + HOLD_S) == [0, 1]
    assert names.order(crossed, 4, 1.0 + HOLD_S) == [1, 0]
    close = {0: 10.0, 1: 12.0}  # no farther apart than that they could be either way
    assert names.order(close, 4, 3.0 + 9 * HOLD_S) == [1, 0]


def test_one_that_turns_up_is_put_where_it_ends() -> None:
    names = NameOrder()
    assert names.order({0: 10.0, 1: 40.0}, 4, 0.0) == [0, 1]
    assert names.order({0: 10.0, 1: 40.0, 2: 20.0}, 4, 0.1) == [0, 2, 1]
    assert names.order({1: 40.0, 2: 20.0}, 4, 0.2) == [2, 1]
    names.forget()
    assert names.order({1: 20.0, 2: 40.0}, 4, 0.3) == [1, 2]


@given(st.lists(heights, min_size=1, max_size=8))
def test_they_are_apart_and_inside_whatever_is_wanted(wanted) -> None:
    made = spread(wanted, 12, 0, 100)
    for upper, lower in pairwise(made):
        assert lower - upper >= 12 - 1e-9
    assert made[0] >= 0
    assert made[-1] <= 100 + 1e-9


def test_names_apart_stay_at_their_curves_and_others_share_the_way() -> None:
    assert spread([10, 50, 90], 12, 0, 100) == [10, 50, 90]
    assert spread([50, 50], 12, 0, 100) == [44, 56]
    assert spread([60, 40], 12, 0, 100) == pytest.approx([44, 56])
    assert spread([100, 100], 12, 0, 100) == [88, 100]
