"""A program whose tapped environment runs until somebody kills it. Argument: a file.

Prints the keeper's process, then a line for each hundred control steps.
"""

from __future__ import annotations

import sys
import time

from isoscope.core import tap
from tests.core.tap import fake


def main() -> None:
    fake.install()
    env = tap.attach(fake.FakeEnv(length=1 << 30), record=sys.argv[1])
    session = tap.current()
    assert session is not None
    keeper = session.outlet._stream._process.pid  # type: ignore[union-attr]
    sys.stdout.write(f"{keeper}\n")
    env.reset(seed=1)
    steps = 0
    while True:
        env.step(0.5)
        steps += 1
        if steps % 100 == 0:
            sys.stdout.write(f"{steps}\n")
            sys.stdout.flush()
            time.sleep(0.05)


if __name__ == "__main__":
    main()
