"""Whether a process of this machine still lives, told apart from a later namesake."""

from __future__ import annotations

import os
import socket

from isoscope.core import procfs


def started(process: int) -> int:
    """When a process was started, in a clock of the kernel's; 0 where unknown.

    Source: proc(5), field 22 of ``/proc/PID/stat``.
    """
    found = _stat(process)
    return 0 if found is None else found[1]


def alive(process: int, since: int = 0) -> bool:
    """Whether a process lives; where that can't be found out it does.

    Parameters
    ----------
    process
        Its id.
    since
        What `started` said of it; 0 if that was unknown.
    """
    if process <= 0:
        return False
    if procfs.is_there():
        found = _stat(process)
        if found is None or found[0] in "ZX":
            return False
        return not since or found[1] == since
    if os.name != "posix":  # there a signal 0 would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def host() -> str:
    """The name of this machine; empty where it has none."""
    try:
        return socket.gethostname()
    except OSError:
        return ""


def _stat(process: int) -> tuple[str, int] | None:
    """State and start of a process."""
    try:
        text = procfs.read(process, "stat")
        # The program's name, in brackets, may hold anything.
        fields = text.rpartition(")")[2].split()
        return fields[0], int(fields[19])
    except (OSError, IndexError, ValueError):
        return None
