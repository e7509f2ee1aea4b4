"""The base install, as a training process has it: no torch, no Qt.

The wheel is built from this tree and used in an environment that has the base
dependencies and nothing else, so that a module missing from the wheel, or an import
that the base does not bring, is seen here and not by a user.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.environments import build

ROOT = Path(__file__).parent.parent
RECORDING = ROOT / "tests" / "data" / "recordings" / "create_destroy.h5"
IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
heavy = [n for n in ("torch", "PySide6", "vispy", "pyqtgraph") if n in sys.modules]
assert not heavy, heavy
print(len(sys.argv) - 1)
"""
NEEDS_SIM = ("trajectory", "channel", "collection", "envs")  # torch, gymnasium
# pyarrow; whoever uses them imports them late
NEEDS_DATA = (
    "dataset/exporters/lerobot.py",
    "dataset/exporters/lerobot_columns.py",
    "dataset/exporters/lerobot_parquet.py",
    "dataset/exporters/lerobot_writer.py",
    "dataset/readers/arrow.py",
    "dataset/readers/arrow_ipc.py",
    "dataset/readers/lerobot_meta.py",
    "dataset/readers/lerobot_stats.py",
    "dataset/readers/minari_arrow.py",
)


def base_requirements() -> tuple[str, ...]:
    """Return the base dependencies, each at the version that is tested on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    names = [dependency.split(">=")[0] for dependency in project["dependencies"]]
    return tuple(f"{name}=={pins[name]}" for name in names)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Return the base interpreter, and an environment that finds the built wheel."""
    folder = tmp_path_factory.mktemp("base")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT], check=True
    )
    (wheel,) = folder.glob("isoscope-*.whl")
    target = folder / "site"
    with zipfile.ZipFile(wheel) as packed:  # there are no scripts to be installed
        packed.extractall(target)
    interpreter = build("base", Path(sys.executable), base_requirements())
    return interpreter, {**os.environ, "PYTHONPATH": str(target)}


def test_every_core_module_imports(base: tuple[Path, dict[str, str]]) -> None:
    interpreter, environ = base
    names = [
        "isoscope." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sorted((ROOT / "core").rglob("*.py"))
        if path.name != "__init__.py"
        and path.relative_to(ROOT / "core").parts[0] not in NEEDS_SIM
        and path.relative_to(ROOT / "core").as_posix() not in NEEDS_DATA
    ]
    done = subprocess.run(
        [interpreter, "-c", IMPORT_ALL, *names],
        env=environ,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(len(names))]


def test_a_recording_can_be_looked_at(base: tuple[Path, dict[str, str]]) -> None:
    interpreter, environ = base
    command = [interpreter, "-m", "isoscope.app", "info", RECORDING, "--json"]
    done = subprocess.run(
        command, env=environ, cwd="/", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["schema"] == "isoscope.info/1"
    assert said["steps"] == 30


def test_the_window_says_which_extra_it_needs(
    base: tuple[Path, dict[str, str]],
) -> None:
    interpreter, environ = base
    command = [interpreter, "-m", "isoscope.app", "open", RECORDING]
    done = subprocess.run(
        command, env=environ, cwd="/", capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "isoscope[app]" in done.stderr
    assert "Traceback" not in done.stderr
