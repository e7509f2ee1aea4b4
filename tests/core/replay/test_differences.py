"""How far two values are apart, whatever they are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isoscope.core.recording.tracks import Track
from isoscope.core.replay.differences import differences, sizes
from isoscope.core.replay.fields import Field, take

real = st.floats(width=32, allow_nan=True, allow_infinity=True)
rows = hnp.arrays(np.float32, st.tuples(st.integers(1, 40), st.just(3)), elements=real)


def field(one: np.ndarray, two: np.ndarray, rotation: bool = False) -> Field:
    return Field("Ball", "x", "pose", "m", Track.of(one), Track.of(two), rotation)


def look(one: np.ndarray, two: np.ndarray, tolerance: float = 0.0):
    at = np.arange(len(one))
    return differences([field(one, two)], at, at, tolerance)


@given(rows)
def test_nothing_differs_from_itself(one: np.ndarray) -> None:
    seen = look(one, one.copy())
    assert not seen.differs.any()
    assert not seen.beyond.any()
    assert seen.fields[0].largest == 0
    assert seen.fields[0].other_bits == 0


@given(rows, st.data())
def test_what_differs_is_what_numpy_says(one: np.ndarray, data: st.DataObject) -> None:
    two = data.draw(hnp.arrays(np.float32, one.shape, elements=real))
    seen = look(one, two)
    same = (one == two) | (np.isnan(one) & np.isnan(two))
    assert np.array_equal(seen.differs, ~same.all(axis=1))
    # The largest has a place whenever there is a difference, and never otherwise.
    assert (seen.fields[0].at >= 0) == bool(seen.differs.any())


@given(rows, st.data())
def test_it_is_the_same_from_the_other_side(
    one: np.ndarray, data: st.DataObject
) -> None:
    two = data.draw(hnp.arrays(np.float32, one.shape, elements=real))
    here, there = look(one, two, 1e-3), look(two, one, 1e-3)
    assert np.array_equal(here.differs, there.differs)
    assert np.array_equal(here.beyond, there.beyond)
    assert here.fields[0].largest == there.fields[0].largest


def test_one_that_is_not_finite_is_infinitely_far() -> None:
    size, _ = sizes(np.array([[np.nan, np.inf, 1.0]]), np.array([[0.0, -np.inf, 1.0]]))
    assert size.tolist() == [[np.inf, np.inf, 0.0]]
    size, _ = sizes(np.array([[np.nan, np.inf]]), np.array([[np.nan, np.inf]]))
    assert size.tolist() == [[0.0, 0.0]]


def test_many_blocks_give_what_one_does(monkeypatch) -> None:
    from isoscope.core.replay import differences as module

    rng = np.random.default_rng(0)
    one = rng.normal(size=(100, 3))
    two = one.copy()
    two[[3, 57, 99], 1] += [0.1, 0.7, 0.3]
    whole = look(one, two)
    monkeypatch.setattr(module, "BLOCK", 7)
    parts = look(one, two)
    assert np.array_equal(whole.differs, parts.differs)
    assert (whole.fields[0].at, parts.fields[0].at) == (57, 57)
    assert parts.fields[0].differing == 3


def test_values_outside_of_a_track_are_absent() -> None:
    track = Track.of(np.arange(4.0), first=2)
    values, valid = take(track, np.array([-1, 1, 2, 5, 6]))
    assert valid.tolist() == [False, False, True, True, False]
    assert values[valid].tolist() == [0.0, 3.0]
    values, valid = take(Track(np.dtype(float), (3,)), np.array([0, 1]))
    assert values.shape == (2, 3)
    assert not valid.any()
