"""What is doubtful without being wrong: counted, kept for a while, told, logged."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from isoscope.core.trajectory.events import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.trajectory.events import EventStream
    from isoscope.core.trajectory.keys import TrajectoryKey

KEPT = 1000
LOGGED = 10

log = logging.getLogger(__name__)


class Warned(NamedTuple):
    """One warning: its line, and the chunk that it is about, if it is about one."""

    text: str
    key: TrajectoryKey | None


class Warnings:
    """A collector's warnings, the latest ones.

    Parameters
    ----------
    events
        Where they are told too.

    Attributes
    ----------
    count
        How many there were in all.
    """

    def __init__(self, events: EventStream) -> None:
        self._events = events
        self._kept: deque[Warned] = deque(maxlen=KEPT)
        self.count = 0

    def __iter__(self) -> Iterator[Warned]:
        return iter(list(self._kept))

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, text: str, key: TrajectoryKey | None = None) -> None:
        """Add one. The first few are logged; all are told and counted."""
        self._kept.append(Warned(text, key))
        self.count += 1
        if key is not None:
            self._events.tell(Stage.WARNED, key, 0, 0, text=text)
        if self.count <= LOGGED:
            log.warning("%s", text)
        elif self.count == LOGGED + 1:
            log.warning("further warnings are not logged; collector.warnings has them")
