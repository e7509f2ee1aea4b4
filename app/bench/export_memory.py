"""How much memory an export takes at most, in a process of its own.

    python -m isoscope.app.bench.export_memory FORMAT ROWS

Prints the most that was resident while it exported, the program's own part with it, in
bytes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from isoscope.app.bench.collect_memory import CLEAR, FORGET_PEAK, resident
from isoscope.core.errors import ReadError

MODULE = "isoscope.app.bench.export_memory"


def peak(format: str, rows: int) -> int | None:
    """Bytes at most for one episode of so many rows; None where that is not known.

    Raises
    ------
    ReadError
        If the process failed.
    """
    if resident("VmHWM:") is None or not CLEAR.exists():
        return None
    done = subprocess.run(
        [sys.executable, "-P", "-m", MODULE, format, str(rows)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ReadError("watching the memory of exporting", sys.executable, "it failed")
    return int(done.stdout)


def main() -> None:
    """Export a few rows to warm up, then all of them."""
    from isoscope.app.bench.export_load import Load
    from isoscope.core.dataset.exporters.run import export

    format, rows = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="isoscope-bench-") as folder:
        export(Load(2, 100), format, Path(folder) / "warm")
        source = Load(1, rows)
        CLEAR.write_text(FORGET_PEAK)
        export(source, format, Path(folder) / "data")
        print(resident("VmHWM:") or 0)  # noqa: T201


if __name__ == "__main__":
    main()
