"""Keep the index of a file that took long to read, so that the next time is quick.

An index is kept by the file's absolute path and holds its size, its modification time
and a hash of its first and last bytes: where one of them differs, it is not used. One
that is damaged or of another version is not used either, and none of this is an error.
Only what was read the slow way is worth keeping.

The folder is the user's cache folder, or ISOSCOPE_CACHE_DIR; what it may hold is
2 GB, or ISOSCOPE_CACHE_BYTES (0: keep nothing). What was not used for longest goes.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from isoscope.core.recording import cachefile

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording

LIMIT_BYTES = 2_000_000_000
END_BYTES = 1 << 16  # of the file's beginning and of its end, that are hashed
_SUFFIX, _UNFINISHED = ".index", ".part"
_ABANDONED_S = 3600.0  # an unfinished file of this age has no writer any more


@dataclass(frozen=True, slots=True)
class Key:
    """What has to be the same for an index to be used.

    Attributes
    ----------
    path
        Absolute; what is not UTF-8 in it is escaped.
    size, mtime_ns
        Of the file.
    ends
        Hash of its first and last bytes.
    version
        Of the code that made the index.
    """

    path: str
    size: int
    mtime_ns: int
    ends: str
    version: int


def key_of(path: Path, version: int) -> Key:
    """The key of a file as it is now.

    Raises
    ------
    OSError
        If it can't be read.
    """
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        ends = hashlib.blake2b(file.read(END_BYTES), digest_size=16)
        file.seek(max(state.st_size - END_BYTES, 0))
        ends.update(file.read(END_BYTES))
    return Key(
        _text(path),
        state.st_size,
        state.st_mtime_ns,
        ends.hexdigest(),
        version,
    )


class IndexCache:
    """A folder of indexes.

    Parameters
    ----------
    folder
        Made when the first index is kept; the user's own by default.
    limit_bytes
        What it may hold in all.
    """

    def __init__(
        self, folder: Path | None = None, limit_bytes: int | None = None
    ) -> None:
        self.folder = cache_dir() if folder is None else folder
        self.limit_bytes = _default_limit() if limit_bytes is None else limit_bytes

    def _place(self, path: str) -> Path:
        name = hashlib.blake2b(path.encode(), digest_size=16).hexdigest()
        return self.folder / f"{name}{_SUFFIX}"

    def load(self, key: Key, recording: Recording) -> bool:
        """Fill an empty recording from the cache; False if there is no fit index."""
        place = self._place(key.path)
        try:
            with place.open("rb") as file:
                header = cachefile.read_header(file)
                if header.key != asdict(key):
                    return False
                cachefile.read_into(file, header, recording)
        except (OSError, MemoryError):
            return False
        except cachefile.CorruptError:
            with suppress(OSError):
                place.unlink()
            return False
        with suppress(OSError):
            os.utime(place)  # used now: goes last
        return True

    def store(self, key: Key, recording: Recording) -> bool:
        """Keep an index; False if it could not be kept, which is no error."""
        if recording.columns_bytes > self.limit_bytes or recording.labels is not None:
            return False
        place = self._place(key.path)
        part = place.with_name(f"{place.stem}-{secrets.token_hex(4)}{_UNFINISHED}")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with part.open("xb") as file:
                cachefile.write(file, asdict(key), recording)
            os.replace(part, place)
        except OSError:
            with suppress(OSError):
                part.unlink()
            return False
        self.tidy()
        return place.exists()

    def tidy(self) -> None:
        """Drop what was not used for longest, down to the limit."""
        kept: list[tuple[float, int, Path]] = []
        with suppress(OSError):
            for entry in os.scandir(self.folder):
                with suppress(OSError):
                    state = entry.stat()
                    if entry.name.endswith(_SUFFIX):
                        kept.append((state.st_mtime, state.st_size, Path(entry.path)))
                    elif entry.name.endswith(_UNFINISHED):
                        if time.time() - state.st_mtime > _ABANDONED_S:
                            os.unlink(entry.path)
        total = sum(size for _, size, _ in kept)
        for _, size, path in sorted(kept):
            if total <= self.limit_bytes:
                break
            with suppress(OSError):
                path.unlink()
                total -= size


class KeptIndex:
    """The index of one file: looked for before reading it, kept afterwards.

    Parameters
    ----------
    path
        The file.
    version
        Of the code that reads it.
    """

    def __init__(self, path: Path, version: int) -> None:
        self._path = path
        self._version = version
        self._cache = IndexCache()
        self._key: Key | None = None
        # Taken now: a file that changes while it is read is not kept.
        with suppress(OSError):
            self._key = key_of(path, version)

    def fill(self, recording: Recording) -> bool:
        """Fill an empty recording; False if nothing fit is kept."""
        return self._key is not None and self._cache.load(self._key, recording)

    def keep(self, recording: Recording) -> bool:
        """Keep what was read, if the file is still what it was."""
        with suppress(OSError):
            if self._key is not None and self._key == key_of(self._path, self._version):
                return self._cache.store(self._key, recording)
        return False


def _text(path: Path) -> str:
    return os.fsencode(os.path.abspath(path)).decode("utf-8", "backslashreplace")


def cache_dir() -> Path:
    """Where indexes are kept, unless another folder is named."""
    chosen = os.environ.get("ISOSCOPE_CACHE_DIR")
    return Path(chosen or platformdirs.user_cache_path("isoscope")) / "index"


def _default_limit() -> int:
    chosen = os.environ.get("ISOSCOPE_CACHE_BYTES", "")
    return int(chosen) if chosen.isdecimal() else LIMIT_BYTES
