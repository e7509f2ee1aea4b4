"""Where a manifest lies, and reading one.

In a dataset that is a folder it is ``isoscope-manifest.json``; beside one that is a
file, the file's name with ``.isoscope-manifest.json`` after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from isoscope.core.dataset.manifest.forms import SCHEMA, Manifest
from isoscope.core.errors import ReadError
from isoscope.core.jsonform import decode

if TYPE_CHECKING:
    from pathlib import Path

NAME = "isoscope-manifest.json"
DOING = "reading the manifest"
MAX_BYTES = 1 << 28


def place_of(dataset: Path, *, folder: bool) -> Path:
    """Where the manifest of a dataset lies."""
    return dataset / NAME if folder else dataset.with_name(f"{dataset.name}.{NAME}")


def found_for(path: Path) -> Path | None:
    """The manifest of a dataset or the manifest itself; None if there is none."""
    if path.name.endswith(NAME) and path.is_file():
        return path
    place = place_of(path, folder=path.is_dir())
    return place if place.is_file() else None


def read_manifest(path: Path) -> Manifest:
    """Read a manifest, given itself or its dataset.

    Raises
    ------
    ReadError
        If there is none, or it can't be read.
    """
    place = found_for(path) or (path if path.suffix == ".json" else None)
    if place is None:
        problem = "it has no manifest" if path.exists() else "no such file or folder"
        raise ReadError(
            DOING, path, problem, remedy="give a dataset that isoscope export wrote"
        )
    try:
        if place.stat().st_size > MAX_BYTES:
            raise ReadError(DOING, place, f"more than {MAX_BYTES:,} bytes")
        found = decode(place.read_bytes(), Manifest)
    except OSError as error:
        raise ReadError(DOING, place, error.strerror or str(error)) from None
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ReadError(DOING, place, f"no manifest of {SCHEMA}: {error}") from None
    return found
