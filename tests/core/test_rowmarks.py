"""Rows that are stepped between, against a sorted list of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.rowmarks import PIECE_ROWS, RowMarks

NEAR_EDGES = st.one_of(
    st.integers(-3, 40),
    st.integers(PIECE_ROWS - 20, PIECE_ROWS + 20),
    st.integers(5 * PIECE_ROWS - 3, 5 * PIECE_ROWS + 3),
)


def by_list(marks: list[int], row: int, count: int, stop: int) -> int | None:
    marks = [mark for mark in marks if mark < stop]
    if count > 0:
        at = bisect_right(marks, row)
        return marks[min(at + count, len(marks)) - 1] if at < len(marks) else None
    at = bisect_left(marks, row)
    return marks[max(at + count, 0)] if count < 0 and at else None


@given(
    st.lists(st.lists(NEAR_EDGES, max_size=30), max_size=4),
    st.integers(0, 6 * PIECE_ROWS) | NEAR_EDGES.filter(lambda row: row >= 0),
    st.integers(-40, 40),
    NEAR_EDGES,
)
def test_stepping_is_as_by_a_sorted_list(given_rows, row, count, stop) -> None:
    marks = RowMarks()
    for rows in given_rows:
        marks.add(rows)
    wanted = sorted({row for rows in given_rows for row in rows if row >= 0})
    assert marks.rows() == wanted
    assert bool(marks) == bool(wanted)
    assert marks.step(row, count, stop) == by_list(wanted, row, count, stop)


def test_a_mark_far_away_takes_one_piece() -> None:
    marks = RowMarks([10**15])
    assert marks.rows() == [10**15]
    assert marks.step(0, 1, 10**16) == 10**15
    assert marks.step(10**17, -3, 10**16) == 10**15
