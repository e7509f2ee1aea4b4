"""A file that somebody writes, wrote or takes away, and one that stays as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import pytest

from isoscope.core.errors import ReadError
from isoscope.core.recording.registry import load, open_source
from tests.fuzz import made

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording

ROOT = Path(__file__).parents[3]


def told(recording: Recording) -> str:
    return "\n".join(str(problem) for problem in recording.problems)


# -- a file in use ------------------------------------------------------------------

WRITER = """
import os, sys
import h5py
from tests.fuzz import made

path, mode = sys.argv[1:]
options = {} if mode == "earliest" else {"libver": "latest"}
file = h5py.File(path, "w", track_order=True, **options)
events = file.create_group("events")
made.create(events, 0)
for number in range(1, 20):
    made.step(events, number)
if mode != "unflushed":
    file.flush()
if mode == "swmr":
    file.swmr_mode = True
if mode == "killed":
    os.kill(os.getpid(), 9)
print("ready", flush=True)
sys.stdin.read()
if mode != "swmr":
    made.step(events, 20)
file.close()
with h5py.File(path, "a") as again:  # takes the lock once more
    print(len(again["events"]))
"""


def writer(path: Path, mode: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


@pytest.mark.parametrize("mode", ["earliest", "latest", "swmr"])
def test_a_file_that_is_being_written_is_read_without_a_lock(
    tmp_path: Path, mode: str
) -> None:
    path = tmp_path / "run.h5"
    with writer(path, mode) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        before = path.read_bytes(), path.stat().st_mtime_ns
        recording = load(path)
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before
        out, _ = process.communicate()
    assert len(recording) == 19
    assert f"(process {process.pid}) is still writing it" in told(recording)
    assert not recording.complete
    # The writer's own next opening worked.
    assert process.returncode == 0
    assert out == ("20\n" if mode == "swmr" else "21\n")


def test_a_file_of_which_nothing_is_on_disk_yet_names_its_writer(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.h5"
    with writer(path, "unflushed") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(ReadError) as caught:
            load(path)
        process.communicate()
    assert f"(process {process.pid}) is still writing it" in str(caught.value)
    assert "open it again when that program has closed it" in str(caught.value)
    assert process.returncode == 0
    assert len(load(path)) == 20


def test_a_file_whose_write_mark_was_left_set_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with writer(path, "killed") as process:
        process.wait()
    with pytest.raises(OSError, match="already open for write"):
        h5py.File(path, "r", locking=False)
    recording = load(path)
    assert len(recording) == 19
    assert "its writer died before finishing it" in told(recording)
    assert not recording.complete


@pytest.mark.parametrize("options", [{}, {"libver": "latest", "decorate": made.packed}])
def test_a_path_that_vanishes_while_open_goes_on(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    path = made.recording(tmp_path / "run.h5", **options)
    source = open_source(path)
    path.unlink()
    assert source.preview() is not None
    source.index()
    source.close()
    assert len(source.recording) == 12


def test_nothing_is_written_beside_the_source_and_nothing_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for name, options in made.FORMS.items():
        made.recording(folder / f"{name}.h5", **options)
    for path in folder.iterdir():
        os.utime(path, ns=(1, 1))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    folder.chmod(0o555)
    for path in before:
        load(path)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert all(path.stat().st_mtime_ns == 1 for path in before)
