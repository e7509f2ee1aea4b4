"""Which module reads which dataset format: a dictionary with late imports.

A reader is a module with ``FORMAT`` (its key here), ``sniff(path, head)`` (whether the
file or folder is of its kind; `head` is empty for a folder), ``open_episodes(path)``
and ``open_source(path)``, the same for the window.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from isoscope.core.errors import MissingExtraError, ReadError, UsageError

if TYPE_CHECKING:
    from isoscope.core.dataset.model import Episodes
    from isoscope.core.recording.source import Source

HEAD_BYTES = 4096
# Asked in this order; the first that says yes reads it.
READERS: dict[str, str] = {
    "lerobot": "isoscope.core.dataset.readers.lerobot",
    "minari": "isoscope.core.dataset.readers.minari",
    "shards": "isoscope.core.dataset.readers.shards",
    "robomimic": "isoscope.core.dataset.readers.robomimic",
    "maniskill": "isoscope.core.dataset.readers.maniskill",
}


class Reader(Protocol):
    """What a reader module offers."""

    FORMAT: str

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether it is of this kind."""
        ...

    def open_episodes(self, path: Path) -> Episodes:
        """Open it; raises ReadError."""
        ...

    def open_source(self, path: Path) -> Source:
        """Open it for the window; raises ReadError."""
        ...


def reader(key: str) -> Reader:
    """The reader of this key.

    Raises
    ------
    UsageError
        If no such format is known; the message lists the formats.
    """
    if key not in READERS:
        raise UsageError(f"no reader for {key!r}; there is {', '.join(READERS)}")
    return cast("Reader", importlib.import_module(READERS[key]))


def recognised(path: Path) -> Reader | None:
    """The reader that knows this file or folder, None if none does.

    Raises
    ------
    ReadError
        If it can't be looked at.
    """
    try:
        head = b""
        if path.is_file():
            with path.open("rb") as file:
                head = file.read(HEAD_BYTES)
        elif not path.is_dir():
            raise ReadError("opening", path, "no such file or folder")
        for key in READERS:
            module = reader(key)
            if module.sniff(path, head):
                return module
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise ReadError("opening", path, problem) from None
    return None


def open_episodes(path: str | Path, format: str | None = None) -> Episodes:
    """Open a dataset with the reader that recognises it.

    Parameters
    ----------
    path
        The file, the folder, or the description in the folder (``meta/info.json``,
        ``manifest.json``).
    format
        Key of the reader to use, instead of asking each.

    Raises
    ------
    ReadError
        If it can't be opened or no reader recognises it.
    UsageError
        If there is no such format.
    """
    path = Path(path)
    module = reader(format) if format is not None else recognised(path)
    if module is None:
        raise ReadError(
            "opening",
            path,
            "not a dataset",
            remedy=f"formats that can be read: {', '.join(READERS)}",
        )
    try:
        return module.open_episodes(path)
    except OSError as error:
        raise ReadError("opening", path, error.strerror or str(error)) from None
    except ImportError as error:
        raise MissingExtraError(
            "opening the dataset", "data", str(error.name)
        ) from None
