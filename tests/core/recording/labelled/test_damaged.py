"""Damaged recordings: what is whole is read, the rest is one clear line."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.errors import IsoscopeError, ReadError, UsageError
from isoscope.core.recording import registry
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.forms import (
    Waiting,
    frame_definition,
    pack_journal,
    read_definitions,
    salvage_definitions,
    unpack_journal,
)
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.labelled.repair import repair
from tests.core.recording.labelled.samples import LABELLED

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = LABELLED / "shared_cartpole_2env.isoscope.h5"


def read_all(path: Path) -> int:
    """Open a file and read every value; returns the number of native steps."""
    recording = registry.load(path)
    rows = len(recording)
    for table in (recording.scene, *(a.fields for a in recording.actors)):
        for track in table.tracks.values():
            track.read(0, rows)
    labelled = recording.labelled
    assert labelled is not None
    labelled.transitions()
    labelled.events()
    for snapshot in labelled.snapshots():
        labelled.snapshot_data(snapshot.id)
    return rows


def rows_of(path: Path) -> int:
    return len(registry.load(path))


def opens_or_says_why(path: Path, whole: int) -> None:
    said = ""
    try:
        assert read_all(path) <= whole
    except ReadError as error:
        said = str(error)
    assert not said or (len(said.splitlines()) == 1 and str(path) in said)
    target = path.with_name("saved.isoscope.h5")
    done = None
    try:
        done = repair(path, target, overwrite=True)
    except IsoscopeError as error:
        said = str(error)
    if done is None:
        assert len(said.splitlines()) == 1
    else:
        assert rows_of(target) == done.native_steps <= whole
        target.unlink()
    assert not list(path.parent.glob(".*"))


def test_cut_anywhere(tmp_path: Path) -> None:
    content = SAMPLE.read_bytes()
    path = tmp_path / "cut.isoscope.h5"
    chance = random.Random(0)
    places = {0, 1, 511, 512, 600, len(content) - 1}
    places |= {chance.randrange(len(content)) for _ in range(40)}
    for place in places:
        path.write_bytes(content[:place])
        opens_or_says_why(path, 125)


def test_bytes_turned_into_others(tmp_path: Path) -> None:
    content = bytearray(SAMPLE.read_bytes())
    path = tmp_path / "changed.isoscope.h5"
    chance = random.Random(1)
    for _ in range(25):
        changed = bytearray(content)
        for _ in range(chance.randrange(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        path.write_bytes(changed)
        opens_or_says_why(path, 125)


def long_recording(path: Path) -> None:
    with Recorder(path, r.Identity()) as recorder:
        frame = recorder.frame([r.Field(name="x", shape=(4,))], "f8")
        chance = np.random.default_rng(0)
        for row in range(5000):
            frame.put(0, chance.normal(size=4))
            recorder.native(r.NativeStep(env=1, control_step=row, h_s=1.0), frame)
            if row % 1000 == 0:
                recorder.snapshot(r.Snapshot(chance.bytes(3000), row=row))


def test_a_damaged_block_becomes_absent_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    long_recording(path)
    content = bytearray(path.read_bytes())
    # Noise takes most of the file: its middle is a chunk of the field's values.
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(64)
    path.write_bytes(content)
    recording = registry.load(path)
    with pytest.raises(ReadError, match="isoscope repair"):
        recording.scene["x"].read(0, 5000)
    done = repair(path)
    assert any("values of frame" in line for line in done.lost)
    clean = registry.load(done.out)
    assert len(clean) == done.native_steps == 5000
    assert clean.labels is not None
    np.testing.assert_array_equal(clean.labels.control_step, np.arange(5000))
    window = clean.scene["x"].read(0, 5000)
    lost = np.flatnonzero(~window.valid)
    assert 0 < len(lost) <= 1024
    assert lost[-1] - lost[0] == len(lost) - 1


def test_the_source_is_never_touched_and_no_target_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    shutil.copy(SAMPLE, path)
    path.chmod(0o400)
    target = tmp_path / "precious.h5"
    target.write_text("precious")
    with pytest.raises(UsageError, match="exists already"):
        repair(path, target)
    assert target.read_text() == "precious"
    with pytest.raises(UsageError, match="never changed"):
        repair(path, path, overwrite=True)
    assert path.read_bytes() == SAMPLE.read_bytes()
    done = repair(path, target, overwrite=True)
    assert not done.needed
    assert read_all(target) == 125


def test_a_file_that_is_being_written_is_not_repaired(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    with Recorder(path, r.Identity()):
        with pytest.raises(ReadError, match="still writing"):
            repair(path)


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    content = SAMPLE.read_bytes()
    path.write_bytes(content.replace(b"recording 1\n", b"recording 2\n", 1))
    with pytest.raises(ReadError, match="version 2, and only 1 is known"):
        registry.load(path)


def test_a_damaged_definition_is_passed_over() -> None:
    parts = [frame_definition({"define": "text", "id": k, "text": "x"}) for k in "abc"]
    whole = b"".join(parts)
    assert len(read_definitions(whole)[0]) == 3
    broken = bytearray(whole)
    broken[len(parts[0]) + 12] ^= 1
    read = salvage_definitions(bytes(broken))
    assert [d["id"] for d in read.found] == ["a", "c"]
    assert (read.length, read.damaged) == (len(whole), 1)
    # What is on its way, or is the last, is not counted as read.
    read = salvage_definitions(whole[:-1])
    assert (len(read.found), read.damaged) == (2, 0)
    assert read.length == len(whole) - len(parts[2])


def test_journals_that_are_not_whole() -> None:
    waiting = [Waiting(0, 3, b"rows")]
    content = pack_journal(7, [5, 2], waiting)
    found = unpack_journal(content + b"older bytes behind it")
    assert found is not None
    assert (found.sequence, found.lengths, found.waiting) == (7, [5, 2], waiting)
    assert unpack_journal(content[:-1]) is None
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 0xFF
        other = unpack_journal(bytes(changed))
        # Only the reserved word is outside of the checksum.
        assert (other is None) != (28 <= place < 32)
