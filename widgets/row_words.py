"""What the rows of a recording are called where their numbers are shown.

Environments that tell no native steps have their control steps as the rows, and these
are called rows, as "control" is the number within an episode.
"""

from __future__ import annotations

from typing import Protocol


class HasRows(Protocol):
    """A recording, or a timeline of one."""

    @property
    def row_is(self) -> str:
        """What one row is: ``native step`` or ``control step``."""
        ...


def is_native(rows: HasRows | None) -> bool:
    """Whether they are native steps; so it is said where nothing is known."""
    return rows is None or rows.row_is == "native step"


def row_word(rows: HasRows | None) -> str:
    """In front of a row's number: ``native`` or ``row``."""
    return "native" if is_native(rows) else "row"


def step_words(rows: HasRows | None) -> str:
    """What one row is, in a sentence: ``native step`` or ``row``."""
    return "native step" if is_native(rows) else "row"
