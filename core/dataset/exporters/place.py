"""Where an export appears: whole, or not at all, also if the process is killed.

All is written into a folder beside the target, which this process holds a lock on. When
it is complete and on the disk, it takes the target's name in one step of the system's:
a rename, or, where something is replaced, an exchange of the two names. A lock ends
with its process, so that what a killed export left behind is known, and removed by the
next export to that place.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.core.errors import UsageError, WriteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: nothing there is known to be left behind
    fcntl = None

ENDING = ".export"
CONTENT = "content"
_AT_FDCWD = -100
_NOREPLACE, _EXCHANGE = 1, 2  # Linux
_SWAP, _EXCL = 2, 4  # macOS


def why(error: OSError) -> str:
    """What the system says, in its words."""
    return (error.strerror or str(error)).lower()


def refuse(
    target: Path, *, overwrite: bool, folder: bool, sources: Iterable[Path | None]
) -> None:
    """Say no, before any work is done, where the target may not be written.

    Raises
    ------
    UsageError
        If it is one of the sources or around one, of another kind, or there already
        without `overwrite`.
    WriteError
        If its folder is not there.
    """
    try:
        exists = os.path.lexists(target)
        for source in sources:
            if source is not None and _within(source, target):
                raise UsageError(
                    f"writing {target}: the source is there, which is never changed"
                )
        if exists and (target.is_symlink() or target.is_dir() != folder):
            kind = "a folder" if folder else "a file"
            raise UsageError(f"writing {target}: what is there is not {kind}")
        if exists and not folder and not target.is_file():
            raise UsageError(f"writing {target}: this is no ordinary file")
        if exists and not overwrite:
            raise UsageError(
                f"writing {target}: it exists already; give --overwrite to replace it"
            )
        if not target.parent.is_dir():
            raise WriteError(f"writing {target}: there is no folder {target.parent}")
    except OSError as error:
        raise WriteError(f"writing {target}: {why(error)}") from None


def _within(source: Path, target: Path) -> bool:
    try:
        return source.resolve().is_relative_to(target.resolve())
    except (OSError, RuntimeError):
        return False


@contextmanager
def workplace(target: Path) -> Iterator[Path]:
    """Give a place to write to, ``content`` in a folder of its own beside the target.

    Whatever is left there when the block ends is removed.

    Raises
    ------
    WriteError
        If there can be none.
    """
    sweep(target)
    folder, lock = _claimed(target)
    try:
        yield folder / CONTENT
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _claimed(target: Path) -> tuple[Path, int | None]:
    for _ in range(16):
        name = f".{target.name[:200]}.{secrets.token_hex(4)}{ENDING}"
        folder = target.with_name(name)
        try:
            folder.mkdir()
            if fcntl is None:
                return folder, None
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:  # swept away before it was locked
            continue
        except OSError as error:
            with suppress(OSError):
                folder.rmdir()
            raise WriteError(f"writing {target}: {why(error)}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if folder.exists():
                return folder, lock
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN):
                return folder, lock  # a file system without locks
        os.close(lock)
    raise WriteError(f"writing {target}: no folder beside it could be kept")


def sweep(target: Path) -> list[Path]:
    """Remove what exports to this place left behind when they were killed."""
    removed: list[Path] = []
    if fcntl is None:
        return removed
    head = f".{target.name[:200]}."
    try:
        found = [
            entry
            for entry in target.parent.iterdir()
            if entry.name.startswith(head)
            and entry.name.endswith(ENDING)
            and len(entry.name) == len(head) + 8 + len(ENDING)
            and entry.is_dir()
            and not entry.is_symlink()
        ]
    except OSError:
        return removed
    for folder in found:
        with suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
                removed.append(folder)
            finally:
                os.close(lock)
    return removed


def settle(content: Path) -> None:
    """Have everything that was written on the disk: files, then their folders."""
    if content.is_dir():
        for folder, _, files in os.walk(content, topdown=False):
            for name in files:
                _sync(Path(folder) / name)
            _sync(Path(folder))
    else:
        _sync(content)


def _sync(path: Path) -> None:
    flags = os.O_RDONLY
    if path.is_dir():
        if not hasattr(os, "O_DIRECTORY"):
            return
        flags |= os.O_DIRECTORY
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def appear(content: Path, target: Path, *, overwrite: bool) -> None:
    """Give the content the target's name; what was there takes the content's.

    Raises
    ------
    UsageError
        If something came to be there meanwhile, without `overwrite`.
    OSError
        If the system refuses.
    """
    exists = os.path.lexists(target)
    if exists and not overwrite:
        raise UsageError(
            f"writing {target}: it exists by now; give --overwrite to replace it"
        )
    if not exists:
        if not _renamed(content, target, exchange=False):
            os.rename(content, target)
    elif not _renamed(content, target, exchange=True):
        if content.is_dir():
            # Without an exchange of names there is a moment without either.
            raise UsageError(
                f"writing {target}: this file system can't exchange two folders in one "
                "step; export to another name"
            )
        os.replace(content, target)
    with suppress(OSError):
        _sync(target.parent)


def _renamed(content: Path, target: Path, *, exchange: bool) -> bool:
    """Rename by the system's own call; False where it has none for this."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        a, b = os.fsencode(content), os.fsencode(target)
        if sys.platform == "linux":
            flag = _EXCHANGE if exchange else _NOREPLACE
            done = library.renameat2(_AT_FDCWD, a, _AT_FDCWD, b, flag)
        elif sys.platform == "darwin":
            done = library.renamex_np(a, b, _SWAP if exchange else _EXCL)
        else:
            return False
    except (OSError, AttributeError, TypeError):
        return False
    if done == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(target))
