"""A window without a screen: joins the only run, and says what it sees.

Says a line when it has joined, and one for each growth, until it is killed or the run
is over; then the last one says how it ended.
"""

from __future__ import annotations

import sys

from isoscope.core.live import discovery
from isoscope.core.live.source import LiveSource


def main() -> None:
    source = LiveSource(discovery.find())
    say("joined")
    source.index(lambda done, _: say(f"rows {done} {_seen(source)}"))
    say(f"over {source.phase.value}: {source.last_words}")
    source.close()


def _seen(source: LiveSource) -> str:
    return "of all" if source.whole else "from now on"


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
