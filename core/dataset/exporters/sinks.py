"""Files written through Python, so that a full disk is an error like any other.

HDF5 does not survive a write that fails: it tries again for ever, or ends the process.
So a `Sink` remembers the first failure, swallows what comes after it, and lets the
library close in peace; then it raises.
"""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import h5py

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMAT_BOUNDS = ("v108", "v110")


class Sink(io.RawIOBase):
    """A file that is written, and read while it is written.

    Parameters
    ----------
    path
        A file that is not there yet; with `new` off, one that is.

    Raises
    ------
    OSError
        If it can't be made; other methods keep their first one in `failure`.
    """

    def __init__(self, path: Path, *, new: bool = True) -> None:
        super().__init__()
        self._file = path.open("x+b" if new else "r+b", buffering=0)
        self.failure: OSError | None = None

    def readable(self) -> bool:
        """Yes."""
        return True

    def writable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move to a place."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Where it is."""
        return self._file.tell()

    def readinto(self, buffer: Any, /) -> int:
        """Read; what isn't there is zero, as for a library whose writing failed."""
        got = self._file.readinto(buffer)
        return got or 0

    def truncate(self, size: int | None = None, /) -> int:
        """Set the length."""
        try:
            return self._file.truncate(size)
        except OSError as error:
            self.failure = self.failure or error
            return size or 0

    def write(self, buffer: Any, /) -> int:
        """Write all of it, or remember why not."""
        view = memoryview(buffer).cast("B")
        total = len(view)
        while len(view) and self.failure is None:
            try:
                view = view[self._file.write(view) :]
            except OSError as error:
                self.failure = error
        return total

    def check(self) -> None:
        """Raise the first failure, if there was one."""
        if self.failure is not None:
            raise self.failure

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


@contextmanager
def hdf5(path: Path) -> Iterator[tuple[Any, Sink]]:
    """A new HDF5 file; raises OSError where it can't be written."""
    sink = Sink(path)
    try:
        file = h5py.File(sink, "w", libver=FORMAT_BOUNDS, track_order=True)
        try:
            yield file, sink
        except BaseException as error:
            if sink.failure is None and not isinstance(error, OSError):
                raise
            raise (sink.failure or error) from None
        finally:
            try:
                file.close()
            except (OSError, RuntimeError, ValueError) as error:
                failed = sink.failure or OSError(str(error))
                raise failed from None
        sink.check()
    finally:
        sink.close()
