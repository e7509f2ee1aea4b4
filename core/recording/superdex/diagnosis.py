"""Why a file can't be opened as a recording, in plain words.

libhdf5 says "bad object header version number" of a file whose writer was killed, and
"truncated file" of a copy that broke off. People want to know which of these it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.core.recording.superdex.superblock import Superblock, parse
from isoscope.core.recording.writers import find_writer

if TYPE_CHECKING:
    from pathlib import Path

HEAD_BYTES = 4096
SMALLEST = 96  # bytes: a superblock of version 0
_UNKNOWN_END = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Condition:
    """What state a file is in, seen without the HDF5 library.

    Attributes
    ----------
    block
        The superblock, or None where it can't be made out.
    size
        Bytes that are there.
    rooted
        Whether there is an object header where the root group's should be.
    writer
        The program that has it open for writing, or None.
    """

    block: Superblock | None
    size: int
    rooted: bool
    writer: str | None

    @property
    def cut(self) -> bool:
        """Whether bytes are missing at its end."""
        block = self.block
        return block is not None and self.size < block.end != _UNKNOWN_END

    @property
    def unfinished(self) -> bool:
        """Whether its writer never came to closing it."""
        block = self.block
        if block is None:
            return False
        # A writer keeps the first bytes for last: those of a killed one tell of
        # fewer bytes than there are.
        early = block.end < self.size or not self.rooted
        return block.marked_as_written or (early and not self.cut)

    def problem(self, library: str) -> str:
        """What is wrong with it; `library` is what libhdf5 said."""
        if self.writer is not None:
            return f"{self.writer} is still writing it"
        if self.block is None and self.size < SMALLEST:
            return f"the file is cut: only {self.size} bytes are there"
        if self.block is None:
            return f"its first bytes are damaged ({library})"
        if self.unfinished:
            return "its writer died before finishing it"
        if self.cut:
            share = 100 * self.size // self.block.end
            return (
                f"the file is cut: {self.size} of {self.block.end} bytes "
                f"({share} %) are there"
            )
        return f"the file is damaged ({library})"

    def remedy(self) -> str:
        """What the user can do."""
        if self.writer is not None:
            return "open it again when that program has closed it"
        if self.unfinished:
            return (
                "nothing in it can be read; record again, and call stop_recording "
                "(close the file) before the program ends"
            )
        if self.cut:
            return "copy it again from where it came, whole"
        return "take another copy of the file"


def condition(path: Path, *, thorough: bool = False) -> Condition:
    """Look at a file's first bytes, its length and who writes it.

    Raises
    ------
    OSError
        If it can't be read.
    """
    with path.open("rb") as file:
        block = parse(file.read(HEAD_BYTES))
        size = file.seek(0, 2)
        header = b""
        if block is not None and block.root < size:
            file.seek(block.root)
            header = file.read(4)
    rooted = header[:1] == b"\x01" or header == b"OHDR"
    return Condition(block, size, rooted, find_writer(path, thorough=thorough))
