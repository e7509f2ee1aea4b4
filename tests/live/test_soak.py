"""60,000 scalars a second from 64 environments for five minutes, with a window on it.

`ISOSCOPE_SOAK_S` runs it for another time; memory is compared from five minutes on.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.core.live import discovery
from tests.core.tap.support import Child, until

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = float(os.environ.get("ISOSCOPE_SOAK_S", "300"))
SCALARS = 60_000
CAP_BYTES = 8 << 20  # full long before memory is compared
GROWTH = 1.02
FULL_S = 300  # before that memory is still filling


class Told:
    """Reads a child's lines in a thread, so that it never waits for us."""

    def __init__(self, child: Child) -> None:
        self.lines: list[dict[str, Any]] = []
        self.over = False
        self._child = child
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        assert self._child.process.stdout is not None
        for line in self._child.process.stdout:
            if line.strip() == "end":
                self.over = True
            else:
                self.lines.append(json.loads(line))
        self.over = True

    def wait(self) -> None:
        self._thread.join()


def typical(lines: list[dict[str, Any]], name: str, first: float, stop: float) -> float:
    """The median over a part of the time."""
    part = lines[int(len(lines) * first) : max(int(len(lines) * stop), 1)]
    return float(statistics.median(line[name] for line in part))


@pytest.mark.slow
@pytest.mark.timeout(4 * SECONDS + 300)
def test_nothing_is_dropped_and_nothing_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOSCOPE_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("MALLOC_ARENA_MAX", "2")
    with Child("tests.live.soak_run", SECONDS, SCALARS) as run:
        assert run.says() == "ready"
        (found,) = discovery.running()
        with Child("tests.live.soak_window", found.address, CAP_BYTES) as window:
            watched = Told(window)
            until(lambda: watched.lines)
            run.tell("go")
            made = Told(run)
            until(lambda: made.over, 4 * SECONDS + 200)
            total = made.lines[-1]["rows"]
            until(lambda: watched.over or watched.lines[-1]["rows"] >= total - 1)
            if run.process.poll() is None:  # else it says why below
                run.tell("looked")
            watched.wait()
            made.wait()
            assert run.ended() == ""
            assert window.ended() == ""
    figures = {
        "seconds": len(made.lines),
        "scalars": made.lines[-1]["scalars"],
        "run_rss": [typical(made.lines, "rss", a, a + 0.1) for a in (0.4, 0.65, 0.9)],
        "window_rss": [
            typical(watched.lines, "rss", a, a + 0.1) for a in (0.4, 0.65, 0.9)
        ],
        "backlog": [typical(made.lines, "backlog", a, a + 0.5) for a in (0.0, 0.5)],
        "most": max(line["backlog"] for line in made.lines),
    }
    sys.stdout.write(json.dumps({"soak": figures}) + "\n")
    last = watched.lines[-1]
    assert last["phase"] == "ENDED"
    assert last["dropped"] == {}
    assert last["missed"] == 0
    # It joined before the first row, or sees that one as what was there.
    assert last["rows"] >= total - 1
    assert made.lines[-1]["scalars"] >= SECONDS * SCALARS
    # It grows between flushes, and is as small after each as at the beginning.
    least = [line["backlog"] for line in made.lines]
    half = len(least) // 2
    assert min(least[half:]) <= max(min(least[:half]), 1 << 16)
    if SECONDS >= FULL_S:
        for rss in (figures["run_rss"], figures["window_rss"]):
            assert rss[2] < GROWTH * rss[0], figures
