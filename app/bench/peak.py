"""How much anonymous memory a process takes at most while it indexes a file.

Another process is watched, since this one has other things in memory. Linux tells the
anonymous part (RssAnon in ``/proc/PID/status``); elsewhere nothing is known.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from isoscope.core.errors import ReadError

EVERY_S = 0.001
_FIELD = "RssAnon:"


def peak_anonymous(file: Path) -> int | None:
    """Watch a fresh process index the file; bytes, or None where that is not known.

    Raises
    ------
    ReadError
        If the process could not index it.
    """
    if anonymous(Path("/proc/self/status")) is None:
        return None
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "isoscope.app.bench.peak", str(file)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        status = Path(f"/proc/{process.pid}/status")
        most = 0
        while process.poll() is None:
            most = max(most, anonymous(status) or 0)
            time.sleep(EVERY_S)
    if process.returncode:
        raise ReadError("watching the memory of indexing", file, "it failed")
    return most


def anonymous(status: Path) -> int | None:
    """Anonymous bytes of the process with this status file; None where unknown."""
    try:
        lines = status.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith(_FIELD):
            return int(line.removeprefix(_FIELD).split()[0]) * 1024
    return None


def main() -> None:
    """Index one file, as the program does."""
    from isoscope.core.recording.registry import load

    load(sys.argv[1])


if __name__ == "__main__":
    main()
