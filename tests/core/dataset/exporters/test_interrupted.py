"""Kills and full disks: what is there is the old dataset or the new one, whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from isoscope.core.dataset.exporters import place as places
from isoscope.core.dataset.exporters.run import export
from isoscope.core.dataset.readers.registry import open_episodes
from isoscope.core.errors import UsageError, WriteError
from tests.core.dataset.exporters.exporting_child import LENGTHS
from tests.core.dataset.made import made, same

ROOT = Path(__file__).parents[4]
CHILD = "tests.core.dataset.exporters.exporting_child"


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", CHILD, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def killed(format: str, folder: Path, delay_s: float) -> bool:
    """Kill an export after so long; whether it left something half made."""
    target = folder / "data-v0"
    with start("kill", format, str(target)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(delay_s)
        process.send_signal(signal.SIGKILL)
        process.wait()
    left = [p for p in folder.iterdir() if p != target]
    found = open_episodes(target, format)
    lengths = tuple(e.length for e in found.episodes)
    assert lengths in LENGTHS
    source = made(lengths)
    names = {f.name: f.name for f in found.features}
    export(source, format, folder / "again-v0")
    again = open_episodes(folder / "again-v0", format)
    same(again, found, names)
    for one in (found, again):
        one.close()
    # The next export removes what was left.
    export(source, format, target, overwrite=True)
    assert sorted(p.name for p in folder.iterdir()) == ["again-v0", "data-v0"]
    return bool(left)


def kills(count: int, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    half = 0
    for number in range(count):
        folder = tmp_path / str(number)
        folder.mkdir()
        format = ("robomimic", "lerobot", "shards", "maniskill")[number % 4]
        half += killed(format, folder, float(rng.uniform(0, 0.1)))
    assert half, "none was killed on the way, so nothing was tested"


def test_a_killed_export_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    kills(10, 1, tmp_path)


@pytest.mark.slow
def test_many_killed_exports(tmp_path: Path) -> None:
    kills(200, 2, tmp_path)


@pytest.mark.parametrize(
    "format", ["robomimic", "lerobot", "shards", "maniskill", "minari"]
)
def test_a_full_disk_is_one_message(format: str, tmp_path: Path) -> None:
    if format == "minari":
        pytest.importorskip("minari")
    target = tmp_path / "data-v0"
    with start("full", format, str(target), "5") as process:
        out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    lines = out.splitlines()
    assert len(lines) == 20
    for line in lines:
        _, left, message = line.split("\t")
        assert left == "['data-v0', 'whole-v0']"
        assert message.startswith(f"writing {target}: "), line
        assert "too large" in message
    found = open_episodes(target)
    assert [e.length for e in found.episodes] == list(LENGTHS[0])
    found.close()


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
