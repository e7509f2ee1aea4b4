"""The user's runtime folder: a small file for each run that windows may join.

Only the user can read it: a file has the token that the run asks windows for.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec

FOLDER = "ISOSCOPE_RUNTIME_DIR"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run that can be joined.

    Attributes
    ----------
    address
        Of its hub.
    run
        Its id.
    name
        Its title.
    process, started
        See `isoscope.core.tap.process`.
    began_ns
        Nanoseconds since the epoch.
    token, server_key
        What joining takes; the key is empty on this machine alone.
    record
        The file that gets all of it, or empty.
    """

    address: str
    run: str
    name: str = ""
    process: int = -1
    started: int = 0
    host: str = ""
    began_ns: int = 0
    token: str = ""
    server_key: str = ""
    record: str = ""

    def __repr__(self) -> str:
        """Without the token."""
        return f"Run({self.address!r}, name={self.name!r}, process={self.process})"


def folder() -> Path:
    """The runtime folder; made if it isn't there.

    Raises
    ------
    OSError
        If it can't be made, or others may write in it.
    """
    chosen = os.environ.get(FOLDER)
    base = os.environ.get("XDG_RUNTIME_DIR")
    if chosen:
        path = Path(chosen)
    elif base:
        path = Path(base) / "isoscope"
    else:
        user = os.getuid() if hasattr(os, "getuid") else "user"
        path = Path(tempfile.gettempdir()) / f"isoscope-{user}"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if hasattr(os, "getuid"):
        found = path.stat()
        if found.st_uid != os.getuid():
            raise PermissionError(f"{path} belongs to somebody else")
        if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            path.chmod(0o700)
    return path


def announce(run: Run) -> Path:
    """Write a run's file; returns it.

    Raises
    ------
    OSError
        If it can't be written.
    """
    path = folder() / f"{run.process}-{run.run[:8]}.json"
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(msgspec.json.encode(run))
    os.replace(part, path)
    return path


def withdraw(path: Path | None) -> None:
    """Remove a run's file, if it is there."""
    if path is not None:
        with suppress(OSError):
            path.unlink()
