"""Every value of real recordings, against h5py's own interface."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoscope.core.recording.superdex.reader import EventSource
from tests.core.recording.compare import (
    assert_equals_h5py,
    assert_same,
    row_by_row,
)

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"
READABLE = sorted(p for p in RECORDINGS.glob("*.h5") if p.stem != "killed")


def indexed(path: Path) -> EventSource:
    source = EventSource(path)
    source.index()
    source.close()
    return source


@pytest.mark.parametrize("path", READABLE, ids=lambda p: p.stem)
def test_every_value_equals_h5pys_and_nothing_else_is_there(path: Path) -> None:
    source = indexed(path)
    assert source.recording.problems == []
    assert source.recording.complete
    assert assert_equals_h5py(path, source.recording) > 80
    # A soft body's creation holds a group of its own; all else is scanned.
    assert source.slow_events == (1 if path.stem == "soft_body" else 0)


@pytest.mark.parametrize("path", READABLE, ids=lambda p: p.stem)
def test_the_slow_way_gives_the_same_recording(path: Path) -> None:
    assert_same(indexed(path).recording, row_by_row(path))


@pytest.mark.parametrize("name", ["create_destroy", "rigid_contacts_all"])
def test_the_slow_way_equals_h5py_as_well(name: str) -> None:
    path = RECORDINGS / f"{name}.h5"
    assert_equals_h5py(path, row_by_row(path))


def test_a_sample_of_the_long_recording_equals_h5py(cartpole_20k: Path) -> None:
    source = indexed(cartpole_20k)
    assert len(source.recording) == 20_000
    assert source.slow_events == 0
    drawn = np.random.default_rng(5).choice(20_000, 150, replace=False).tolist()
    assert assert_equals_h5py(cartpole_20k, source.recording, {0, 19_999, *drawn})
    for actor in source.recording.actors:
        for name in actor.fields:
            assert actor.fields[name].present_count() == 20_000


@pytest.mark.slow
def test_all_of_the_long_recording_equals_h5py(cartpole_20k: Path) -> None:
    assert assert_equals_h5py(cartpole_20k, indexed(cartpole_20k).recording) > 820_000
