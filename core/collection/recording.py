"""Records a collecting run by the tap: its environments, and the life of its chunks."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from isoscope.core import tap
from isoscope.core.newfile import refuse_bad_target
from isoscope.core.recording.labelled import records as r
from isoscope.core.tap.adapters.kinds import innermost, is_mochi_env, is_scene_env
from isoscope.core.trajectory.events import ChunkEvent, Told

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

    Raises
    ------
    UsageError, WriteError
        If the file may not be written there.
    """

    def __init__(self, file: Path, name: str, *, overwrite: bool = False) -> None:
        refuse_bad_target(file, overwrite=overwrite)
        self._file, self._name, self._overwrite = file, name, overwrite
        self._count = 0
        self._began = False

    def watch(self, envs: Any) -> Any:
        """The environments with a tap; the first ones open the file.

        They are numbered in the order of these calls, as the slots of chunks are,
        whoever is reset first. Those that have native steps are watched one by one.

        Raises
        ------
        UsageError, WriteError
            If this process has a tap already, or the file can't be written.
        """
        first, self._count = self._count, self._count + int(envs.num_envs)
        for at, env in enumerate(getattr(innermost(envs), "envs", ())):
            if is_scene_env(env) or is_mochi_env(env):
                self._attach(env, first + at)
        return self._attach(envs, first)

    def _attach(self, env: Any, index: int) -> Any:
        overwrite = self._overwrite and not self._began
        watched = tap.attach(
            env, self._file, self._name, index=index, overwrite=overwrite
        )
        self._began = True
        return watched

    def listen(self, events: EventStream) -> None:
        """Record every event of a collector from now on."""
        session = tap.current()
        if session is not None:
            events.listen().queue = _Recorded(session)

    def close(self) -> None:
        """End the recording, if it has begun."""
        if self._began:
            self._began = False
            tap.detach()


class _Recorded(deque[Told]):
    """A listener's queue that records events as they are told, and keeps none."""

    def __init__(self, session: TapSession) -> None:
        super().__init__(maxlen=0)
        self._session = session

    def append(self, told: Told) -> None:
        """Record an event."""
        with self._session.guard:
            record_chunk(self._session, ChunkEvent(*told))

    def extend(self, told: Iterable[Told]) -> None:
        """Record some events."""
        for each in told:
            self.append(each)


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
