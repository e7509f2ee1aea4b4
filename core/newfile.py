"""Write a file for the user: whole or not at all, and never over what they have.

The content goes into a temporary file beside the target, which is renamed when all of
it is there. Whatever goes wrong on the way, the target is as it was before.
"""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from isoscope.core.errors import UsageError, WriteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def same_place(one: Path | None, other: Path | None) -> bool:
    """Whether both are given and name one file, there or not; links are followed."""
    if one is None or other is None:
        return False
    # Unlike Path.resolve, this is silent about links that go in circles.
    return os.path.realpath(one) == os.path.realpath(other)


def refuse_bad_target(
    target: str | Path, *, overwrite: bool, sources: Iterable[str | Path | None] = ()
) -> None:
    """Say no, before any work is done, where the target may not be written.

    Raises
    ------
    UsageError
        If it is one of the `sources` (also under another name), a folder, a device, or
        an existing file without `overwrite`.
    WriteError
        If its folder is not there.
    """
    path = Path(target)
    try:
        exists = path.exists()
        same = exists and any(
            source is not None and Path(source).exists() and path.samefile(source)
            for source in sources
        )
    except OSError as error:
        raise WriteError(f"writing {path}: {_why(error)}") from None
    if same:
        raise UsageError(f"writing {path}: this is the source, which is never changed")
    if path.is_dir():
        raise UsageError(f"writing {path}: this is a folder; name a file in it")
    if exists and not path.is_file():
        raise UsageError(f"writing {path}: this is no ordinary file")
    if exists and not overwrite:
        raise UsageError(
            f"writing {path}: it exists already; give --overwrite to replace it"
        )
    if not path.parent.is_dir():
        raise WriteError(f"writing {path}: there is no folder {path.parent}")


@contextmanager
def new_file(
    target: str | Path,
    *,
    overwrite: bool = False,
    sources: Iterable[str | Path | None] = (),
) -> Iterator[IO[bytes]]:
    """Open the target for writing; it appears, whole, when the block ends well.

    Parameters
    ----------
    target
        Where it shall be.
    overwrite
        Whether a file of that name may be replaced.
    sources
        Files that may not be, even so.

    Raises
    ------
    UsageError, WriteError
        As :func:`refuse_bad_target`, and if writing fails on the way.
    """
    path = Path(target)
    sources = list(sources)
    refuse_bad_target(path, overwrite=overwrite, sources=sources)
    part = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            yield file
        refuse_bad_target(path, overwrite=overwrite, sources=sources)
        os.replace(part, path)
    except OSError as error:
        raise WriteError(f"writing {path}: {_why(error)}") from None
    finally:
        with suppress(OSError):  # a folder that can't be written has no part either
            part.unlink(missing_ok=True)


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
