from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isoscope.core.timeline.reduce import RangeReducer

values = hnp.arrays(np.uint8, st.integers(0, 400))
ends = st.lists(st.tuples(st.integers(-5, 420), st.integers(-5, 420)), max_size=20)


@given(values, ends)
def test_a_union_holds_the_bits_of_exactly_its_range(column, ranges):
    reducer = RangeReducer(column, np.bitwise_or)
    start = np.array([low for low, _ in ranges], np.int64)
    stop = np.array([high for _, high in ranges], np.int64)
    found = reducer.over(start, stop)
    for low, high, bits in zip(start, stop, found, strict=True):
        part = column[max(low, 0) : max(high, 0)]
        assert bits == np.bitwise_or.reduce(part, initial=0)


@given(values, ends)
def test_a_maximum_and_a_minimum_are_those_of_exactly_the_range(column, ranges):
    start = np.array([low for low, _ in ranges], np.int64)
    stop = np.array([high for _, high in ranges], np.int64)
    top = RangeReducer(column, np.maximum, 0).over(start, stop)
    bottom = RangeReducer(column, np.minimum, 255).over(start, stop)
    for i, (low, high) in enumerate(zip(start, stop, strict=True)):
        part = column[max(low, 0) : max(high, 0)]
        assert top[i] == part.max(initial=0)
        assert bottom[i] == part.min(initial=255)


def test_one_odd_value_in_a_million_is_found():
    column = np.zeros(1_000_000, np.uint8)
    column[654_321] = 4
    reducer = RangeReducer(column, np.bitwise_or)
    edges = np.linspace(0, len(column), 801).astype(np.int64)
    found = reducer.over(edges[:-1], edges[1:])
    assert np.count_nonzero(found) == 1
    assert edges[np.argmax(found)] <= 654_321 < edges[np.argmax(found) + 1]
