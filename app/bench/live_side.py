"""The demo's worker with nobody watching: prints rounds a second, tap on and off."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import replace

import msgspec
import torch

from isoscope.app.demo.live_settings import demo_of
from isoscope.app.demo.run import DemoRun
from isoscope.app.demo.worker import Tapped
from isoscope.core import tap

WARMUP_S, MEASURED_S = 1.5, 5.0


def main() -> None:
    """Read a demo from standard input, and print ``{"tapped": …, "bare": …}``."""
    torch.set_num_threads(1)
    demo = demo_of(sys.stdin.buffer.readline())
    told: dict[str, float] = {}
    for name, around in (("bare", None), ("tapped", Tapped(demo))):
        settings = replace(demo.settings)
        with DemoRun(settings, around) as run:
            thread = threading.Thread(target=_count, args=(run, told, name))
            thread.start()
            run.run()
            thread.join()
    tap.detach()
    sys.stdout.buffer.write(msgspec.json.encode(told))


def _count(run: DemoRun, told: dict[str, float], name: str) -> None:
    while not run.rounds:
        time.sleep(0.01)
    time.sleep(WARMUP_S)
    before, begun = run.rounds, time.perf_counter()
    time.sleep(MEASURED_S)
    told[name] = (run.rounds - before) / (time.perf_counter() - begun)
    run.stop()


if __name__ == "__main__":
    main()
