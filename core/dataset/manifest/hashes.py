"""SHA-256 of files and folders, read in pieces.

A folder's is that of its list of files: a line ``sha256  path`` each, sorted by path,
as ``sha256sum`` writes them. Links are not followed, and what is no file has no place
in the list.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.core.dataset.manifest.forms import FileEntry
from isoscope.core.errors import CancelledError, ReadError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.core.dataset.manifest.inside import Extent
    from isoscope.core.recording.source import Cancel

PIECE = 1 << 20


def file_sha256(
    path: Path, cancelled: Cancel | None = None, blank: Extent | None = None
) -> str:
    """Digest of a file.

    Parameters
    ----------
    blank
        Bytes that count as zeros, whatever they are.

    Raises
    ------
    ReadError
        If it can't be read.
    CancelledError
        If `cancelled` said so.
    """
    found = hashlib.sha256()
    at = 0
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                found.update(piece if blank is None else _blanked(piece, at, blank))
                at += len(piece)
                if cancelled is not None and cancelled():
                    raise CancelledError(f"hashing {path} was stopped")
    except OSError as error:
        raise ReadError("hashing", path, error.strerror or str(error)) from None
    return found.hexdigest()


def _blanked(piece: bytes, at: int, blank: Extent) -> bytes:
    low = min(max(blank.start - at, 0), len(piece))
    high = min(max(blank.start + blank.length - at, 0), len(piece))
    return piece[:low] + bytes(high - low) + piece[high:]


def entries(
    place: Path,
    skip: Iterable[str] = (),
    cancelled: Cancel | None = None,
    blank: Extent | None = None,
) -> list[FileEntry]:
    """All files of a folder, or the one file, sorted by path.

    Parameters
    ----------
    skip
        Paths within the folder that don't count, such as the manifest's own.
    blank
        Bytes of the one file that count as zeros, such as the manifest's own.

    Raises
    ------
    ReadError
        If something can't be read.
    """
    if not place.is_dir():
        return [_entry(place, place.name, cancelled, blank)]
    left_out = set(skip)
    found = []
    for folder, folders, names in os.walk(place):
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            inside = path.relative_to(place).as_posix()
            if inside not in left_out and path.is_file() and not path.is_symlink():
                found.append(_entry(path, inside, cancelled))
    return sorted(found, key=lambda entry: entry.path)


def _entry(
    path: Path, name: str, cancelled: Cancel | None, blank: Extent | None = None
) -> FileEntry:
    return FileEntry(
        path=name, bytes=path.stat().st_size, sha256=file_sha256(path, cancelled, blank)
    )


def together(found: list[FileEntry], *, folder: bool) -> str:
    """One digest of all of them; of a single file that is no folder, its own."""
    if not folder and len(found) == 1:
        return found[0].sha256
    lines = "".join(f"{entry.sha256}  {entry.path}\n" for entry in found)
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()
