"""Where the program keeps what is its own: settings, bookmarks, log.

Each folder can be put elsewhere by an environment variable (ISOSCOPE_CONFIG_DIR,
ISOSCOPE_DATA_DIR, ISOSCOPE_LOG_DIR). Nothing is ever written beside a recording.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import platformdirs


def config_dir() -> Path:
    """Settings. Not made until something is written."""
    return _chosen("CONFIG") or Path(platformdirs.user_config_path("isoscope"))


def data_dir() -> Path:
    """What the user made, such as bookmarks."""
    return _chosen("DATA") or Path(platformdirs.user_data_path("isoscope"))


def log_dir() -> Path:
    """The log file."""
    return _chosen("LOG") or (
        data_dir() / "log"
        if _chosen("DATA")
        else Path(platformdirs.user_log_path("isoscope"))
    )


def write_whole(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file whole or not at all.

    Parameters
    ----------
    path
        Where to; its folder is made.
    content
        What.
    durable
        Whether it must be there even if the power goes right after; takes longer.

    Raises
    ------
    OSError
        If it can't be written; what was there before is still there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _chosen(what: str) -> Path | None:
    folder = os.environ.get(f"ISOSCOPE_{what}_DIR")
    return Path(folder) if folder else None
