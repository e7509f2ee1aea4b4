"""Columns in files: the same values, and pages that can be given back."""

from __future__ import annotations

import gc
import sys
import threading
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isoscope.core.recording.spill import SMALLEST, Spill
from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.tracks import Array


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.integers(0, 9000), min_size=1, max_size=8))
def test_a_track_that_spills_is_as_any(tmp_path: Path, sizes: list[int]) -> None:
    spill = Spill(tmp_path, 0)
    mine, other = (Track(np.dtype(np.float64), (2,)) for _ in range(2))
    mine.spill = spill
    at = 0
    for size in sizes:
        values = np.arange(at, at + 2 * size, dtype=np.float64).reshape(size, 2)
        for track in (mine, other):
            track.append(values, values[:, 0] % 3 == 0)
            track.skip(3)
        at += 2 * size
        spill.trim()
    np.testing.assert_array_equal(mine.valid, other.valid)
    there = other.valid
    np.testing.assert_array_equal(mine.values[there], other.values[there])
    if 16 * sum(sizes) > 2 * SMALLEST:
        assert spill.mapped_bytes > SMALLEST


def test_files_go_with_their_arrays(tmp_path: Path) -> None:
    spill = Spill(tmp_path, 0)
    array = spill.empty((SMALLEST,), np.dtype(np.uint8))
    view = array[5:9]
    array[5:9] = 7
    del array
    gc.collect()
    assert spill.mapped_bytes == SMALLEST
    spill.trim()
    assert view.tolist() == [7, 7, 7, 7]
    del view
    gc.collect()
    assert spill.mapped_bytes == 0
    assert list(tmp_path.iterdir()) == []


def test_without_room_it_stays_in_memory(tmp_path: Path) -> None:
    spill = Spill(tmp_path / "nowhere", 0)
    array = spill.empty((SMALLEST,), np.dtype(np.uint8))
    assert array.shape == (SMALLEST,)
    assert spill.mapped_bytes == 0


def test_columns_come_and_go_while_pages_are_given_back(tmp_path: Path) -> None:
    """The window's own thread grows columns of a run that another one reads."""
    spill = Spill(tmp_path, 0)
    kept = [spill.empty((SMALLEST,), np.dtype(np.uint8)) for _ in range(50)]
    over = threading.Event()

    def make() -> None:
        mine: list[Array] = []
        while not over.is_set():
            mine.append(spill.empty((SMALLEST,), np.dtype(np.uint8)))
            del mine[: len(mine) // 50 * 50]

    maker = threading.Thread(target=make)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    maker.start()
    try:
        for _ in range(1000):
            assert spill.mapped_bytes >= len(kept) * SMALLEST
            spill.trim()
    finally:
        sys.setswitchinterval(before)
        over.set()
        maker.join()
