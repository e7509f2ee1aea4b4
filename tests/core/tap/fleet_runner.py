"""A run with two worker processes: says their ids, and steps as it is told."""

from __future__ import annotations

import sys

from isoscope.core import tap
from tests.core.tap.fake import make_env
from tests.core.tap.fleet import Fleet


def main() -> None:
    fleet = Fleet([tap.factory(make_env) for _ in range(2)], each=1)
    fleet.run(1)
    say(" ".join(str(process.pid) for process in fleet.processes))
    for line in sys.stdin:
        fleet.run(int(line))
        say("done")
    fleet.close()


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
