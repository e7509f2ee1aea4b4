"""The answer to a position: a row, and what was chosen on the way."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resolution:
    """The row that a position names.

    Attributes
    ----------
    row
        A native step of the recording.
    said
        One line on what was chosen where the position left a choice; else empty.
    """

    row: int
    said: str = ""
