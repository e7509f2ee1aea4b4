"""A writer that is killed: what it had flushed is there, and can be repaired."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from isoscope.core.recording import registry
from isoscope.core.recording.labelled.repair import repair

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording

CHILD = Path(__file__).with_name("killed_child.py")
ROOT = Path(__file__).parents[4]


def killed(path: Path, chance: random.Random) -> int:
    """Run a writer and kill it; returns the rows that it had flushed for certain."""
    flush_s = chance.choice(["0.001", "0.02", "0.4"])
    child = subprocess.Popen(
        [sys.executable, str(CHILD), str(path), flush_s],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.stdout is not None
    told = 0
    try:
        for _ in range(chance.randrange(1, 30)):
            told = int(child.stdout.readline())
        time.sleep(chance.random() * 0.02)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        rest = child.stdout.read().split()
        child.stdout.close()
        child.wait()
    return max([told, *map(int, rest)])


def check(recording: Recording, flushed: int) -> None:
    rows = len(recording)
    assert rows >= flushed
    labels, labelled = recording.labels, recording.labelled
    assert labels is not None
    assert labelled is not None
    np.testing.assert_array_equal(labels.control_step, np.arange(rows))
    np.testing.assert_array_equal(labels.env, np.arange(rows) % 3)
    np.testing.assert_array_equal(recording.steps.time_s, np.arange(1, rows + 1) * 0.5)
    for number, actor in enumerate(recording.actors):
        assert actor.created_native == number * 700
        if actor.created_native >= rows:
            continue
        window = actor.fields["translation"].read(actor.created_native, rows)
        there = np.flatnonzero(window.valid) + actor.created_native
        assert window.valid.all()
        np.testing.assert_array_equal(window.values[:, 0], there)
        assert (window.values[window.valid][:, 1] == number).all()
    for snapshot in labelled.snapshots():
        data = labelled.snapshot_data(snapshot.id)
        assert data == str(snapshot.row).encode() * 200
        assert snapshot.covers == ["pose"]
    rewards = labelled.column("transitions", "reward")
    np.testing.assert_array_equal(rewards, np.arange(len(rewards)) * 5)
    assert len(rewards) >= flushed // 5


def kill_and_look(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "run.isoscope.h5"
    flushed = killed(path, random.Random(seed))
    before = path.read_bytes()
    with h5py.File(path, "r", swmr=True, locking=False) as file:
        assert "directory" in file
    recording = registry.load(path)
    assert not recording.complete
    assert "its writer died" in str(recording.problems)
    check(recording, flushed)
    done = repair(path)
    assert path.read_bytes() == before
    assert done.needed
    assert done.lost == []
    assert done.native_steps == len(recording)
    with h5py.File(done.out, "r", locking=False) as file:
        assert "journal" not in file
    clean = registry.load(done.out)
    assert clean.complete
    assert len(clean) == len(recording)
    check(clean, flushed)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("seed", range(10))
def test_killed_at_a_random_moment(tmp_path: Path, seed: int) -> None:
    kill_and_look(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_killed_at_many_random_moments(tmp_path: Path, seed: int) -> None:
    kill_and_look(tmp_path, seed)
