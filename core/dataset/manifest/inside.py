"""The manifest inside a dataset that is one file: there with it, or not at all.

It is a dataset of bytes in the HDF5 file, JSON padded with blanks. Being in the file it
appears in the same step, travels with it, and can belong to no other. The file's digest
is taken with these bytes as zeros, since a file can't hold its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from isoscope.core.dataset.exporters.sinks import Sink
from isoscope.core.dataset.readers.hdf5 import ERRORS, Tree
from isoscope.core.errors import ReadError

if TYPE_CHECKING:
    from pathlib import Path

PLACE = "isoscope/manifest"
FORMAT_BOUNDS = ("v110", "v110")


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes ``start`` .. ``start + length`` of a file."""

    start: int
    length: int


def reserve(path: Path, length: int) -> Extent:
    """Make room for so many bytes in an HDF5 file: zeros, in one piece.

    Raises
    ------
    OSError
        If it can't be written.
    """
    sink = Sink(path, new=False)
    try:
        file = h5py.File(sink, "r+", libver=FORMAT_BOUNDS)
        try:
            zeros = np.zeros(length, np.uint8)
            file.create_dataset(PLACE, data=zeros, track_times=False)
        finally:
            try:
                file.close()
            except ERRORS as error:
                raise (sink.failure or OSError(str(error))) from None
        sink.check()
    finally:
        sink.close()
    found = extent_of(path)
    if found is None or found.length != length:
        raise OSError(f"no room for the manifest could be made in {path.name}")
    return found


def fill(path: Path, extent: Extent, content: bytes) -> None:
    """Put the content where room was made, and blanks after it.

    Raises
    ------
    OSError
        If it can't be written, or is longer than the room.
    """
    if len(content) > extent.length:
        raise OSError(f"{len(content)} bytes of manifest in {extent.length} of room")
    with path.open("r+b") as file:
        file.seek(extent.start)
        file.write(content.ljust(extent.length))


def extent_of(path: Path) -> Extent | None:
    """Where a file's manifest lies in it; None where there is none.

    Raises
    ------
    ReadError
        If it is HDF5, but damaged.
    """
    if not path.is_file() or not _is_hdf5(path):
        return None
    tree = Tree(path)
    try:
        if tree.kind(PLACE) != "dataset":
            return None
        shape, dtype = tree.shape(PLACE)
        if dtype != np.uint8 or len(shape) != 1:
            return None
        with tree.lock:
            start: Any = tree.get(PLACE).id.get_offset()
    except ERRORS as error:
        raise ReadError("reading the manifest", path, str(error), where=PLACE) from None
    finally:
        tree.close()
    size = path.stat().st_size
    if start is None or not 0 <= start <= size - shape[0]:
        return None
    return Extent(int(start), shape[0])


def content_of(path: Path, extent: Extent, most: int) -> bytes:
    """The manifest as JSON.

    Raises
    ------
    OSError
        If it can't be read, or is longer than `most`.
    """
    if extent.length > most:
        raise OSError(f"more than {most:,} bytes")
    with path.open("rb") as file:
        file.seek(extent.start)
        return file.read(extent.length).rstrip(b" \n\0")


def _is_hdf5(path: Path) -> bool:
    try:
        return bool(h5py.is_hdf5(path))
    except ERRORS:
        return False
