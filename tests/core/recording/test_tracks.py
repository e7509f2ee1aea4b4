"""Tracks: what was put into a row comes out of it, and what is absent stays absent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.recording.superdex.columns import sparse
from isoscope.core.recording.tracks import (
    FieldTable,
    RaggedTrack,
    RaggedWindow,
    Track,
    TrackLike,
)

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import AnyTrack, Array

# A row is absent, a fit value, or one that breaks the rule.
FIT = np.dtype(np.float32)
rows = st.lists(
    st.one_of(
        st.none(),
        st.tuples(
            st.sampled_from([FIT, np.dtype(np.float64), np.dtype(np.int8)]),
            st.sampled_from([(), (3,), (2,), (0,), (2, 3)]),
        ),
    ),
    max_size=40,
)


def value(row: int, kind: tuple[np.dtype, tuple[int, ...]]) -> Array:
    dtype, shape = kind
    size = int(np.prod(shape))
    return (row + 1 + np.arange(size)).astype(dtype).reshape(shape)


def filled(track: AnyTrack, first: int, given_rows: list) -> dict[int, Array]:
    """Append rows one by one; returns what each present one holds."""
    expected: dict[int, Array] = {}
    for index, kind in enumerate(given_rows):
        row = first + index
        if kind is None:
            if index % 2:
                track.skip(1)  # else: skip_to, before the next value
            continue
        track.skip_to(row)
        expected[row] = value(row, kind)
        track.append_value(expected[row])
    track.skip_to(first + len(given_rows))
    return expected


def check(track: AnyTrack, first: int, count: int, expected: dict[int, Array]) -> None:
    assert isinstance(track, TrackLike)
    assert len(track) == count
    assert track.present_count() == len(expected)
    for row in range(first - 2, first + count + 2):
        got = track.at(row)
        assert track.present(row) == (row in expected)
        if row not in expected:
            assert got is None
            continue
        assert got is not None
        assert (got.dtype, got.shape) == (expected[row].dtype, expected[row].shape)
        assert np.array_equal(got, expected[row])


@given(rows, st.integers(0, 5))
def test_a_fixed_track_gives_back_what_was_put_in(given_rows: list, first: int) -> None:
    track = Track(FIT, (3,), first, capacity=1)
    expected = filled(track, first, given_rows)
    check(track, first, len(given_rows), expected)
    fits = {r for r, v in expected.items() if v.dtype == FIT and v.shape == (3,)}
    assert set(track.odd) == set(expected) - fits
    for start in range(0, first + len(given_rows) + 3, 3):
        window = track.read(start, start + 5)
        assert window.values.shape == (5, 3)
        for index in range(5):
            assert window.valid[index] == (start + index in fits)
            if window.valid[index]:
                assert np.array_equal(window.values[index], expected[start + index])


@given(rows, st.integers(0, 5))
def test_a_ragged_track_gives_back_what_was_put_in(
    given_rows: list, first: int
) -> None:
    track = RaggedTrack(FIT, first)
    expected = filled(track, first, given_rows)
    check(track, first, len(given_rows), expected)
    fits = {r for r, v in expected.items() if v.dtype == FIT}
    assert set(track.odd) == set(expected) - fits
    for start in range(0, first + len(given_rows) + 3, 3):
        window = track.read(start, start + 5)
        assert isinstance(window, RaggedWindow)
        assert len(window.offsets) == 6
        assert window.offsets[0] == 0
        assert window.offsets[-1] == len(window.values)
        assert (np.diff(window.offsets) >= 0).all()
        for index in range(5):
            assert window.valid[index] == (start + index in fits)
            flat = window.row(index)
            if window.valid[index]:
                assert flat is not None
                assert np.array_equal(flat, expected[start + index].reshape(-1))
            else:
                assert flat is None


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
@given(present=st.lists(st.booleans(), max_size=30), first=st.integers(0, 3))
def test_a_sparse_copy_holds_the_same(
    shape: tuple[int, ...], present: list[bool], first: int
) -> None:
    track = Track(FIT, shape, first)
    kinds = [(FIT, shape) if there else None for there in present]
    expected = filled(track, first, [*kinds, (np.dtype(np.int8), (2,))])
    check(sparse(track), first, len(present) + 1, expected)


def test_a_view_of_a_window_survives_growth() -> None:
    track = Track(FIT, (3,), capacity=1)
    track.append(np.ones((1, 3), FIT))
    window = track.read(0, 1)
    track.append(np.zeros((1000, 3), FIT))
    assert np.array_equal(window.values, np.ones((1, 3)))
    assert len(track) == 1001


def test_columns_are_wrapped_without_a_copy() -> None:
    values = np.arange(6, dtype=FIT).reshape(2, 3)
    track = Track.of(values, np.array([True, False]), first=4)
    assert track.at(4) is not None
    assert track.at(5) is None
    assert np.shares_memory(track.values, values)


def test_appending_beyond_wrapped_columns_leaves_them_alone() -> None:
    values = np.arange(6, dtype=FIT).reshape(2, 3)
    track = Track.of(values)
    track.append(np.ones((1, 3), FIT))
    assert len(track) == 3
    assert np.array_equal(values, np.arange(6).reshape(2, 3))


def test_blocks_of_ragged_rows_read_as_single_ones_do() -> None:
    one, block = RaggedTrack(FIT), RaggedTrack(FIT)
    lengths = [2, 0, 3]
    flat = np.arange(5, dtype=FIT)
    block.append(flat, np.array(lengths))
    place = 0
    for length in lengths:
        one.append_value(flat[place : place + length])
        place += length
    for row in range(3):
        first, second = one.at(row), block.at(row)
        assert first is not None
        assert second is not None
        assert np.array_equal(first, second)
    assert one.nbytes == block.nbytes


def test_a_table_lists_fields_in_order_of_appearance() -> None:
    table = FieldTable()
    table.tracks["b"] = Track(FIT, ())
    table.tracks["a"] = RaggedTrack(FIT)
    assert list(table) == ["b", "a"]
    assert "a" in table
    assert "c" not in table
    assert table.get("c") is None
    assert table["a"].ragged
