"""Kills and full disks: what is there is the old dataset or the new one, whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.dataset.exporters import place as places
from isoscope.core.dataset.exporters.registry import EXPORTERS
from isoscope.core.dataset.exporters.run import export
from isoscope.core.dataset.manifest.hashes import entries, together
from isoscope.core.dataset.manifest.inside import extent_of
from isoscope.core.dataset.manifest.stored import NAME, read_manifest
from isoscope.core.dataset.readers.registry import open_episodes
from isoscope.core.dataset.transitions.door import episodes_of
from isoscope.core.errors import UsageError, WriteError
from isoscope.core.recording.registry import load
from tests.core.dataset.exporters.exporting_child import sources
from tests.core.dataset.exporters.test_labelled import record
from tests.core.dataset.made import made, same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.dataset.model import Episodes

ROOT = Path(__file__).parents[4]
CHILD = "tests.core.dataset.exporters.exporting_child"


def start(*arguments: str, before: Sequence[str] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, sys.executable, "-m", CHILD, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A labelled recording, which parts of are exported."""
    path = tmp_path_factory.mktemp("labelled") / "whole.isoscope.h5"
    record(path)
    return str(path)


def given(format: str, recording: str) -> list[str]:
    if format == "minari":
        pytest.importorskip("minari")
    return [recording] if format == "isoscope" else []


# -- kills -----------------------------------------------------------------------------


def lengths_of(target: Path, format: str) -> tuple[int, ...]:
    """Lengths of the episodes of a dataset, which is whole."""
    if format == "isoscope":
        found: Episodes = episodes_of(load(target))
    else:
        found = open_episodes(target, format)
    lengths = tuple(e.length for e in found.episodes)
    for episode in found.episodes:
        for feature in found.features:
            found.read(episode.index, feature.name)
    found.close()
    return lengths


def killed(format: str, folder: Path, delay_s: float, recording: str) -> bool:
    """Kill an export after so long; whether it left something half made."""
    target = folder / "data-v0"
    more = given(format, recording)
    with start("kill", format, str(target), *more) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(delay_s)
        process.send_signal(signal.SIGKILL)
        process.wait()
    left = [p for p in folder.iterdir() if p != target]
    both = [tuple(e.length for e in s.episodes) for s in sources(*more)]
    lengths = lengths_of(target, format)
    assert lengths in both
    # Its manifest is the old one's or the new one's as well, and of these very files.
    manifest = read_manifest(target)
    assert tuple(e.length for e in manifest.episodes) == lengths
    there = entries(target, [NAME], blank=extent_of(target))
    assert together(there, folder=target.is_dir()) == manifest.sha256
    source = sources(*more)[both.index(lengths)]
    if format != "isoscope":
        export(source, format, folder / "again-v0")
        found, again = (open_episodes(p, format) for p in (target, folder / "again-v0"))
        same(again, found, {f.name: f.name for f in found.features})
        for one in (found, again):
            one.close()
    # The next export removes what was left.
    export(source, format, target, overwrite=True)
    assert {p.name for p in folder.iterdir()} <= {"again-v0", "data-v0"}
    return bool(left)


def kills(count: int, seed: int, tmp_path: Path, recording: str) -> None:
    rng = np.random.default_rng(seed)
    half = 0
    for number in range(count):
        folder = tmp_path / str(number)
        folder.mkdir()
        format = tuple(EXPORTERS)[number % len(EXPORTERS)]
        delay_s = float(rng.uniform(0, 0.2))
        half += killed(format, folder, delay_s, recording)
    assert half, "none was killed on the way, so nothing was tested"


def test_a_killed_export_leaves_the_old_or_the_new(
    tmp_path: Path, recording: str
) -> None:
    kills(10, 1, tmp_path, recording)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 10))
def test_many_killed_exports(seed: int, tmp_path: Path, recording: str) -> None:
    kills(25, seed, tmp_path, recording)


# -- full disks ------------------------------------------------------------------------


def told(process: subprocess.Popen[str], target: Path, *words: str) -> None:
    """Twenty times one message, and the old dataset as it was."""
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    lines = out.splitlines()
    assert len(lines) == 20
    for line in lines:
        _, left, message = line.split("\t")
        assert left == "['data-v0']"
        assert message.startswith(f"writing {target}: "), line
        assert any(word in message for word in words), line


@pytest.mark.parametrize("format", list(EXPORTERS))
def test_a_file_that_may_not_grow_is_one_message(
    format: str, tmp_path: Path, recording: str
) -> None:
    target = tmp_path / "data-v0"
    more = given(format, recording)
    with start("limit", format, str(target), "5", *more) as process:
        told(process, target, "too large")
    old = sources(*more)[0]
    assert lengths_of(target, format) == tuple(e.length for e in old.episodes)
    assert read_manifest(target).transitions == sum(e.length for e in old.episodes)


@pytest.mark.parametrize("format", list(EXPORTERS))
def test_a_full_disk_is_one_message(
    format: str, tmp_path: Path, recording: str
) -> None:
    """A small file system of its own, which ends with the process."""
    more = given(format, recording)
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = f"mount -t tmpfs -o size=16m none {disk}"
    tried = subprocess.run(
        ["unshare", "-rm", "sh", "-c", mounted], check=False, capture_output=True
    )
    if tried.returncode:
        pytest.skip("no file system can be mounted here (unshare -rm)")
    before = ["unshare", "-rm", "sh", "-c", f'{mounted} && exec "$@"', "sh"]
    target = disk / "data-v0"
    with start("full", format, str(target), "6", *more, before=before) as process:
        told(process, target, "no space left on device")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        target = Path("/proc/isoscope-export")
    else:
        tmp_path.chmod(0o500)
        target = tmp_path / "a"
    with pytest.raises(WriteError, match="writing"):
        export(made(), "robomimic", target)
    with suppress(OSError):
        tmp_path.chmod(0o700)


def test_what_others_are_writing_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "a"
    with places.workplace(target) as content:
        content.write_text("mine")
        assert places.sweep(target) == []
        export(made((2,)), "robomimic", target)
        assert content.read_text() == "mine"
    dead = tmp_path / ".a.0123abcd.export"
    dead.mkdir()
    (dead / "content").write_text("half")
    other = tmp_path / ".ab.0123abcd.export"
    other.mkdir()
    link = tmp_path / ".a.0123abce.export"
    link.symlink_to(other)
    export(made((3,)), "robomimic", target, overwrite=True)
    assert not dead.exists()
    assert other.exists()
    assert link.is_symlink()


def test_something_that_came_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "a"

    def progress(done: int, total: int) -> None:
        if done == total:
            target.write_text("another's")

    with pytest.raises((UsageError, WriteError), match="exist"):
        export(made(), "robomimic", target, progress=progress)
    assert target.read_text() == "another's"
    assert list(tmp_path.iterdir()) == [target]


def test_without_an_exchange_of_names_a_folder_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "_renamed", lambda *_, **__: False)
    export(made((2,)), "lerobot", tmp_path / "a")
    with pytest.raises(UsageError, match="exchange"):
        export(made((3,)), "lerobot", tmp_path / "a", overwrite=True)
    export(made((2,)), "robomimic", tmp_path / "b")
    export(made((3,)), "robomimic", tmp_path / "b", overwrite=True)
    found = open_episodes(tmp_path / "b")
    assert [e.length for e in found.episodes] == [3]
    found.close()
    assert len(list(tmp_path.iterdir())) == 2
