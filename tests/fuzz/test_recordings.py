"""The damaged recordings that every run of the tests reads, always the same ones."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.mutations import MUTATIONS, mutate

ROOT = Path(__file__).parents[2]
COUNT = 100  # and as many in `test_recordings_again`, beside it on another core


@pytest.mark.timeout(900)  # minutes on a busy machine
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a process for each file")
def test_damaged_recordings_come_out_as_recordings_or_as_one_line(
    tmp_path: Path,
) -> None:
    expect_recordings_or_one_line(tmp_path, seed=7)


def expect_recordings_or_one_line(folder: Path, seed: int) -> None:
    # In a process of its own, since it forks: this one may have threads.
    options = ["--count", str(COUNT), "--seed", str(seed), "--keep", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.recordings", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{COUNT} mutants" in done.stdout
    assert "recording, whole" in done.stdout
    assert "error" in done.stdout


def test_mutations_damage_and_can_be_repeated() -> None:
    content = bytes(range(256)) * 20 + b"FRHP" + bytes(500)
    changed = 0
    for seed in range(200):
        once, how = mutate(content, random.Random(seed))
        again, _ = mutate(content, random.Random(seed))
        assert once == again
        assert how in {mutation.__name__ for mutation in MUTATIONS}
        changed += once != content
    assert changed > 150
