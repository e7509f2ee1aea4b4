"""Bookmarks, kept in the user's data folder: a small file for each recording.

A recording is known by its path, its size and a hash of its first bytes, so another
file under the same name doesn't inherit them. Nothing is written beside the recording.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from isoscope.app.folders import data_dir, write_whole

# msgspec looks the annotation up
from isoscope.widgets.session import Bookmark  # noqa: TC001

if TYPE_CHECKING:
    from pathlib import Path


log = logging.getLogger(__name__)

HEAD_BYTES = 65536


class Sidecar(msgspec.Struct):
    """The file's content; `recording` is there for people who look into it."""

    recording: str
    bookmarks: list[Bookmark]


def key_of(path: Path) -> str:
    """What a recording is known by, from its path, size and first 64 KiB.

    Of a dataset that is a folder, only the path counts: what is in it can't be told
    in so little time.

    Raises
    ------
    OSError
        If it can't be read, or is a pipe or a device, which may be waited for for ever.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise OSError(errno.EINVAL, "no ordinary file", str(path))
    if stat.S_ISDIR(mode):
        return hashlib.sha256(f"folder\n{path.resolve()}".encode()).hexdigest()[:32]
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    digest = hashlib.sha256(head)
    digest.update(f"\n{path.resolve()}\n{path.stat().st_size}".encode())
    return digest.hexdigest()[:32]


def sidecar_of(key: str) -> Path:
    """Where the bookmarks of the recording of this key are."""
    return data_dir() / "bookmarks" / f"{key}.json"


def load(key: str) -> list[Bookmark]:
    """The bookmarks of a recording; none if there is no readable file of them."""
    path = sidecar_of(key)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Sidecar).bookmarks
    except FileNotFoundError:
        return []
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("bookmarks %s were not read: %s", path, error)
        with suppress(OSError):  # they may be worth mending, so keep them
            path.replace(path.with_suffix(".unreadable"))
        return []


def save(key: str, recording: Path, bookmarks: list[Bookmark]) -> None:
    """Write the bookmarks of a recording; without any, the file goes.

    Raises
    ------
    OSError
        If they can't be written; what was there before is still there.
    """
    path = sidecar_of(key)
    if not bookmarks:
        path.unlink(missing_ok=True)
        return
    content = msgspec.json.encode(Sidecar(str(recording), bookmarks))
    write_whole(path, msgspec.json.format(content, indent=1), durable=True)
