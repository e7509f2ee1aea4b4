"""The recording that is measured on, unpacked for as long as it is needed."""

from __future__ import annotations

import lzma
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.core.errors import ReadError, UsageError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

# Of the source tree: 2.8 MB that a wheel does not carry.
SAMPLE = Path(__file__).resolve().parents[2] / "tests" / "data" / "cartpole_20k.h5.xz"


@contextmanager
def unpacked(file: Path | None = None) -> Iterator[Path]:
    """Give a recording that can be opened; one packed by xz is unpacked meanwhile.

    Raises
    ------
    UsageError
        If no file is named and this is no source tree.
    ReadError
        If it can't be unpacked.
    """
    packed = SAMPLE if file is None else file
    if file is None and not packed.is_file():
        raise UsageError(
            "the recording to measure on is in the source tree, which this is not; "
            "name one with --file"
        )
    if packed.suffix != ".xz":
        yield packed
        return
    with tempfile.TemporaryDirectory(prefix="isoscope-bench-") as folder:
        path = Path(folder) / packed.stem
        try:
            with lzma.open(packed) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise ReadError("unpacking", packed, one_line(error)) from None
        yield path
