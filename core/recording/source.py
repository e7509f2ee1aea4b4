"""The contract between readers and the rest: an opened source that can be indexed.

A source is usable at once: `preview` reads one event by random access before all is
indexed, so that the window has a first frame. `index` then fills `recording` from the
front, in blocks, while other threads read what is already there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.recording.model import Recording

# Called with (events done, events in all); cheap, from the indexing thread.
Progress: TypeAlias = "Callable[[int, int], None]"
# Asked between blocks; True stops the job, keeping what is done.
Cancel: TypeAlias = "Callable[[], bool]"


@runtime_checkable
class Source(Protocol):
    """An opened recording, file or live."""

    @property
    def recording(self) -> Recording:
        """The columnar recording; grows while `index` runs."""
        ...

    @property
    def event_count(self) -> int:
        """Events in the file, known at once."""
        ...

    def preview(self, event: int | None = None) -> Recording | None:
        """Read one Step by random access, as a recording of one row.

        The first Step at or after this event number; None (the default) means the
        file's first. Takes milliseconds and needs no index. The creation events at the
        file's beginning are read with it, since a picture needs their meshes. None if
        there is no such Step.

        Raises
        ------
        ReadError
            If it can't be read.
        """
        ...

    def index(
        self, progress: Progress | None = None, cancelled: Cancel | None = None
    ) -> None:
        """Fill `recording` to the end of the file; once.

        Raises
        ------
        CancelledError
            If `cancelled` said so. What was indexed stays and is valid.
        ReadError
            If the file as a whole can't be read on; what was indexed stays.
        """
        ...

    def close(self) -> None:
        """Let go of the file. The recording stays usable. May be called twice."""
        ...
