"""Temporary folders that go even if the program that made them was killed.

Each has a file that is locked as long as its owner lives. Whoever makes the next one
removes those of the same user whose lock is free.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

LOCK = "lock"


class TemporaryFolder:
    """A folder for one owner, removed at the latest after the owner has died.

    Parameters
    ----------
    prefix
        Of its name. What is left of others with it is removed first.

    Attributes
    ----------
    path
        Where it is.

    Raises
    ------
    OSError
        If it can't be made.
    """

    def __init__(self, prefix: str) -> None:
        with suppress(OSError):  # they stay for the next one
            remove_left(prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._lock = -1
        if sys.platform != "win32":
            with suppress(OSError):  # then it is never taken for one that was left
                self._lock = _locked(self.path)

    def remove(self) -> None:
        """Remove it with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


def remove_left(prefix: str) -> list[Path]:
    """Remove folders whose owners are gone; returns those.

    Only this user's own, never one behind a link, and none that has no lock.

    Raises
    ------
    OSError
        If the place of temporary files can't be read.
    """
    if sys.platform == "win32" or not shutil.rmtree.avoids_symlink_attacks:
        return []
    found = []
    for path in sorted(Path(tempfile.gettempdir()).glob(f"{prefix}*")):
        with suppress(OSError):
            if _remove_if_left(path):
                found.append(path)
    return found


def _locked(folder: Path) -> int:
    """Lock a file in a new folder; it gets its name when it is locked, not before."""
    part = folder / f"{LOCK}.part"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    lock = os.open(part, flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        part.rename(folder / LOCK)
    except OSError:
        os.close(lock)
        raise
    return lock


def _remove_if_left(path: Path) -> bool:
    """Remove it if its owner is gone; whether that was so."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(path, flags | os.O_DIRECTORY)
    try:
        if not _own(os.fstat(folder)):
            return False
        # O_NONBLOCK: nobody waits for a pipe of this name.
        lock = os.open(LOCK, flags | os.O_NONBLOCK, dir_fd=folder)
        try:
            about = os.fstat(lock)
            if not _own(about) or not stat.S_ISREG(about.st_mode):
                return False
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
            return True
        finally:
            os.close(lock)
    finally:
        os.close(folder)


def _own(about: os.stat_result) -> bool:
    others = stat.S_IWGRP | stat.S_IWOTH
    return about.st_uid == os.getuid() and not about.st_mode & others
