"""Scattered rows in parts that lie near each other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.recording.near import near


@given(st.lists(st.integers(0, 2_000), unique=True).map(sorted), st.integers(1, 300))
def test_each_row_comes_once_and_no_part_is_long(rows, most) -> None:
    given_rows = np.array(rows, np.int64)
    parts = [given_rows[part] for part in near(given_rows, most)]
    assert [row for part in parts for row in part.tolist()] == rows
    assert all(part[-1] - part[0] < most for part in parts)
