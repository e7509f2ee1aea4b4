"""The first look at a file, in a worker thread: open, one step, bookmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.app import bookmarks
from isoscope.core.errors import ReadError
from isoscope.core.recording.model import Problem, Recording
from isoscope.core.recording.registry import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.source import Cancel, Progress, Source
    from isoscope.widgets.session import Bookmark


@dataclass(frozen=True, slots=True)
class Opened:
    """What the first look found."""

    source: Source
    preview: Recording | None
    key: str
    bookmarks: list[Bookmark]


def first_look(path: Path) -> Opened:
    """Open a recording and read one step of it; takes milliseconds.

    Raises
    ------
    ReadError
        If it can't be read.
    """
    source = open_source(path)
    try:
        preview = source.preview()
        key = bookmarks.key_of(path)
    except OSError as error:
        source.close()
        problem = error.strerror or str(error)
        raise ReadError("opening", path, problem) from None
    except BaseException:
        source.close()
        raise
    return Opened(source, preview, key, bookmarks.load(key))


class NoSource:
    """The source of a document that could not be opened: it holds nothing.

    It keeps the failure as a problem of its recording, so that lists show it where
    they show the other problems.
    """

    def __init__(self, path: Path, error: str) -> None:
        self.recording = Recording(path, "")
        self.recording.problems.append(Problem(error, severity="error"))

    @property
    def event_count(self) -> int:
        """None."""
        return 0

    def preview(self, event: int | None = None) -> Recording | None:
        """Nothing to see."""
        return None

    def index(
        self, progress: Progress | None = None, cancelled: Cancel | None = None
    ) -> None:
        """Nothing to index."""

    def close(self) -> None:
        """Nothing to let go of."""
