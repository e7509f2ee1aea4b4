"""Damaged and in-use files: one line each, no lock, nothing changed (HDF5)."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from isoscope.app.main import main
from isoscope.core.dataset.exporters.run import export
from tests.app.cli import as_json, refused
from tests.core.dataset.made import made

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "tests" / "data" / "recordings"
WHOLE = RECORDINGS / "shared_cartpole_2env.h5"

WRITER = """
import os, sys
import h5py
from tests.fuzz import made

path, mode = sys.argv[1:]
file = h5py.File(path, "w", libver="latest" if mode == "killed" else None)
events = file.create_group("events")
made.create(events, 0)
for number in range(1, 30):
    made.step(events, number)
file.flush()
if mode == "killed":
    os.kill(os.getpid(), 9)
print("ready", flush=True)
sys.stdin.read()
file.close()
with h5py.File(path, "a") as again:
    print(len(again["events"]))
"""


def start_writer(path: Path, mode: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def killed_with_latest(path: Path) -> None:
    with start_writer(path, "killed") as process:
        assert process.wait() == -9


def cut_at_60_percent(path: Path) -> None:
    content = WHOLE.read_bytes()
    path.write_bytes(content[: len(content) * 60 // 100])


def empty(path: Path) -> None:
    path.touch()


def without_footer(path: Path) -> None:
    path.write_bytes(b"PAR1" + bytes(range(1, 200)))


def renamed_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("run.csv", "t,x")


def state(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        path.name: (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
        )
        for path in folder.iterdir()
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    return made


@pytest.mark.parametrize(
    ("make", "cause"),
    [
        (empty, "the file is empty (0 bytes)"),
        (without_footer, "a parquet file without its footer"),
        (renamed_zip, "a zip archive"),
    ],
)
def test_what_can_not_be_read_is_one_line_and_status_2(
    folder: Path,
    make: Callable[[Path], None],
    cause: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = folder / "run.h5"
    make(path)
    before = state(folder)
    assert main(["info", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert cause in err
    assert "run.h5" in err
    assert state(folder) == before


@pytest.mark.parametrize(
    ("make", "cause", "steps"),
    [
        (cut_at_60_percent, "the file is cut", 75),
        (killed_with_latest, "its writer died before finishing it", 29),
    ],
)
def test_what_is_left_opens_and_the_rest_is_listed(
    folder: Path,
    make: Callable[[Path], None],
    cause: str,
    steps: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = folder / "run.h5"
    make(path)
    before = state(folder)
    assert main(["info", str(path), "--json"]) == 2
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert cause in err
    found = msgspec.json.decode(out)
    assert found["steps"] == steps
    assert not found["complete"]
    assert cause in found["warnings"][0]
    assert state(folder) == before


def test_a_file_in_a_writing_process_is_read_and_the_writer_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "run.h5"
    with start_writer(path, "alive") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        before = state(folder)
        assert main(["info", str(path), "--json"]) == 2
        found = msgspec.json.decode(capsys.readouterr().out)
        assert state(folder) == before
        out, _ = process.communicate()
    assert found["steps"] == 29
    assert not found["complete"]
    assert f"(process {process.pid}) is still writing it" in found["warnings"][0]
    # Closing it, and opening it again for writing, worked.
    assert (process.returncode, out) == (0, "30\n")


def test_nothing_is_left_in_the_folder_of_a_damaged_file(folder: Path) -> None:
    path = folder / "run.h5"
    cut_at_60_percent(path)
    folder.chmod(0o555)
    main(["info", str(path)])
    assert os.listdir(folder) == ["run.h5"]


# -- datasets ------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["validate", "export"])
@pytest.mark.parametrize(
    ("make", "cause"),
    [
        (empty, "empty"),
        (without_footer, "a parquet file without its footer"),
        (renamed_zip, "a zip archive"),
    ],
    ids=["empty", "parquet", "zip"],
)
def test_a_command_on_datasets_says_it_in_one_line(
    command: str,
    make: Callable[[Path], None],
    cause: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = folder / "demos.h5"
    make(path)
    before = state(folder)
    rest = ["--format", "shards", "--out", str(folder / "out")]
    said = refused(capsys, command, str(path), *(rest if command == "export" else ()))
    assert cause in said
    assert state(folder) == before


def test_a_dataset_whose_parquet_has_no_footer(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, out = folder.parent / "whole", folder.parent / "out"
    export(made((5, 3, 12), plain=True), "lerobot", whole)
    (data,) = whole.glob("data/**/*.parquet")
    content = data.read_bytes()
    data.write_bytes(content[: len(content) * 60 // 100])
    before = data.read_bytes()
    said = refused(capsys, "validate", str(whole))
    assert data.name in said
    said = refused(
        capsys, "export", str(whole), "--format", "shards", "--out", str(out)
    )
    assert data.name in said
    assert not out.exists()
    assert data.read_bytes() == before
    data.write_bytes(content)
    # What is read then is whole, whatever its rules say of random numbers.
    assert len(as_json(capsys, "validate", str(whole))["episodes"]) == 3
