"""Open a labelled recording's HDF5 file, whatever state its writer left it in.

A file that is being written, or whose writer died, is marked as such; HDF5 opens it
only in its mode for reading what is still written (SWMR). One that is cut is refused
by HDF5 altogether. Reading takes no lock.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import h5py
import numpy as np

from isoscope.core import procfs
from isoscope.core.errors import ReadError, one_line
from isoscope.core.recording.labelled.forms import (
    HEAD_BYTES,
    VERSION,
    superblock,
    version_of,
)
from isoscope.core.recording.labelled.metadata import CHUNKS_BYTES, bound_metadata
from isoscope.core.recording.labelled.sound import Sound
from isoscope.core.recording.writers import find_writer

if TYPE_CHECKING:
    from pathlib import Path

# What h5py lets through of libhdf5's complaints.
H5_ERRORS = (OSError, RuntimeError, ValueError, KeyError, TypeError, MemoryError)
OPENING = "opening"
MAX_ATTRIBUTE = 1 << 16
RECENT_S = 3.0


@dataclass(frozen=True, slots=True)
class Head:
    """What the first bytes say.

    Attributes
    ----------
    marked
        Whether a writer opened it and has not closed it.
    end
        Bytes that it must have.
    size
        Bytes that it has.
    """

    marked: bool
    end: int
    size: int


def read_head(path: Path) -> Head:
    """Read the first bytes.

    Raises
    ------
    ReadError
        If it isn't such a file, or of a version that isn't known.
    """
    try:
        with path.open("rb") as file:
            block = file.read(HEAD_BYTES)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise ReadError(OPENING, path, error.strerror or str(error)) from None
    version = version_of(block)
    if version is None:
        raise ReadError(OPENING, path, "not a labelled recording")
    if version != VERSION:
        raise ReadError(
            OPENING,
            path,
            f"a labelled recording of version {version}, and only {VERSION} is known",
            remedy="update isoscope",
        )
    found = superblock(block)
    if found is None:
        problem = "its HDF5 superblock is damaged"
        if len(block) < HEAD_BYTES:
            problem = f"cut after {size} bytes, before anything was recorded"
        raise ReadError(OPENING, path, problem, remedy="record again")
    return Head(found.marked, found.end, size)


@dataclass(slots=True)
class Opened:
    """An open file, and what is known of its writer.

    Attributes
    ----------
    writer
        The program that is writing it, or None.
    cut
        Whether its writer died, or its end is missing.
    missing
        Bytes that are missing at its end.
    """

    file: h5py.File
    writer: str | None
    cut: bool
    missing: int
    sound: Sound | None = None

    def close(self) -> None:
        """Close it, whatever the library says to that."""
        with suppress(*H5_ERRORS):
            self.file.close()
        if self.sound is not None:
            self.sound.close()


def open_file(path: Path) -> Opened:
    """Open a file for reading.

    Raises
    ------
    ReadError
        If it can't be; one that is cut can perhaps be repaired.
    """
    head = read_head(path)
    missing = max(head.end - head.size, 0)
    writer = writer_of(path) if head.marked else None
    sound: Sound | None = None
    try:
        if writer is not None:
            file = h5py.File(
                path,
                "r",
                libver="latest",
                swmr=True,
                locking=False,
                rdcc_nbytes=CHUNKS_BYTES,
            )
            bound_metadata(file)
            return Opened(file, writer, False, 0)
        if not head.marked and not missing:
            return Opened(h5py.File(path, "r", locking=False), None, False, 0)
        sound = Sound(path)
        return Opened(h5py.File(sound, "r"), None, True, missing, sound)
    except H5_ERRORS as error:
        if sound is not None:
            sound.close()
        raise ReadError(OPENING, path, damage(one_line(error), head)) from None


def damage(problem: str, head: Head) -> str:
    """What is wrong with a file: that it is cut, if it is, else what was met."""
    if head.size < head.end:
        return f"cut: it has {head.size:,} of {head.end:,} bytes"
    return f"damaged: {problem}"


def writer_of(path: Path) -> str | None:
    """The program that is writing a file, or None.

    Where nothing is known of open files (elsewhere than on Linux), a file that was
    changed a moment ago has a writer.
    """
    if procfs.is_there():
        return find_writer(path, thorough=True)
    with suppress(OSError):
        if abs(time.time() - path.stat().st_mtime) < RECENT_S:
            return "another program"
    return None


def attributes(file: h5py.File) -> dict[str, str]:
    """The root group's attributes that are text of fixed length.

    Others are none of a recorder's, and a damaged one can hold up the library for ever.
    """
    out = {}
    for k in range(h5py.h5a.get_num_attrs(file.id)):
        found = h5py.h5a.open(file.id, index=k)
        kind = found.get_type()
        if isinstance(kind, h5py.h5t.TypeStringID) and not kind.is_variable_str():
            if found.shape == () and kind.get_size() <= MAX_ATTRIBUTE:
                value = np.zeros((), f"S{kind.get_size()}")
                found.read(value)
                out[_text(found.name)] = _text(bytes(value[()]))
    return out


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")
