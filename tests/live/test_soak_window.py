"""The window itself on 60,000 scalars a second for five minutes: it stays small.

`ISOSCOPE_SOAK_S` runs it for another time; memory is compared from five minutes on.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from isoscope.core.live import discovery
from tests.core.tap.support import Child
from tests.live.resident import resident_bytes
from tests.live.test_soak import FULL_S, GROWTH, SCALARS, SECONDS, Told

CAP_MB = 8  # full long before memory is compared
JOIN_S = 20.0  # until the window is there and has joined


def typical(kept: list[int], first: float, stop: float) -> float:
    """The median over a part of the time."""
    return statistics.median(kept[int(len(kept) * first) : int(len(kept) * stop)])


@pytest.mark.slow
@pytest.mark.gl
@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
@pytest.mark.timeout(2 * SECONDS + 300)
def test_the_window_stays_small() -> None:
    config = Path(os.environ["ISOSCOPE_CONFIG_DIR"])
    config.mkdir(parents=True)
    config.joinpath("settings.json").write_text(
        json.dumps({"live_memory_mb": CAP_MB}), "utf-8"
    )
    kept: list[int] = []
    with Child("tests.live.soak_run", SECONDS, SCALARS) as run:
        assert run.says() == "ready"
        (found,) = discovery.running()
        program = [sys.executable, "-m", "isoscope.app", "attach", found.address]
        window = subprocess.Popen(program)
        try:
            time.sleep(JOIN_S)
            run.tell("go")
            made = Told(run)
            while not made.over:
                time.sleep(1)
                assert window.poll() is None, "the window ended"
                kept.append(resident_bytes(window.pid))
            run.tell("looked")
            made.wait()
        finally:
            window.kill()
            window.wait()
    figures = [typical(kept, a, a + 0.1) for a in (0.4, 0.65, 0.9)]
    sys.stdout.write(json.dumps({"soak_window": figures}) + "\n")
    assert made.lines[-1]["scalars"] >= SECONDS * SCALARS
    if SECONDS >= FULL_S:
        assert figures[2] < GROWTH * figures[0], figures
