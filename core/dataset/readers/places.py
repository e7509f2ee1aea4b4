"""Files of a dataset's folder: only what lies in it, plain files, of bounded size.

A dataset's description names files by itself. A name that leads out of its folder, by
``..``, from the root, or through a link, is refused.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from isoscope.core.errors import ReadError

READING = "reading"
MAX_JSON = 1 << 28


def inside(root: Path, name: str) -> Path:
    """The plain file of this name in the folder.

    Raises
    ------
    ReadError
        If it isn't there, is no plain file, or lies elsewhere.
    """
    pure = PurePosixPath(name)
    odd = "\0" in name or "\\" in name or not name
    if odd or pure.is_absolute() or ".." in pure.parts:
        raise ReadError(READING, root, f"the name {name!r} leads out of its folder")
    path = root / Path(*pure.parts)
    try:
        real = path.resolve(strict=True)
        base = root.resolve(strict=True)
        if not real.is_relative_to(base):
            raise ReadError(
                READING, root, f"{name} is a link to {real}, which is not in its folder"
            )
        if not stat.S_ISREG(real.stat().st_mode):
            raise ReadError(READING, path, "this is no plain file")
    except FileNotFoundError:
        raise ReadError(READING, path, "no such file") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ReadError(READING, path, str(why or error)) from None
    return path


def has(root: Path, name: str) -> bool:
    """Whether there is anything of this name in the folder."""
    return os.path.lexists(root / name)


def read_file(root: Path, name: str, limit: int = MAX_JSON) -> bytes:
    """The content of a file in the folder.

    Raises
    ------
    ReadError
        If it can't be read, or is larger than the limit.
    """
    path = inside(root, name)
    try:
        size = path.stat().st_size
        if size > limit:
            raise ReadError(READING, path, f"{size:,} bytes is more than it may have")
        with path.open("rb") as file:
            return file.read(limit)
    except OSError as error:
        raise ReadError(READING, path, error.strerror or str(error)) from None


def read_json(root: Path, name: str) -> dict[str, Any]:
    """A JSON object in the folder.

    Raises
    ------
    ReadError
        If it can't be read or is none.
    """
    return json_object(read_file(root, name), root / name)


def json_object(content: bytes | str, path: Path, where: str = "") -> dict[str, Any]:
    """Parse a JSON object; NaN and Infinity, which Python writes, are accepted."""
    import json

    try:
        found = msgspec.json.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ReadError(
                READING, path, f"the JSON is broken or cut ({error})", where=where
            ) from None
    if not isinstance(found, dict):
        raise ReadError(READING, path, "the JSON is no object", where=where)
    return found
