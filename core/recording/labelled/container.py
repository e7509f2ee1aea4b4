"""The HDF5 file as its writer sees it: pools, directory, blobs, definitions, journal.

Nothing that was written is ever written anew, except the two journals, which take
turns: HDF5 can't give back the room of a compressed chunk that grew, and a file that is
flushed every second would be mostly holes. So whole blocks of rows go into the pools,
and the rows that wait for a whole block go into a journal.

All datasets are there before anything is written: with SWMR on, none can be added.
Before HDF5 is asked to write, the room for it is reserved, so that a full disk is met
outside of the library, which would not survive it.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from isoscope.core.recording.labelled.forms import (
    CHUNK_BYTES,
    DIRECTORY,
    HEAD_BYTES,
    JOURNALS,
    USER_BLOCK,
    Waiting,
    entry,
    first_bytes,
    pack_chunks,
    pack_journal,
    superblock,
)
from isoscope.core.recording.labelled.metadata import CHUNKS_BYTES, bound_metadata
from isoscope.core.recording.labelled.tables import POOL_NAMES, POOLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from isoscope.core.recording.labelled.tables import Schema

# Every libhdf5 from 1.10 reads it, which is also what SWMR needs.
FORMAT_BOUNDS = ("v110", "v110")
DIRECTORY_ROWS = 256
DEFINITION_CHUNK = 1 << 12
JOURNAL_CHUNK = 1 << 16
RESERVE_BYTES = 1 << 20  # room is reserved in steps of this
# HDF5's own structures of a flush, and what closing needs.
OVERHEAD_BYTES = 1 << 18


class Container:
    """A labelled recording's file, being written.

    Parameters
    ----------
    path
        A file that is not there yet.
    attributes
        Of the root group: text by name.
    live
        Whether others may read it meanwhile (SWMR, and with a journal). Otherwise the
        smaller parts are written at the end, in one piece.
    blob_bytes
        How long the blobs will be, where it isn't live.

    Raises
    ------
    OSError
        If it can't be made, or from any method if it can't be written.
    """

    def __init__(
        self, path: Path, attributes: dict[str, str], *, live: bool, blob_bytes: int = 0
    ) -> None:
        self.path = path
        self.live = live
        self._blob_bytes = blob_bytes
        self._held: dict[str, list[np.ndarray[Any, Any]]] = {}
        self._sequence = 0
        self._length: dict[str, int] = {}
        self._reserved = 0
        # Made exclusively first: h5py's own mode of that kind leaves a stub behind.
        self._descriptor = os.open(
            path,
            os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0),
            0o666,
        )
        self._file: h5py.File | None = None
        try:
            self._reserve(OVERHEAD_BYTES)
            self._file = h5py.File(
                path,
                "w",
                libver=FORMAT_BOUNDS,
                userblock_size=USER_BLOCK,
                locking=False,
                rdcc_nbytes=CHUNKS_BYTES,
            )
            bound_metadata(self._file)
            self._create(attributes)
        except BaseException:
            with suppress(Exception):
                self.close()
            with suppress(OSError):
                path.unlink()
            raise

    def _create(self, attributes: dict[str, str]) -> None:
        assert self._file is not None
        self._reserved = 0  # HDF5 began with an empty file
        self._reserve(OVERHEAD_BYTES)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, first_bytes())
        for name, text in attributes.items():
            # Of fixed length: HDF5 keeps others where no checksum covers them.
            self._file.attrs[name] = np.bytes_(text.encode())
        for pool in POOL_NAMES:
            dtype = np.dtype(POOLS[pool])
            self._file.create_dataset(
                f"pools/{pool}",
                shape=(0,),
                maxshape=(None,),
                chunks=(CHUNK_BYTES // dtype.itemsize,),
                dtype=dtype,
                shuffle=True,
                compression="gzip",
                compression_opts=1,
            )
        if self.live:
            self._growing("directory", DIRECTORY, DIRECTORY_ROWS)
            self._growing("blobs", np.dtype("|u1"), CHUNK_BYTES)
            self._growing("definitions", np.dtype("|u1"), DEFINITION_CHUNK)
            for name in JOURNALS:
                self._growing(name, np.dtype("|u1"), JOURNAL_CHUNK)
        else:
            self._reserve(self._blob_bytes)
            self._file.create_dataset("blobs", shape=(self._blob_bytes,), dtype="|u1")
            self._held = {"directory": [], "definitions": []}
        self._file.flush()
        if self.live:
            self._file.swmr_mode = True

    def _growing(self, name: str, dtype: np.dtype[Any], rows: int) -> None:
        assert self._file is not None
        self._file.create_dataset(
            name, shape=(0,), maxshape=(None,), chunks=(rows,), dtype=dtype
        )

    # -- room --

    def _end(self) -> int:
        return 0 if self._file is None else int(self._file.id.get_filesize())

    def _reserve(self, more: int) -> None:
        """Make sure that there is room for so many bytes more.

        Raises
        ------
        OSError
            If there isn't; nothing was written.
        """
        needed = self._end() + more + OVERHEAD_BYTES
        if needed <= self._reserved:
            return
        if hasattr(os, "posix_fallocate"):
            wanted = needed if not self.live else needed + RESERVE_BYTES
            try:
                os.posix_fallocate(self._descriptor, 0, wanted)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                    raise
            else:
                self._reserved = wanted
                return
        state = os.statvfs(self.path) if hasattr(os, "statvfs") else None
        if (
            state is not None
            and state.f_bavail * state.f_frsize < more + OVERHEAD_BYTES
        ):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    # -- writing --

    def _append(self, name: str, values: np.ndarray[Any, Any]) -> int:
        """Append to a dataset that has no filter; returns where it begins."""
        assert self._file is not None
        at = self._length.get(name, 0)
        if name in self._held:
            self._held[name].append(values)
        elif len(values):
            dataset = self._file[name]
            if self.live:
                dataset.resize((at + len(values),))
            dataset[at : at + len(values)] = values
            dataset.flush()
            self._length[name] = at + len(values)
        return at

    def add_definitions(self, framed: bytes) -> None:
        """Append framed definitions."""
        self._reserve(len(framed) + DEFINITION_CHUNK)
        self._append("definitions", np.frombuffer(framed, np.uint8))

    def add_blobs(self, content: bytes) -> int:
        """Append bytes to the blobs; returns where they begin."""
        self._reserve(len(content) + CHUNK_BYTES)
        return self._append("blobs", np.frombuffer(content, np.uint8))

    def add_blocks(
        self, blocks: Iterable[tuple[int, Schema, int, np.ndarray[Any, Any]]]
    ) -> None:
        """Write blocks: table, its schema, its first row's number, the rows."""
        assert self._file is not None
        entries: list[tuple[int, ...]] = []
        touched: set[str] = set()
        for table, schema, first, rows in blocks:
            for pool, flat in schema.streams(rows):
                chunks = list(pack_chunks(flat))
                self._reserve(sum(map(len, chunks)))
                dataset = self._file[f"pools/{pool}"]
                step = CHUNK_BYTES // flat.dtype.itemsize
                at = self._length.get(pool, 0)
                dataset.resize((at + step * len(chunks),))
                for k, chunk in enumerate(chunks):
                    dataset.id.write_direct_chunk((at + k * step,), chunk)
                self._length[pool] = at + step * len(chunks)
                touched.add(pool)
                place = POOL_NAMES.index(pool)
                entries.append(entry(table, place, first, len(rows), at))
        for pool in touched:
            self._file[f"pools/{pool}"].flush()
        if entries:
            # Only now: the directory speaks of nothing that isn't there.
            self._reserve(DIRECTORY.itemsize * (len(entries) + DIRECTORY_ROWS))
            self._append("directory", np.array(entries, DIRECTORY))

    def write_journal(self, lengths: Sequence[int], waiting: Iterable[Waiting]) -> None:
        """Write the tables' lengths and the rows that are in no block yet.

        Replaces the journal before last.
        """
        assert self._file is not None
        self._sequence += 1
        content = pack_journal(self._sequence, lengths, waiting)
        name = JOURNALS[self._sequence % len(JOURNALS)]
        length = self._length.get(name, 0)
        if len(content) > length:
            grown = -(-len(content) // JOURNAL_CHUNK) * JOURNAL_CHUNK
            self._reserve(grown - length)
            self._file[name].resize((grown,))
            self._length[name] = grown
        self._file[name][: len(content)] = np.frombuffer(content, np.uint8)
        self._file[name].flush()

    def close(self) -> None:
        """Close the file; what was reserved in vain is given back."""
        file, self._file = self._file, None
        try:
            if file is not None:
                self._write_held(file)
                file.close()
                self._give_back()
        finally:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def _write_held(self, file: h5py.File) -> None:
        held, self._held = self._held, {}
        for name, parts in held.items():
            whole = np.concatenate(parts) if parts else np.zeros(0, DIRECTORY)
            self._file = file
            self._reserve(whole.nbytes)
            self._file = None
            form: dict[str, Any] = {}
            if len(whole):
                form = {"chunks": (len(whole),), "compression": "gzip"}
            file.create_dataset(name, data=whole, **form)

    def _give_back(self) -> None:
        """Cut off what was reserved after the end of the HDF5 file."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        found = superblock(os.read(self._descriptor, HEAD_BYTES))
        if found is not None and os.fstat(self._descriptor).st_size > found.end:
            os.ftruncate(self._descriptor, found.end)
