"""Which row of the merged stream a row became: against a plain dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.tap.rowmap import RowMap

pieces = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 6)), max_size=6
)


@given(pieces, st.lists(st.integers(-1, 60), max_size=8), st.data())
def test_rows_of_all_pieces(
    gaps: list[tuple[int, int, int]], asked: list[int], data: st.DataObject
) -> None:
    rows, known = RowMap(), {}
    here = there = 0
    for lost, others, count in gaps:
        here, there = here + lost, there + others
        rows.add(here, there, count)
        known |= {here + k: there + k for k in range(count)}
        here, there = here + count, there + count
    if gaps and data.draw(st.booleans()):  # of the last piece alone
        last = gaps[-1][2]
        asked = [here - 1 - n % last for n in asked]
    end = there + 5
    expected = [known.get(n, end if n == rows.length else -1) for n in asked]
    if not gaps:
        expected = [end if n == 0 else -1 for n in asked]
    found = rows.all(np.array(asked, np.int64), end)
    assert found.dtype == np.int64
    assert found.tolist() == expected
    assert rows.all(np.full(3, -1), end).tolist() == [-1, -1, -1]
