"""What tests of the tap and of live windows share."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.core import tap
from isoscope.core.recording.labelled.reader import LabelledSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0


def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from tests.core.tap import fake

    folder = tmp_path / "runtime"
    fake.install(monkeypatch)
    before = set(threading.enumerate())
    yield
    tap.detach()
    left = [t for t in threading.enumerate() if t not in before and t.is_alive()]
    assert not left, left
    assert not folder.exists() or not list(folder.glob("*.json"))


def until(what: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
    """Wait until something is true; returns it."""
    deadline = time.monotonic() + patience_s
    while not (found := what()):
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)
    return found


def opened(path: Path) -> LabelledSource:
    source = LabelledSource(path)
    source.index()
    return source


class Child:
    """A program beside the test: a module with arguments, spoken to by lines."""

    def __init__(self, module: str, *arguments: object) -> None:
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        environ = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=environ,
            cwd=ROOT,
        )

    def says(self) -> str:
        """Its next line."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.ended()
        return line.strip()

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ended(self) -> str:
        """Wait for its end; returns what it said on standard error."""
        _, said = self.process.communicate(timeout=PATIENCE_S)
        return str(said)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
