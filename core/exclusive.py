"""One process at a time for a small file that is read, changed and written anew.

The lock is the system's, on a file beside it, so it goes with the process that has it,
however that ends; the file itself stays and means nothing.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from isoscope.core.errors import WriteError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
try:
    import msvcrt
except ImportError:
    msvcrt = None

WAIT_S = 10.0
LOOK_EVERY_S = 0.01
# What is said where somebody else has it; anything else means that there are no locks.
TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


@contextmanager
def exclusive(path: Path, doing: str, wait_s: float = WAIT_S) -> Iterator[None]:
    """Have a file for this process, and this thread, alone while the block runs.

    Where the file system has no locks, as some over a network don't, there is none.

    Parameters
    ----------
    path
        The file; its folder has to be there.
    doing
        For the message.

    Raises
    ------
    WriteError
        If somebody else has it for so long.
    """
    try:
        file = path.with_name(f".{path.name}.lock").open("ab")
    except OSError as error:
        raise WriteError(f"{doing}: {(error.strerror or str(error)).lower()}") from None
    with file:
        until = time.monotonic() + wait_s
        while not _take(file):
            if time.monotonic() >= until:
                raise WriteError(
                    f"{doing}: another process has had {path} for {wait_s:g} s; end "
                    "it, or try again"
                )
            time.sleep(LOOK_EVERY_S)
        try:
            yield
        finally:
            _release(file)


def _take(file: IO[bytes]) -> bool:
    """Whether it is ours now, or can't be anybody's."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    except OSError as error:
        return error.errno not in TAKEN
    return True


def _release(file: IO[bytes]) -> None:
    if fcntl is None and msvcrt is not None:
        with suppress(OSError):
            file.seek(0, os.SEEK_SET)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
