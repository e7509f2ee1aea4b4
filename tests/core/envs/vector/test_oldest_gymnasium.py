"""The same tests with the oldest Gymnasium that is supported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.environments import build

pytestmark = pytest.mark.referee

ROOT = Path(__file__).parents[4]
HERE = Path(__file__).parent
OLDEST = (
    "gymnasium==1.1.1",
    f"numpy=={pytest.importorskip('numpy').__version__}",
    "pytest==9.2.0",
    "pytest-timeout==2.4.0",
    "hypothesis==6.170.17",
)
TESTS = (
    "test_golden.py",
    "test_transitions.py",
    "test_hybrid.py",
    "test_death.py",
    "test_parts.py",
)
SETTINGS = """
[pytest]
addopts = --strict-markers --import-mode=importlib -p no:cacheprovider
filterwarnings = error
timeout = 300
"""


def test_all_of_it_with_gymnasium_1_1_1(tmp_path: Path) -> None:
    interpreter = build("gymnasium-1.1.1", Path(sys.executable), OLDEST)
    package = tmp_path / "isoscope"
    package.mkdir()
    (package / "core").symlink_to(ROOT / "core")
    settings = tmp_path / "pytest.ini"
    settings.write_text(SETTINGS)
    where = ["-c", settings, "--rootdir", ROOT, "--noconftest"]
    done = subprocess.run(
        [interpreter, "-m", "pytest", "-q", *where, *(HERE / name for name in TESTS)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout
