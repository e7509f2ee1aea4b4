"""A growing reducer says what reducing the rows themselves says."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.timeline import growing_reduce
from isoscope.core.timeline.growing_reduce import GrowingReducer


@given(st.data())
def test_it_says_what_the_rows_say(data):
    op = data.draw(st.sampled_from([np.maximum, np.bitwise_or]))
    reducer = GrowingReducer(np.dtype(np.uint8), op)
    seed = data.draw(st.integers(0, 1 << 16))
    random = np.random.default_rng(seed)
    column = np.zeros(0, np.uint8)
    for _ in range(data.draw(st.integers(1, 4))):
        new = random.integers(0, 256, data.draw(st.integers(0, 700))).astype(np.uint8)
        column = np.concatenate([column, new])
        reducer.append(new)
        if len(column) and data.draw(st.booleans()):
            at = random.integers(0, len(column), 5)
            values = random.integers(0, 256, 5).astype(np.uint8)
            column[at] = values
            reducer.put(at, values)
        start = random.integers(-5, len(column) + 5, 40)
        stop = start + random.integers(-3, len(column) + 3, 40)
        wanted = [
            op.reduce(column[max(a, 0) : max(b, 0)], initial=0)
            for a, b in zip(start, stop, strict=True)
        ]
        for limit in (0, 300, growing_reduce.GONE_THROUGH):  # by edges, both, through
            with patch.object(growing_reduce, "GONE_THROUGH", limit):
                assert reducer.over(start, stop).tolist() == wanted
        assert np.array_equal(reducer.values, column)


def test_a_minus_one_is_the_answer_for_nothing():
    reducer = GrowingReducer(np.dtype(np.int64), np.maximum, -1)
    assert reducer.over(np.array([0]), np.array([3])).tolist() == [-1]
    reducer.append(np.arange(100))
    assert reducer.over(np.array([5, 5]), np.array([5, 90])).tolist() == [-1, 89]
    assert reducer.whole == 99
