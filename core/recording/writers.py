"""Find out whether some program has a file open for writing, without locking it.

Taking a lock to see whether it is free would make the writer's own next attempt fail.
Linux lists locks and open files under ``/proc``; elsewhere nothing is known.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from isoscope.core import procfs

if TYPE_CHECKING:
    from pathlib import Path

SEARCH_S = 0.2  # at most, among the open files of all programs
MOST_KNOWN = 64

_known: dict[tuple[int, int], int] = {}  # who was found to write a device's inode


def find_writer(path: str | Path, *, thorough: bool = False) -> str | None:
    """Name a program that has the file open for writing, or None.

    Parameters
    ----------
    path
        The file.
    thorough
        Look among the open files of all programs too, not only among the locks. Takes
        some 20 ms on a desktop; also finds writers that lock nothing. A busy machine
        may have too many programs to look at them all; who was found once, and this
        program itself, is always looked at.

    Returns
    -------
    str or None
        Such as ``"python (process 4711)"``.
    """
    try:
        wanted = os.stat(path)
    except OSError:
        return None
    holder = _lock_holder(wanted)
    if holder is None and thorough:
        holder = _open_for_writing(wanted)
    return None if holder is None else _describe(holder)


def _lock_holder(wanted: os.stat_result) -> int | None:
    """Process with an exclusive lock (flock or POSIX) on the file; 0 if unknown."""
    try:
        lines = procfs.read("locks").splitlines()
    except OSError:
        return None
    device = f"{os.major(wanted.st_dev):02x}:{os.minor(wanted.st_dev):02x}"
    for line in lines:
        # 1: FLOCK  ADVISORY  WRITE 4711 fe:01:131074 0 EOF
        parts = line.split()
        if len(parts) < 6 or parts[3] != "WRITE" or parts[1] == "->":
            continue
        place, _, inode = parts[5].rpartition(":")
        if inode != str(wanted.st_ino):
            continue
        pid = int(parts[4]) if parts[4].isdecimal() else 0
        # A layered file system shows another device here than stat does.
        if place == device or (pid and _holds(pid, wanted)):
            return pid
    return None


def _holds(pid: int, wanted: os.stat_result) -> bool:
    return any(True for _ in _descriptors(pid, wanted))


def _descriptors(pid: int, wanted: os.stat_result) -> list[str]:
    """Names of the process's descriptors of this file, as far as we may look."""
    found: list[str] = []
    with suppress(OSError):
        for entry in os.scandir(f"{procfs.PROC}/{pid}/fd"):
            with suppress(OSError):
                if os.path.samestat(os.stat(entry.path), wanted):
                    found.append(entry.name)
    return found


def _open_for_writing(wanted: os.stat_result) -> int | None:
    file = wanted.st_dev, wanted.st_ino
    for pid in (_known.pop(file, None), os.getpid()):
        if pid is not None and _writes(pid, wanted):
            return _noted(file, pid)
    deadline = time.monotonic() + SEARCH_S
    try:
        processes = [int(e.name) for e in os.scandir(procfs.PROC) if e.name.isdecimal()]
    except OSError:
        return None
    # The youngest first: a writer was started recently more often than not.
    for pid in sorted(processes, reverse=True):
        if time.monotonic() > deadline:
            return None
        if _writes(pid, wanted):
            return _noted(file, pid)
    return None


def _noted(file: tuple[int, int], pid: int) -> int:
    if len(_known) >= MOST_KNOWN:
        _known.clear()
    _known[file] = pid
    return pid


def _writes(pid: int, wanted: os.stat_result) -> bool:
    for name in _descriptors(pid, wanted):
        with suppress(OSError, ValueError, IndexError):
            info = procfs.read(pid, "fdinfo", name)
            flags = int(info.split("flags:")[1].split()[0], 8)
            if flags & (os.O_WRONLY | os.O_RDWR):
                return True
    return False


def _describe(pid: int) -> str:
    if not pid:
        return "another program"
    try:
        name = procfs.read(pid, "comm").strip()
    except OSError:
        name = ""
    return f"{name or 'a program'} (process {pid})"
