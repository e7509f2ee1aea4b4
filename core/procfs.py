"""Texts that Linux shows of itself and its processes under ``/proc``.

Source: proc(5). Asked for as long as a run goes on, so by plain paths: each
`pathlib.Path` leaves its parts' names behind in the interpreter's table of strings.
"""

from __future__ import annotations

import os

PROC = "/proc"


def is_there() -> bool:
    """Whether this system has it."""
    return os.path.exists(f"{PROC}/self")


def read(*names: object) -> str:
    """The text of an entry, such as ``read(4711, "stat")``.

    Raises
    ------
    OSError
        If it isn't there, or not for us to see.
    """
    path = "/".join((PROC, *map(str, names)))
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
