"""Read a text of variable length from HDF5, in another process, in bounded time.

Such texts lie in a heap of the file's own, and libhdf5 goes round in a damaged one for
ever. ``python -m isoscope.core.dataset.readers.h5text FILE PLACE NAME`` writes an
attribute's text.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MODULE = "isoscope.core.dataset.readers.h5text"
TIME_LIMIT_S = 5.0


def text_of(path: Path, place: str, name: str) -> str | None:
    """The text of an attribute; None where it can't be read in time."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", MODULE, str(path), place or "/", name],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    return done.stdout.decode("utf-8", "replace")


def main(path: str, place: str, name: str) -> None:
    """Write the text."""
    import h5py

    with h5py.File(path, "r", locking=False) as file:
        value = file[place].attrs[name]
    data = value if isinstance(value, bytes) else str(value).encode()
    sys.stdout.buffer.write(data)


if __name__ == "__main__":
    main(*sys.argv[1:])
