"""A run to be watched: a tapped environment that steps as it is told by lines.

Arguments: a file to record to, or ``-``. Told a number, it steps so often and says how
many native steps there are; told ``raise``, its environment
fails; told ``failure``, it tells of one; told ``end``, it ends.
"""

from __future__ import annotations

import sys
from pathlib import Path

from isoscope.core import tap
from isoscope.core.recording.labelled import records as r
from tests.core.tap.fake import make_env, run


def main() -> None:
    record = None if sys.argv[1] == "-" else Path(sys.argv[1])
    env = tap.attach(make_env(), record=record, name="runner")
    say("ready")
    for line in sys.stdin:
        told = line.strip()
        if told == "end":
            break
        if told == "raise":
            env.env.fails_at = env.env.count + 1
            env.step(0.0)
        elif told == "failure":
            env.session.recorder.failure(r.Failure("step", "it went wrong"))
        else:
            run(env, int(told))
        say(str(env.session.recorder.rows))


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
