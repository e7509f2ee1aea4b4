"""The benchmark of opening: what it compares, and that it would notice a difference."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from isoscope.app.bench import h5py_loop, open_bench
from isoscope.app.bench.equal import equal
from isoscope.app.bench.peak import anonymous, peak_anonymous
from isoscope.app.bench.slowfile import write_slow_file
from isoscope.core.errors import ReadError
from isoscope.core.recording.registry import load
from isoscope.core.recording.superdex.reader import EventSource

if TYPE_CHECKING:
    from pathlib import Path


def test_the_figures_of_a_small_recording(
    recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOSCOPE_CACHE_DIR", "as before")
    monkeypatch.setattr(open_bench, "PEAKS", 1)
    monkeypatch.setattr(open_bench, "SLOW_EVENTS", 300)
    figures = open_bench.run(recordings / "create_destroy.h5")
    assert figures["equal"] is True
    assert figures["runs"] >= 5
    assert figures["steps"] == 30
    assert figures["slow_events"] == 0
    for name in ("loop_s", "index_s", "first_state_s", "cached_first_s"):
        assert 0 < figures[name] < 60
    loop, index = figures["loop_s"], figures["index_s"]
    assert figures["ratio_index"] == pytest.approx(loop / index)
    assert figures["ratio_first_state"] == pytest.approx(
        figures["first_state_s"] / loop
    )
    assert figures["ratio_cached"] == pytest.approx(
        figures["cached_first_s"] / figures["cached_second_s"]
    )
    assert figures["columns_bytes"] < figures["peak_anonymous_bytes"] < 2**28
    assert os.environ["ISOSCOPE_CACHE_DIR"] == "as before"


@pytest.mark.parametrize("name", ["rigid_contacts_all", "create_destroy", "soft_body"])
def test_the_index_equals_what_the_loop_reads(recordings: Path, name: str) -> None:
    path = recordings / f"{name}.h5"
    columns, times = h5py_loop.load(str(path))
    recording = load(path)
    assert equal(recording, columns, times)
    key = next(k for k in columns if k[1] == "translation")
    value = columns[key][3]
    for other in (
        np.nextafter(value, np.float32(9)),
        value.astype(np.float64),
        value[:2],
    ):
        columns[key][3] = other
        assert not equal(recording, columns, times)
    columns[key][3] = value
    assert equal(recording, columns, times)
    assert not equal(recording, columns, times[:-1])
    removed = columns[key].pop()
    assert not equal(recording, columns, times)
    columns[key] += [removed, removed]
    assert not equal(recording, columns, times)
    del columns[key]
    assert not equal(recording, columns, times)


def test_the_slow_file_is_read_by_h5py_alone_and_says_the_same(
    recordings: Path, tmp_path: Path
) -> None:
    original, slow = recordings / "create_destroy.h5", tmp_path / "slow.h5"
    assert write_slow_file(original, slow, 20) == 20
    with h5py.File(slow, "r", locking=False) as file:
        assert len(file["events"]) == 20
    source = EventSource(slow)
    source.index()
    source.close()
    assert source.slow_events == 20
    columns, times = h5py_loop.load(str(slow))
    assert equal(source.recording, columns, times)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_a_process_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="watching the memory"):
        peak_anonymous(tmp_path / "none.h5")


def test_anonymous_memory_is_read_from_the_status(tmp_path: Path) -> None:
    status = tmp_path / "status"
    assert anonymous(status) is None
    status.write_text("Name:\tx\nRssAnon:\t    1234 kB\nRssFile:\t 9 kB\n")
    assert anonymous(status) == 1234 * 1024
    status.write_text("Name:\tx\n")
    assert anonymous(status) is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_indexing_takes_little_more_memory_than_the_columns(
    cartpole_20k: Path,
) -> None:
    columns = load(cartpole_20k).columns_bytes
    peak = peak_anonymous(cartpole_20k)
    assert peak is not None
    assert columns < peak <= 5 * columns + 50_000_000


@pytest.mark.slow
def test_the_long_recording_is_opened_as_fast_as_is_promised(
    cartpole_20k: Path,
) -> None:
    figures = open_bench.run(cartpole_20k)
    assert figures["equal"] is True
    assert figures["steps"] == 20_000
    assert figures["ratio_index"] >= 100
    assert figures["ratio_first_state"] <= 0.001
    assert figures["ratio_cached"] >= 20
