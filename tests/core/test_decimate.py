"""The decimation keeps its written contract, whatever the values and the gaps."""

from __future__ import annotations

from tempfile import gettempdir

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.decimate import BLOCK_ROWS, Decimator, bin_rows_for, decimate
from isoscope.core.recording.spill import Spill


class Memory:
    """A series at hand that remembers how much of it was read."""

    def __init__(self, values: np.ndarray, drawable: np.ndarray) -> None:
        self.values = np.asarray(values, float)
        self.drawable = np.asarray(drawable, bool)
        self.read_rows = 0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def settled(self) -> int:
        return len(self.values)

    def read(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        self.read_rows += stop - start
        return self.values[start:stop], self.drawable[start:stop]


@st.composite
def series(draw: st.DrawFn) -> Memory:
    rows = draw(st.integers(0, 900))
    seed = draw(st.integers(0, 2**32 - 1))
    gap_share = draw(st.sampled_from([0.0, 0.01, 0.3, 0.95, 1.0]))
    random = np.random.default_rng(seed)
    levels = draw(st.sampled_from([2, 1000]))
    values = random.integers(0, levels, rows).astype(float)
    drawable = random.random(rows) >= gap_share
    values[~drawable] = random.choice([np.nan, np.inf, 1e9], int((~drawable).sum()))
    return Memory(values, drawable)


def check(data: Memory, line, low: int, high: int) -> None:
    """The four clauses of the contract for a line that covers low .. high."""
    rows, drawable, values = line.rows, data.drawable, data.values
    assert np.all(np.diff(rows) > 0)
    assert np.all((rows >= low) & (rows < high))
    assert drawable[rows].all()
    assert np.array_equal(line.values, values[rows])
    kept = set(rows.tolist())
    for begin in range(low - low % line.bin_rows, high, line.bin_rows):
        bin_rows = np.arange(max(begin, low), min(begin + line.bin_rows, high))
        bin_rows = bin_rows[drawable[bin_rows]]
        inside = [row for row in bin_rows if row in kept]
        assert len(inside) <= max(4, len(bin_rows) if line.bin_rows == 1 else 4)
        if len(bin_rows):
            assert {bin_rows[0], bin_rows[-1]} <= kept
            assert values[inside].min() == values[bin_rows].min()
            assert values[inside].max() == values[bin_rows].max()
    for at in range(len(rows) - 1):
        bridged = drawable[rows[at] : rows[at + 1] + 1].all()
        assert line.joined[at] == bridged
    assert not line.joined[-1:].any()


@settings(max_examples=150, deadline=None)
@given(series(), st.integers(1, 40))
def test_rows_at_hand_are_decimated_by_the_contract(data: Memory, bins: int) -> None:
    line = decimate(data.values, data.drawable, bins)
    check(data, line, 0, len(data))


@settings(max_examples=150, deadline=None)
@given(series(), st.data())
def test_any_window_of_a_growing_series_keeps_the_contract(
    data: Memory, draw: st.DataObject
) -> None:
    whole = data.values, data.drawable
    decimator = Decimator(data)
    for share in (0.3, 0.7, 1.0):
        rows = int(len(whole[0]) * share)
        data.values, data.drawable = whole[0][:rows], whole[1][:rows]
        start = draw.draw(st.integers(-5, rows + 5))
        stop = draw.draw(st.integers(start, rows + 5))
        line = decimator.window(start, stop, draw.draw(st.integers(1, 12)))
        low, high = max(start, 0), min(stop, rows)
        if high <= low:
            assert len(line.rows) == 0
            continue
        low -= low % line.bin_rows
        high = min(-(-high // line.bin_rows) * line.bin_rows, rows)
        check(data, line, low, high)


def test_points_follow_the_rows_so_that_lines_do_not_zigzag() -> None:
    values = np.r_[np.linspace(0, 1, 500), np.linspace(1, 0, 500)]
    line = decimate(values, np.ones(1000, bool), 10)
    assert line.bin_rows == 128
    falling = line.rows >= 512
    assert np.all(np.diff(line.values[falling]) <= 0)


def test_a_gap_narrower_than_a_pixel_still_breaks_the_line() -> None:
    drawable = np.ones(10_000, bool)
    drawable[5_003] = False
    line = Decimator(Memory(np.zeros(10_000), drawable)).window(0, 10_000, 20)
    assert line.bin_rows == 512
    breaks = np.flatnonzero(~line.joined)
    assert len(breaks) == 2  # the gap, and the end
    before, after = line.rows[breaks[0]], line.rows[breaks[0] + 1]
    assert before < 5_003 < after


def test_a_point_between_two_gaps_stands_alone() -> None:
    line = decimate(np.arange(5.0), np.array([1, 1, 0, 1, 0], bool), 100)
    assert line.rows.tolist() == [0, 1, 3]
    assert line.alone.tolist() == [False, False, True]


def test_panning_keeps_the_same_points() -> None:
    random = np.random.default_rng(1)
    data = Memory(random.normal(size=4_000), np.ones(4_000, bool))
    decimator = Decimator(data)
    a, b = decimator.window(100, 2_100, 50), decimator.window(117, 2_117, 50)
    shared = (set(a.rows) | set(b.rows)) - (set(a.rows) & set(b.rows))
    assert a.bin_rows == b.bin_rows
    assert all(row < 128 or row >= 2_048 for row in shared)


def test_a_long_series_is_read_once_and_then_by_its_summary() -> None:
    rows = 200_000
    data = Memory(np.sin(np.arange(rows)), np.ones(rows, bool))
    decimator = Decimator(data)
    decimator.window(0, rows, 500)
    assert data.read_rows <= rows + BLOCK_ROWS
    data.read_rows = 0
    decimator.window(1_000, rows - 1_000, 500)
    assert data.read_rows <= BLOCK_ROWS
    assert decimator.nbytes < rows * 1.1


def test_a_summary_can_be_made_in_parts() -> None:
    rows = 300_000
    data = Memory(np.sin(np.arange(rows)), np.ones(rows, bool))
    decimator = Decimator(data)
    assert decimator.prepare(0, 1_000, 500, 0.0)  # needs none
    assert not decimator.prepare(0, rows, 500, 0.0)
    assert data.read_rows == 0
    assert decimator.prepare(0, rows, 500, np.inf)
    data.read_rows = 0
    line = decimator.window(0, rows, 500)
    assert data.read_rows <= BLOCK_ROWS
    check(data, line, 0, rows)


@pytest.mark.parametrize(
    ("rows", "bins", "expected"),
    [(0, 10, 1), (40, 10, 1), (41, 10, 8), (800, 10, 128), (640, 10, 64), (5, 0, 8)],
)
def test_rows_a_bin(rows: int, bins: int, expected: int) -> None:
    assert bin_rows_for(rows, bins) == expected


class Late(Memory):
    """A growing series whose last rows can't be drawn until they are told."""

    def __init__(self, values: np.ndarray, late: int) -> None:
        super().__init__(values, np.ones(len(values), bool))
        self.late, self.rows = late, 0

    def __len__(self) -> int:
        return self.rows

    @property
    def settled(self) -> int:
        return max(self.rows - self.late, 0)

    def read(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        values, drawable = super().read(start, stop)
        return values, drawable & (np.arange(start, stop) < self.settled)


@given(
    st.lists(st.integers(1, 700), min_size=1, max_size=8),
    st.integers(0, 150),
    st.integers(1, 60),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_what_is_told_late_is_drawn_once_it_is_told(
    growth, late, bins, keep, random
) -> None:
    data = Late(np.sin(np.arange(sum(growth))), late)
    decimator = Decimator(data, keep=keep, spill=Spill(gettempdir(), 0))
    for more in growth:
        data.rows += more
        start = random.randrange(data.rows)
        stop = random.randint(start + 1, data.rows)
        for low, high in ((start, stop), (0, data.rows)):
            line = decimator.window(low, high, bins)
            anew = Decimator(data).window(low, high, bins)
            assert np.array_equal(line.rows, anew.rows)
            assert np.array_equal(line.values, anew.values)
            assert np.array_equal(line.joined, anew.joined)


def test_a_narrow_window_that_grows_reads_what_is_new() -> None:
    data = Late(np.sin(np.arange(2_000)), 10)
    data.rows = 1_000
    decimator = Decimator(data, keep=True)
    decimator.window(0, 1_000, 100)
    data.read_rows, data.rows = 0, 1_050
    line = decimator.window(0, 1_050, 100)
    assert line.bin_rows > 1
    assert data.read_rows == 60  # what is new, and what was not settled
    assert 0 < decimator.nbytes <= 1_050 * 9
    data.rows = 1_600
    decimator.window(1_000, 1_600, 100)  # the view moved on
    assert 0 < decimator.nbytes <= 600 * 9
    data.rows = 2_000
    decimator.window(0, 2_000, 4)  # by its summary: nothing else is kept
    assert decimator.nbytes < 2_000 * 1.1
