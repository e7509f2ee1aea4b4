from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from isoscope.core.clock import TimeAxis, TimeKind
from isoscope.core.timeline.ruler import (
    goes_forward,
    nice_step,
    stamp_decimals,
    stamp_text,
    ticks,
)
from isoscope.core.timeline.view import View


def recording_axis(h_s):
    h_s = np.asarray(h_s, float)
    return TimeAxis.recording(np.cumsum(h_s), h_s)


@given(st.floats(1e-9, 1e9), st.integers(1, 50))
def test_a_nice_step_cuts_in_at_most_so_many_parts(span, parts):
    step = nice_step(span, parts)
    assert span / step <= parts * (1 + 1e-6)
    mantissa = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(mantissa - nice) for nice in (1, 2, 5, 10)) < 1e-6


@given(
    st.lists(st.sampled_from([0.02, 0.01, 1e-5, 0.0, 0.04]), min_size=1, max_size=300),
    st.integers(50, 1500),
)
def test_a_tick_stands_where_its_time_stands(h_s, width):
    axis = recording_axis(h_s)
    view = View.fit(len(h_s), width)
    for tick in ticks(view, axis, goes_forward(axis.stamps), 80):
        said = float(tick.label.removesuffix(" s"))
        row = min(max(int(tick.at - 0.5), 0), len(h_s) - 1)
        low = axis.stamps[row]
        high = axis.stamps[min(row + 1, len(h_s) - 1)]
        # rounding of the label apart
        assert low - 0.006 <= said <= high + 0.006


@given(st.integers(1, 5000), st.integers(50, 2000), st.floats(0.001, 1.0))
def test_labels_keep_apart(rows, width, factor):
    axis = recording_axis(np.tile([0.02, 0.02, 1e-5], rows)[:rows])
    view = View.fit(rows, width).scaled(width / 2, factor)
    at = [view.x_of(tick.at) for tick in ticks(view, axis, True, 80)]
    assert all(b - a >= 55 for a, b in pairwise(at))


def test_equal_steps_give_round_times():
    axis = recording_axis(np.full(100, 0.02))
    labels = [t.label for t in ticks(View.fit(100, 500), axis, True, 100)]
    assert labels == ["0.5 s", "1.0 s", "1.5 s", "2.0 s"]


def test_native_ticks_say_rows():
    axis = TimeAxis.native(np.full(100, 0.02))
    found = ticks(View.fit(100, 500), axis, True, 100)
    assert [t.label for t in found] == ["0", "20", "40", "60", "80"]
    assert found[1].at == 20.5


def test_a_time_that_goes_back_is_told_on_round_rows():
    stamps = np.tile(np.arange(10) * 0.02, 10)
    axis = TimeAxis(TimeKind.SCENE, stamps, np.full(100, 0.02))
    assert not goes_forward(stamps)
    found = ticks(View.fit(100, 500), axis, False, 100)
    assert [t.at for t in found] == [0.5, 20.5, 40.5, 60.5, 80.5]
    assert {t.label for t in found} == {"0.000 s"}


def test_an_unknown_time_is_told_as_unknown():
    axis = TimeAxis(TimeKind.SCENE, np.full(10, math.nan), np.zeros(10))
    found = ticks(View.fit(10, 500), axis, goes_forward(axis.stamps), 100)
    assert {t.label for t in found} == {"unknown"}


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=20),
    st.sampled_from([TimeKind.RECORDING, TimeKind.SCENE, TimeKind.WALL]),
)
@example([-1e308, 1e308], TimeKind.RECORDING)
@example([0.0, math.inf, math.inf, 0.0], TimeKind.RECORDING)
@example([0.0, 5e-324], TimeKind.SCENE)
def test_any_time_at_all_has_ticks(stamps, kind):
    axis = TimeAxis(kind, np.array(stamps), np.zeros(len(stamps)))
    forward = goes_forward(axis.stamps)
    view = View.fit(len(stamps), 400)
    for tick in ticks(view, axis, forward, 80):
        assert view.first - 1 <= tick.at <= view.last + 1


def test_no_rows_have_no_ticks():
    assert ticks(View.fit(1, 500), recording_axis([]), False, 100) == []


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (TimeKind.RECORDING, 0.36, "0.360 s"),
        (TimeKind.NATIVE, 12.0, "12"),
        (TimeKind.WALL, 1_700_000_000.25, "22:13:20.250"),
        (TimeKind.WALL, 2.5, "2.500 s"),
        (TimeKind.WALL, 1e18, "1000000000000000000.000 s"),
        (TimeKind.CONTROL, math.nan, "unknown"),
    ],
)
def test_times_in_words(kind, value, said):
    assert stamp_text(kind, value) == said


def test_short_steps_get_more_decimals():
    assert stamp_decimals(recording_axis([0.02] * 3)) == 3
    assert stamp_decimals(recording_axis([1e-4] * 3)) == 4
