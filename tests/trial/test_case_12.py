"""Many groups: usable at once, cancellable, kept for the next time, natural order."""

from __future__ import annotations

import time
import tracemalloc
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from isoscope.app.main import main
from isoscope.core.errors import CancelledError
from isoscope.core.recording.registry import load, open_source
from isoscope.core.recording.tracks import Track
from tests.fuzz import made

if TYPE_CHECKING:
    from pathlib import Path

GROUPS = 50_000
USABLE_S = 2.0  # of this process's own time, so that others don't count


@pytest.fixture(scope="module")
def many_events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """50,000 events as h5py itself writes groups: none is of the recorder's form."""
    path = tmp_path_factory.mktemp("many") / "run.h5"
    with h5py.File(path, "w") as file:
        events = file.create_group("events")
        made.create(events, 0)
        for number in range(1, GROUPS):
            made.step(events, number)
    return path


@pytest.mark.parametrize("below", ["data", ""])
def test_demos_of_one_row_are_one_line_at_once(
    below: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "demos.h5"
    with h5py.File(path, "w") as file:
        parent = file.require_group(below) if below else file
        for number in range(GROUPS):
            parent.create_group(f"demo_{number}")
    assert main(["info", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    # In `data` they are robomimic's, which have actions.
    why = "there are no actions" if below else "HDF5, but of other content"
    assert why in err
    if not below:
        assert "'demo_0', 'demo_1', 'demo_2', 'demo_3'" in err
        assert "more" in err


def test_the_same_rows_as_one_table_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "table.h5"
    with h5py.File(path, "w") as file:
        file["data/actions"] = np.zeros((GROUPS, 7), np.float32)
    assert main(["info", str(path)]) == 2
    _, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert "HDF5, but of other content" in err


@pytest.mark.slow
def test_50000_events_are_usable_at_once(many_events: Path) -> None:
    began = time.process_time()
    source = open_source(many_events)
    first = source.preview()
    took_s = time.process_time() - began
    source.close()
    assert first is not None
    assert len(first) == 1
    assert took_s < USABLE_S


@pytest.mark.slow
def test_the_index_of_50000_events_can_be_cancelled(many_events: Path) -> None:
    source = open_source(many_events)
    asked: list[float] = []

    def cancelled() -> bool:
        if len(source.recording) >= 500 and not asked:
            asked.append(time.process_time())
        return bool(asked)

    with pytest.raises(CancelledError):
        source.index(None, cancelled)
    assert time.process_time() - asked[0] < USABLE_S
    source.close()
    assert 500 <= len(source.recording) < GROUPS / 2


@pytest.mark.slow
def test_the_second_open_of_50000_events_comes_from_the_cache(
    many_events: Path,
) -> None:
    first = load(many_events)
    source = open_source(many_events)
    source.index()
    source.close()
    second = source.recording
    assert source.slow_events == 0
    assert len(first) == len(second) == GROUPS - 1
    # In the order of their numbers, though by name "10" comes before "2".
    numbers = np.arange(1, GROUPS)
    assert np.array_equal(second.steps.event, numbers)
    for recording in (first, second):
        track = recording.track_of(recording.actors[0], "translation")
        assert isinstance(track, Track)
        window = track.read(0, GROUPS - 1)
        assert window.valid.all()
        assert np.array_equal(window.values[:, 0], numbers)


@pytest.mark.slow
def test_memory_is_flat_while_paging(many_events: Path) -> None:
    recording = load(many_events)
    track = recording.track_of(recording.actors[0], "translation")
    track.read(0, 100)
    tracemalloc.start()
    try:
        for start in range(0, GROUPS - 100, 100):
            track.read(start, start + 100)
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2e6
    assert now < 1e5
