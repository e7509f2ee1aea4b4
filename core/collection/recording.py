"""Records a collecting run by the tap: its environments, and the life of its chunks."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from isoscope.core import tap
from isoscope.core.recording.labelled import records as r
from isoscope.core.trajectory.events import ChunkEvent

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from isoscope.core.tap.session import TapSession
    from isoscope.core.trajectory.events import EventStream


class RunRecorder:
    """One recording of a whole run, environments and chunks.

    Parameters
    ----------
    file
        ``*.isoscope.h5``.
    name
        The run's title.
    overwrite
        Whether it may replace a file.
    """

    def __init__(self, file: Path, name: str, *, overwrite: bool = False) -> None:
        self._options = {"record": file, "name": name, "overwrite": overwrite}

    def watch(self, envs: Any) -> Any:
        """The environments with a tap; the first ones open the file.

        Raises
        ------
        WriteError
            If that can't be written.
        """
        watched = tap.attach(envs, **self._options)
        self._options["overwrite"] = False
        return watched

    def listen(self, events: EventStream) -> None:
        """Record every event of a collector from now on."""
        session = tap.current()
        if session is not None:
            events.listen().queue = _Recorded(session)

    @staticmethod
    def close() -> None:
        """End the recording."""
        tap.detach()


class _Recorded(deque[ChunkEvent]):
    """A listener's queue that records events as they are told, and keeps none."""

    def __init__(self, session: TapSession) -> None:
        super().__init__(maxlen=0)
        self._session = session

    def append(self, event: ChunkEvent) -> None:
        """Record an event."""
        with self._session.guard:
            record_chunk(self._session, event)

    def extend(self, events: Iterable[ChunkEvent]) -> None:
        """Record some events."""
        for event in events:
            self.append(event)


def record_chunk(session: TapSession, event: ChunkEvent) -> None:
    """Put an event of a collector into a tap's recording."""
    if not session.on:
        return
    key = event.key
    more = {"output": event.output, "ranks": list(event.ranks), "text": event.text}
    session.recorder.chunk(
        r.ChunkEvent(
            state=event.stage.value,
            step=key.step_id,
            epoch=key.epoch_id,
            rank=key.env_rank,
            stage=key.stage_id,
            chunk=key.chunk_id,
            time_s=event.at_s,
            first_slot=event.first_row,
            stop_slot=event.first_row + event.rows,
            wall_ns=time.time_ns(),
            record={name: value for name, value in more.items() if value} or None,
        )
    )
