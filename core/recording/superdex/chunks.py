"""Tell a chunk that gives fewer bytes than it should.

libhdf5 does not look at how many bytes a chunk's filters gave, and fills the rest of a
short one with whatever lies in memory. Chunks of a damaged file (an address of another
dataset's chunk, a mask that leaves filters out) would so be made up, and differently
each time. Source: HDF5 File Format Specification 3.0, section IV.A.2.l (filter
pipeline), and the order in which the library undoes filters: from the last.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from h5py import h5z

if TYPE_CHECKING:
    from h5py import h5d

_CHECKSUM = 4  # bytes that fletcher32 adds
# Filters that keep the number of bytes.
_SAME = frozenset((h5z.FILTER_SHUFFLE,))


def short_chunk(dataset: h5d.DatasetID, itemsize: int) -> str:
    """What is wrong with the first chunk that is too short; ``""`` if none is.

    `itemsize` is that of the dataset's type in the file, in bytes. Chunks through
    filters that are not known here are not judged.

    Raises
    ------
    OSError, RuntimeError or ValueError
        From libhdf5, if the chunks can't be listed or read.
    """
    recipe = dataset.get_create_plist()
    expected = itemsize
    for length in recipe.get_chunk():
        expected *= int(length)
    filters = [recipe.get_filter(i)[0] for i in range(recipe.get_nfilters())]
    for info in _chunks(dataset):
        # A bit of the mask says that a filter was left out when this was written.
        applied = [f for i, f in enumerate(filters) if not info.filter_mask >> i & 1]
        given = info.size
        if h5z.FILTER_DEFLATE in applied:
            _, raw = dataset.read_direct_chunk(info.chunk_offset)
            given = _undone(raw, applied, expected)
        elif h5z.FILTER_FLETCHER32 in applied:
            given -= _CHECKSUM
        known = {*_SAME, h5z.FILTER_DEFLATE, h5z.FILTER_FLETCHER32}
        if given is not None and set(applied) <= known and given < expected:
            return f"chunk gives {max(given, 0)} of {expected} bytes"
    return ""


def _chunks(dataset: h5d.DatasetID) -> list[h5d.StoreInfo]:
    found: list[h5d.StoreInfo] = []
    dataset.chunk_iter(found.append)
    return found


def _undone(raw: bytes, applied: list[int], expected: int) -> int | None:
    """Bytes that a chunk gives; None where the library will find out by itself."""
    content = bytes(raw)
    for applied_filter in reversed(applied):
        if applied_filter == h5z.FILTER_FLETCHER32:
            content = content[:-_CHECKSUM]
        elif applied_filter == h5z.FILTER_DEFLATE:
            try:
                content = zlib.decompressobj().decompress(content, expected + 1)
            except zlib.error:
                return None
        elif applied_filter not in _SAME:
            return None
    return len(content)
