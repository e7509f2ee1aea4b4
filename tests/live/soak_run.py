"""The soak's run: 64 environments that tell so many scalars a second, through a tap.

Arguments: seconds, scalars a second. Says ``ready``, waits for a line, and then says a
line of JSON each second: turns, what waits in the intake, and its resident memory.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import gymnasium as gym

from isoscope.core import tap
from tests.live.made_run import MadeRun, identity
from tests.live.resident import resident_bytes

ENVS = 64
STATE, VECTORS, NATIVE, TRANSITION = 6, 12, 11, 3  # scalars of a row, ids left out


class Never(gym.Env[Any, Any]):
    """Only brings the tap: what is never reset or stepped is never told."""


def main() -> None:
    seconds, wanted = float(sys.argv[1]), float(sys.argv[2])
    tap.attach(Never(), name="soak")
    session = tap.current()
    assert session is not None
    recorder = session.recorder
    recorder.identify(identity(ENVS))
    run = MadeRun(recorder, ENVS)
    say("ready")
    sys.stdin.readline()
    began = told = time.monotonic()
    scalars = 0
    while time.monotonic() - began < seconds:
        before = recorder.rows, run.turn
        run.go(1)
        natives = recorder.rows - before[0]
        scalars += natives * (STATE + NATIVE) + ENVS * (VECTORS + TRANSITION)
        now = time.monotonic()
        if now - told >= 1:
            told = now
            say(figures(run, recorder, scalars))
        time.sleep(max(began + scalars / wanted - time.monotonic(), 0))
    # What the clock took away is made up for: the same number is always told.
    while scalars < seconds * wanted:
        before = recorder.rows, run.turn
        run.go(1)
        natives = recorder.rows - before[0]
        scalars += natives * (STATE + NATIVE) + ENVS * (VECTORS + TRANSITION)
    say(figures(run, recorder, scalars))
    say("end")
    sys.stdin.readline()  # whoever watches has looked
    tap.detach()


def figures(run: MadeRun, recorder: Any, scalars: int) -> str:
    return json.dumps(
        {
            "turns": run.turn,
            "rows": recorder.rows,
            "scalars": scalars,
            "backlog": recorder.intake.backlog,
            "rss": resident_bytes(),
        }
    )


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
