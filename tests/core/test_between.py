"""Between two recorded states: lines, arcs, and never across what breaks them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope import resources
from isoscope.core.analysis import Analyser, Analysis
from isoscope.core.between import along, goes_on_to, turned
from isoscope.core.recording.registry import load
from isoscope.widgets.scene.poses import rotation_matrices

numbers = st.floats(-1, 1, width=32)
quaternions = st.tuples(numbers, numbers, numbers, numbers).filter(
    lambda q: np.linalg.norm(q) > 0.1
)
parts = st.floats(0, 1)


def turn(axis: int, angle: float) -> np.ndarray:
    q = np.zeros(4)
    q[axis], q[3] = np.sin(angle / 2), np.cos(angle / 2)
    return q


@given(quaternions, quaternions, parts)
def test_an_arc_is_a_rotation_and_ends_where_it_should(one, two, part) -> None:
    a, b = np.array(one), np.array(two)
    between = turned(a, b, part)
    if abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b) < 1e-3:
        return  # half a turn apart: either way round is as short
    assert np.linalg.norm(between) == pytest.approx(1.0, abs=1e-6)
    ends = rotation_matrices(np.stack([turned(a, b, 0.0), turned(a, b, 1.0)]))
    np.testing.assert_allclose(
        ends, rotation_matrices(np.stack([a, b])), atol=1e-6, rtol=0
    )


@given(st.integers(0, 2), st.floats(-3, 3), parts)
def test_a_turn_about_an_axis_goes_at_one_speed(axis, angle, part) -> None:
    between = turned(turn(axis, 0.0), turn(axis, angle), part)
    np.testing.assert_allclose(
        rotation_matrices(between),
        rotation_matrices(turn(axis, part * angle)),
        atol=1e-6,
    )


@given(quaternions, quaternions, parts)
def test_the_sign_of_a_quaternion_is_nothing(one, two, part) -> None:
    a, b = np.array(one), np.array(two)
    if abs(a @ b) < 1e-3:
        return
    np.testing.assert_allclose(
        rotation_matrices(turned(a, b, part)),
        rotation_matrices(turned(a, -b, part)),
        atol=1e-6,
    )


def test_what_is_not_a_number_stays_so() -> None:
    bad = np.array([np.nan, 0, 0, 1])
    assert np.isnan(turned(turn(0, 1.0), bad, 0.5)).any()
    assert np.isnan(turned(np.zeros(4), turn(0, 1.0), 0.5)).any()
    assert np.isnan(along(np.zeros(3), bad[:3], 0.5)).any()


def test_a_line() -> None:
    low, high = np.float32([0, 1, 2]), np.float32([1, 3, 2])
    assert along(low, high, 0.25).tolist() == [0.25, 1.5, 2.0]


@pytest.fixture(scope="module")
def shipped() -> Analysis:
    recording = load(Path(resources.shipped_recording()))
    return Analyser(recording).run()


def test_it_goes_on_within_an_episode_only(shipped: Analysis) -> None:
    labels = shipped.labels
    missed = {one.native for one in shipped.attribution.missed_restores}
    assert missed == {34}
    joined = 0
    for row in range(shipped.rows):
        after = goes_on_to(shipped, row)
        if after is None:
            continue
        joined += 1
        assert labels.env[after] == labels.env[row]
        assert labels.episode[after] == labels.episode[row]
        assert labels.kind[after] != 1
        assert after not in missed
        own = shipped.rows_of(int(labels.env[row]))
        assert own[int(np.searchsorted(own, row)) + 1] == after
    assert joined > 80
    # the shipped recording's missed restore: env 0 goes on from env 1's state there
    before = shipped.last_row(0, 33)
    assert goes_on_to(shipped, before) is None


def test_nothing_follows_the_end_or_what_is_not_there(shipped: Analysis) -> None:
    assert goes_on_to(shipped, shipped.rows - 1) is None
    assert goes_on_to(shipped, -1) is None
    assert goes_on_to(shipped, shipped.rows + 5) is None
