from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isoscope.core.recording.registry import load
from isoscope.core.timeline.pieces import Shape, StepLook
from isoscope.core.timeline.steps import (
    step_levels,
    step_looks,
    steps_lane,
    typical_h,
)

some_h = hnp.arrays(
    np.float64,
    st.integers(0, 60),
    elements=st.sampled_from([0.02, 0.01, 0.04, 1e-5, 0.0, math.nan]),
)


def test_the_usual_h_is_one_that_occurs():
    assert typical_h(np.array([0.02, 0.02, 0.01, 1e-5])) == 0.01
    assert typical_h(np.array([0.02, 0.02, 0.02, 1e-5, 0.0])) == 0.02


def test_without_a_known_h_there_is_no_usual_one():
    assert math.isnan(typical_h(np.array([math.nan, 0.0])))


def test_every_kind_of_step_in_a_real_recording_is_told_apart(recordings):
    h_s = load(recordings / "variable_steps.h5").steps.h_s
    looks = step_looks(h_s, typical_h(h_s))
    usual, short, long = StepLook.USUAL, StepLook.SHORTER, StepLook.LONGER
    assert looks.tolist() == [
        usual, short, short, usual, StepLook.TINY, usual, long, usual, StepLook.ZERO,
    ]  # fmt: skip


def test_a_tiny_step_is_nothing_special_where_all_are_tiny():
    h_s = np.full(5, 1e-5)
    assert (step_looks(h_s, typical_h(h_s)) == StepLook.USUAL).all()


def test_an_unknown_h_is_absent_and_not_zero():
    looks = step_looks(np.array([0.02, math.nan]), 0.02)
    assert looks.tolist() == [StepLook.USUAL, StepLook.ABSENT]


def test_steps_backwards_and_without_end_are_unusual_and_have_no_height():
    h_s = np.array([0.02, -0.02, math.inf, 0.02])
    looks = step_looks(h_s, 0.02)
    assert looks.tolist()[1:3] == [StepLook.SHORTER, StepLook.ABSENT]
    assert step_levels(h_s, 0.02).tolist() == [60, 0, 0, 60]


def test_rounding_makes_no_step_unusual():
    h_s = np.array([0.02, float(np.float32(0.02))])
    assert (step_looks(h_s, 0.02) == StepLook.USUAL).all()


@given(some_h)
def test_a_longer_step_is_never_drawn_lower(h_s):
    usual = typical_h(h_s)
    level = step_levels(h_s, usual).astype(int)
    known = np.isfinite(h_s) & (h_s > 0)
    order = np.argsort(h_s[known])
    assert (np.diff(level[known][order]) >= 0).all()
    assert (level[~known] == 0).all()
    assert (level[known] > 0).all()


@given(some_h)
def test_every_zero_and_every_tiny_step_has_a_mark(h_s):
    usual = typical_h(h_s)
    lane = steps_lane(h_s, usual)
    zero = lane.marks.rows[lane.marks.shapes == Shape.ZERO]
    assert zero.tolist() == np.flatnonzero(h_s == 0).tolist()
    tiny = lane.marks.rows[lane.marks.shapes == Shape.TINY]
    looks = step_looks(h_s, usual)
    assert tiny.tolist() == np.flatnonzero(looks == StepLook.TINY).tolist()


def test_a_mark_says_what_it_is():
    lane = steps_lane(np.array([0.02, 0.0, 0.02, 1e-5, 0.02]), 0.02)
    assert [lane.marks.text(i) for i in range(2)] == [
        "a step of 0 s",
        "a step of 1e-5 s, as a reset takes it",
    ]


@pytest.mark.parametrize(("h_s", "level"), [(0.02, 60), (0.04, 72), (0.01, 48)])
def test_an_octave_of_h_is_twelve_levels(h_s, level):
    assert step_levels(np.array([h_s]), 0.02).tolist() == [level]
