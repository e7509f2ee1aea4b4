"""Temporary folders: what killed owners left goes, and nothing else does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from isoscope.core.live.temporary import LOCK, TemporaryFolder, remove_left

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
PREFIX = "isoscope-test-"
# Makes a folder with a file in it, says where, and waits to be killed.
OWNER = f"""
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from isoscope.core.live.temporary import TemporaryFolder
folder = TemporaryFolder({PREFIX!r})
(folder.path / "data").write_bytes(b"0" * 1000)
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def owner(place: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", OWNER, str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def told(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_what_a_killed_owner_left_goes_with_the_next_one(place: Path) -> None:
    dead, living = owner(place), owner(place)
    with dead, living:
        left, used = told(dead), told(living)
        dead.send_signal(signal.SIGKILL)
        dead.wait()
        assert os.path.exists(left)
        mine = TemporaryFolder(PREFIX)
        assert not os.path.exists(left)
        assert os.path.exists(os.path.join(used, "data"))
        assert remove_left(PREFIX) == []  # nor does its own go
        assert mine.path.is_dir()
        mine.remove()
        assert not mine.path.exists()
        assert os.listdir(place) == [os.path.basename(used)]
        living.kill()


def left_in(place: Path, name: str, mode: int = 0o700) -> Path:
    folder = place / f"{PREFIX}{name}"
    folder.mkdir()
    (folder / LOCK).touch()
    (folder / "data").touch()
    folder.chmod(mode)
    return folder


def test_what_is_no_such_folder_stays(place: Path) -> None:
    outside = place / "elsewhere"
    outside.mkdir()
    (outside / LOCK).touch()
    (place / f"{PREFIX}link").symlink_to(outside)
    (place / f"{PREFIX}file").touch()
    bare = place / f"{PREFIX}bare"
    bare.mkdir(mode=0o700)
    piped = place / f"{PREFIX}pipe"
    piped.mkdir(mode=0o700)
    os.mkfifo(piped / LOCK)
    linked = place / f"{PREFIX}linked"
    linked.mkdir(mode=0o700)
    (linked / LOCK).symlink_to(outside / LOCK)
    anybody = left_in(place, "anybody", 0o777)
    before = sorted(place.rglob("*"))
    assert remove_left(PREFIX) == []
    assert sorted(place.rglob("*")) == before
    assert anybody.is_dir()


def test_only_this_user_s_go(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = left_in(place, "other")
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    assert remove_left(PREFIX) == []
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    assert remove_left(PREFIX) == [folder]


def test_a_link_inside_is_removed_and_not_followed(place: Path) -> None:
    kept = place / "kept"
    kept.mkdir()
    (kept / "file").touch()
    folder = left_in(place, "links")
    (folder / "to").symlink_to(kept)
    assert remove_left(PREFIX) == [folder]
    assert (kept / "file").exists()
