"""How much memory a process has that is its own, for tests that run long."""

from __future__ import annotations

from isoscope.core import procfs


def resident_bytes(process: int | str = "self") -> int:
    """Resident memory of a process, this one by default, file pages left out."""
    for line in procfs.read(process, "status").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) << 10
    raise AssertionError("this system does not tell")
