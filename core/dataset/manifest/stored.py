"""Where a manifest lies, and reading one.

In a dataset that is a folder it is ``isoscope-manifest.json``; in one that is a file it
is inside of it, see `isoscope.core.dataset.manifest.inside`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from isoscope.core.dataset.manifest.forms import SCHEMA, Manifest
from isoscope.core.dataset.manifest.inside import content_of, extent_of
from isoscope.core.errors import ReadError
from isoscope.core.jsonform import decode

if TYPE_CHECKING:
    from pathlib import Path

NAME = "isoscope-manifest.json"
DOING = "reading the manifest"
MAX_BYTES = 1 << 28


def place_of(dataset: Path, *, folder: bool) -> Path:
    """The file in which the manifest of a dataset lies."""
    return dataset / NAME if folder else dataset


def digest_of(path: Path) -> str | None:
    """The SHA-256 of a dataset's manifest; None where it has none.

    Raises
    ------
    ReadError
        If it can't be read.
    """
    found = _content(path)
    return None if found is None else hashlib.sha256(found).hexdigest()


def read_manifest(path: Path) -> Manifest:
    """Read a manifest, given itself as JSON or its dataset.

    Raises
    ------
    ReadError
        If there is none, or it can't be read.
    """
    content = _content(path)
    if content is None:
        problem = "it has no manifest" if path.exists() else "no such file or folder"
        raise ReadError(
            DOING, path, problem, remedy="give a dataset that isoscope export wrote"
        )
    try:
        return decode(content, Manifest)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ReadError(DOING, path, f"no manifest of {SCHEMA}: {error}") from None


def _content(path: Path) -> bytes | None:
    place = path / NAME if path.is_dir() else path
    try:
        if not place.is_file():
            return None
        if path.is_dir() or path.suffix == ".json":
            if place.stat().st_size > MAX_BYTES:
                raise ReadError(DOING, place, f"more than {MAX_BYTES:,} bytes")
            return place.read_bytes()
        extent = extent_of(path)
        return None if extent is None else content_of(path, extent, MAX_BYTES)
    except OSError as error:
        raise ReadError(DOING, place, error.strerror or str(error)) from None
