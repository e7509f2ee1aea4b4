"""Which module reads which format: a dictionary with late imports.

A reader is a module with three names: ``FORMAT`` (its key here), ``sniff(path, head)``
(whether the file is of its kind, from its first bytes and, if need be, a look inside;
never raises for a file of another kind) and ``open_source(path)``.
"""

from __future__ import annotations

import importlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from isoscope.core.errors import ReadError, UsageError

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.source import Cancel, Progress, Source

HEAD_BYTES = 4096

# Asked in this order; the first that says yes reads the file.
READERS: dict[str, str] = {
    "isoscope-labelled": "isoscope.core.recording.labelled.reader",
    # These two look for their own groups; the one after them takes any HDF5.
    "robomimic": "isoscope.core.dataset.readers.robomimic",
    "maniskill": "isoscope.core.dataset.readers.maniskill",
    "superdex-events": "isoscope.core.recording.superdex.reader",
    "superdex-state": "isoscope.core.recording.superdex.state_json",
    "lerobot": "isoscope.core.dataset.readers.lerobot",
    "minari": "isoscope.core.dataset.readers.minari",
    "shards": "isoscope.core.dataset.readers.shards",
}
DATASETS = ("robomimic", "maniskill", "lerobot", "minari", "shards")
# Datasets that are folders; nothing else that is read is one.
FOLDERS = ("lerobot", "minari", "shards", "maniskill")


class Reader(Protocol):
    """What a reader module offers."""

    FORMAT: str

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the file is of this kind."""
        ...

    def open_source(self, path: Path) -> Source:
        """Open it; raises ReadError."""
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
    module = cast("Reader", importlib.import_module(READERS[key]))
    if key != module.FORMAT:
        raise AssertionError(f"{READERS[key]} calls itself {module.FORMAT}, not {key}")
    return module


def open_source(path: str | Path, format: str | None = None) -> Source:
    """Open a recording with the reader that recognises it.

    The file is opened read-only, without a lock, and never changed.

    Parameters
    ----------
    path
        The file.
    format
        Key of the reader to use, instead of asking each.

    Raises
    ------
    ReadError
        If it can't be opened or no reader recognises it.
    """
    path = Path(path)
    doing = "opening"
    if path.is_dir() and (found := _folder(path, format)) is not None:
        return _opened(found, path)
    head = _head(path)
    if format is not None:
        return _opened(reader(format), path)
    if not head:
        raise ReadError(
            doing,
            path,
            "the file is empty (0 bytes)",
            remedy="its writer probably died before the first flush; record again",
        )
    for key in READERS:
        module = reader(key)
        if module.sniff(path, head):
            return _opened(module, path)
    raise ReadError(
        doing,
        path,
        f"not a recording ({_looks_like(head, path)})",
        remedy=f"formats that can be read: {', '.join(READERS)}",
    )


def _folder(path: Path, format: str | None) -> Reader | None:
    """The reader of a dataset that is a folder; None if it is another folder."""
    if format is not None:
        return reader(format) if format in FOLDERS else None
    for key in FOLDERS:
        module = reader(key)
        if module.sniff(path, b""):
            return module
    return None


def _opened(module: Reader, path: Path) -> Source:
    try:
        return module.open_source(path)
    except OSError as error:  # it went away, or rights changed, a moment ago
        problem = error.strerror or str(error)
        raise ReadError("opening", path, problem) from None


def _head(path: Path) -> bytes:
    """The file's first bytes; raises ReadError where it is no file that can be read."""
    doing = "opening"
    try:
        # A pipe or a device is not even opened: that may wait for ever, or do things.
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise ReadError(
                doing,
                path,
                "this is a folder, and no dataset",
                remedy="name a recording file in it",
            )
        if not stat.S_ISREG(mode):
            kind = next((k for test, k in _SPECIAL if test(mode)), "no ordinary file")
            raise ReadError(
                doing, path, f"this is {kind}", remedy="copy its content to a file"
            )
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except FileNotFoundError:
        what = "no such file"
        if path.is_symlink():
            what = f"it is a link to {os.readlink(path)}, which is not there"
        raise ReadError(doing, path, what, remedy="check the path") from None
    except PermissionError:
        raise ReadError(
            doing, path, "you may not read it", remedy="ask its owner for permission"
        ) from None
    except OSError as error:
        raise ReadError(doing, path, error.strerror or str(error)) from None
    except ValueError as error:  # a NUL in the path
        raise ReadError(doing, path, str(error), remedy="check the path") from None


_SPECIAL = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def load(
    path: str | Path,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Recording:
    """Open a recording and index all of it; for the command line and for tests.

    Raises
    ------
    ReadError
        If it can't be read.
    CancelledError
        If `cancelled` said so.
    """
    source = open_source(path)
    try:
        source.index(progress, cancelled)
    finally:
        source.close()
    return source.recording


_PARQUET = b"PAR1"  # at both ends of a whole one
_MAGIC = {
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "gzip data",
    b"\xfd7zXZ\x00": "xz data: unpack it first",
    _PARQUET: "a parquet file",
    b"\x7fELF": "a program",
    b"\x89PNG": "a picture",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "HDF5, but of other content",
}


def _looks_like(head: bytes, path: Path) -> str:
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            if magic == _PARQUET and not _ends_with(path, magic):
                return (
                    f"it looks like {name} without its footer: its writer died, or a "
                    "copy broke off"
                )
            return f"it looks like {name}"
    if head.lstrip()[:1] in (b"{", b"["):
        return "it looks like JSON of other content"
    printable = sum(32 <= byte < 127 or byte in (9, 10, 13) for byte in head)
    if printable > 0.95 * len(head):
        return "it looks like text"
    return "its first bytes are of no known kind"


def _ends_with(path: Path, ending: bytes) -> bool:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - len(ending), 0))
            return size > 2 * len(ending) and file.read() == ending
    except OSError:
        return False
