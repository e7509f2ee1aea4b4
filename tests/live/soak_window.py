"""The soak's window: follows a run in a thread, and looks at what it reads.

Arguments: the run's address, and bytes that may be kept. Says a line of JSON each
second: rows, how far behind, dropped records, its resident memory. Ends with the run.
"""

from __future__ import annotations

import json
import sys
import threading

from isoscope.core.live.discovery import find
from isoscope.core.live.source import LiveSource
from tests.live.resident import resident_bytes


def main() -> None:
    source = LiveSource(find(sys.argv[1]), memory_bytes=int(sys.argv[2]))
    thread = threading.Thread(target=source.index)
    thread.start()
    looked = 0
    while thread.is_alive():
        thread.join(1)
        looked = look(source, looked)
        say(source)
    look(source, looked)
    say(source)
    source.close()


def look(source: LiveSource, first: int) -> int:
    """Read what came, and as much of what is old; gives how far that is."""
    rows = len(source.recording)
    for actor in source.recording.actors:
        track = actor.fields.tracks["translation"]
        track.read(first, rows)
        track.read(0, rows - first)
    return rows


def say(source: LiveSource) -> None:
    told = {
        "rows": len(source.recording),
        "dropped": source.dropped,
        "missed": source.missed,
        "rss": resident_bytes(),
        "phase": source.phase.name,
    }
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
