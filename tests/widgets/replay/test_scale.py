"""Sizes of differences to heights: order kept, 0 at the bottom, no surprises."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoscope.widgets.replay.scale import RAIL, scale_of, worst_per_pixel

sizes = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-12, 1e6), st.just(np.inf)), max_size=30
)


@given(sizes, sizes, st.sampled_from([None, True, False]))
def test_heights_keep_the_order(found, limits, log) -> None:
    a, b = np.array(found), np.array(limits)
    scale = scale_of(a, b, log)
    heights = scale.heights(np.sort(a))
    assert ((heights >= 0) & (heights <= 1)).all()
    assert (np.diff(heights) >= 0).all()
    assert (heights[np.sort(a) == 0] == 0).all()
    assert (heights[np.isinf(np.sort(a))] == 1).all()
    ticks = scale.ticks()
    assert ticks[0] == 0.0
    assert ticks == sorted(set(ticks))
    assert len(ticks) < 12


def test_decades_where_they_say_more() -> None:
    narrow = scale_of(np.array([0.0, 1.0, 3.0]), np.array([2.0]))
    assert not narrow.log
    wide = scale_of(np.array([0.0, 1e-9, 3.0]), np.array([1e-3]))
    assert wide.log
    smallest = wide.heights(np.array([1e-9]))[0]
    assert smallest >= RAIL, "0 has a line of its own below it"


def test_a_band_far_above_does_not_flatten_the_rest() -> None:
    scale = scale_of(np.array([1e-9, 5e-9]), np.array([1.0]), False)
    assert scale.heights(np.array([5e-9]))[0] > 0.03


@given(
    st.lists(st.integers(0, 500), min_size=1, max_size=80, unique=True),
    st.floats(0.5, 50),
)
def test_the_largest_of_each_pixel_stays(rows, each_px) -> None:
    at = np.sort(np.array(rows))
    size = np.random.default_rng(len(rows)).uniform(0, 1, len(at))
    seen, top = worst_per_pixel(at, size, 0.0, each_px)
    assert len(seen) == len(top) <= len(at)
    assert top.max() == size.max()
    assert set(seen.tolist()) <= set(at.tolist())


def test_nothing() -> None:
    scale = scale_of(np.zeros(0), np.zeros(0))
    assert scale.heights(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    rows, top = worst_per_pixel(np.zeros(0, np.int64), np.zeros(0), 0.0, 1.0)
    assert len(rows) == len(top) == 0
