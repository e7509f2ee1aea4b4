"""What the rows of a recording are called where their numbers are shown.

Environments that tell no native steps have their control steps as the rows, and these
are called rows, as "control" is the number within an episode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording


def is_native(recording: Recording | None) -> bool:
    """Whether its rows are native steps; so it is said where nothing is known."""
    return recording is None or recording.row_is == "native step"


def row_word(recording: Recording | None) -> str:
    """In front of a row's number: ``native`` or ``row``."""
    return "native" if is_native(recording) else "row"


def step_words(recording: Recording | None) -> str:
    """What one row is, in a sentence: ``native step`` or ``row``."""
    return "native step" if is_native(recording) else "row"
