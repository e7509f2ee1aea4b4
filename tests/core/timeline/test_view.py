from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from isoscope.core.timeline.view import WIDEST_ROW_PX, View

rows = st.integers(1, 2_000_000)
width = st.integers(1, 3000)
share = st.floats(0.0, 1.0)
scale = st.sampled_from([1.0, 1.25, 1.5, 2.0])


@st.composite
def views(draw):
    view = View.fit(draw(rows), draw(width))
    view = view.scaled(draw(share) * view.width, draw(st.floats(1e-6, 1.0)))
    return view.panned(draw(st.integers(-100_000, 100_000)))


@given(views(), scale)
def test_columns_cover_exactly_the_rows_in_sight(view, scale):
    columns = view.columns(scale)
    assert (columns.stop > columns.start).all()
    assert (np.diff(columns.start) >= 0).all()
    # nothing is left out between two columns
    assert (columns.start[1:] <= columns.stop[:-1]).all()
    if view.per_px * view.width / len(columns) >= 1:
        assert (columns.start[1:] == columns.stop[:-1]).all()
    else:
        assert (columns.stop - columns.start == 1).all()
    assert columns.start[0] == pytest.approx(view.first, abs=1.0)


@given(rows, width, scale)
def test_every_row_lies_under_a_column_when_all_is_shown(rows, width, scale):
    view = View.fit(rows, width)
    assume(view.all_shown)
    columns = view.columns(scale)
    assert columns.start[0] == 0
    assert columns.stop[-1] >= rows - 1e-6


@given(views(), share, st.floats(0.01, 100.0))
def test_zooming_keeps_the_row_under_the_pointer(view, at, factor):
    x = at * view.width
    grown = view.scaled(x, factor)
    inside = 0 < grown.first and grown.last < grown.rows  # not held back by an end
    if inside and view.last <= view.rows:
        before, after = view.first + x * view.per_px, grown.first + x * grown.per_px
        assert after == pytest.approx(before, abs=1e-6 * max(view.rows, 1))


@given(views(), st.integers(-5000, 5000))
def test_a_view_stays_inside_the_rows(view, px):
    moved = view.panned(px)
    assert moved.first >= 0
    span = moved.width * moved.per_px
    assert moved.last <= max(moved.rows, span) + 1e-6 * moved.rows
    assert 1 / moved.per_px <= WIDEST_ROW_PX * 1.001


@given(views(), st.integers(0, 2_000_000), st.booleans())
def test_paging_brings_a_row_into_sight(view, row, backwards):
    row = min(row, view.rows - 1)
    page = view.paged(row, backwards)
    assert page.shows(row)
    assert page.per_px == view.per_px


def test_a_row_in_sight_turns_no_page():
    view = View.fit(1000, 100).scaled(50, 0.1)
    assert view.paged(view.row_at(50)) is view


def test_columns_share_a_wide_row_and_the_first_of_them_says_so():
    columns = View(0.0, 0.25, 8, 100).columns()
    assert columns.start.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert columns.fresh.tolist() == [True, *[False] * 3, True, *[False] * 3]


def test_spanning_shows_the_span_in_the_middle():
    view = View.fit(10_000, 500).spanning(2000, 3000)
    assert view.first == pytest.approx(2000)
    assert view.last == pytest.approx(3000)


def test_few_rows_are_not_stretched_over_the_whole_width():
    view = View.fit(3, 1000)
    assert view.x_of(1) - view.x_of(0) == WIDEST_ROW_PX
    assert view.all_shown
