"""A live source over a recording that the test itself writes; no process, no wire."""

from __future__ import annotations

import threading
import time
from enum import Enum
from typing import TYPE_CHECKING, Any

from isoscope.core.errors import CancelledError
from isoscope.core.live.memory import Memory
from isoscope.core.recording.labelled.reader import LabelledSource
from isoscope.core.recording.labelled.recorder import Recorder
from tests.live.made_run import MadeRun, identity

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Standing(Enum):
    """As `isoscope.core.live.source.Phase` names them."""

    RUNNING = 1
    PAUSED = 2
    LOST = 3
    ENDED = 4
    DIED = 5

    @property
    def over(self) -> bool:
        return self in (Standing.ENDED, Standing.DIED)


class TestSource:
    """Follows a run that goes on as far as `go` says."""

    __test__ = False

    def __init__(self, path: Path, envs: int = 8, sources: int = 2) -> None:
        self.recorder = Recorder(path, identity(envs), flush_s=0.02)
        self.run = MadeRun(self.recorder, envs, sources)
        self.run.go(1)
        self.recorder.flush(10)
        self._reader = LabelledSource(path)
        self.told: dict[str, Any] = {}
        self.last_words, self.stopped, self.whole = "", "", True
        self.left = ""
        self.next: TestSource | None = None  # where this one is left
        self.memory = Memory(1 << 20, 128 << 20)
        self.phase = Standing.RUNNING
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.refuse = ""
        self.closed = False
        self.lost: dict[str, int] = {}
        self._following = threading.Event()

    @property
    def recording(self):
        return self._reader.recording

    @property
    def event_count(self) -> int:
        return self._reader.event_count

    @property
    def dropped(self) -> dict[str, int]:
        return dict(self.lost)

    def set_memory(self, memory_bytes: int) -> None:
        self.memory = Memory(1 << 20, memory_bytes)

    def go(self, turns: int = 1) -> None:
        """Let the run go on, and what it did be in the file."""
        self.run.go(turns)
        self.recorder.flush(10)

    def leave(self, why: str, after: TestSource) -> None:
        """Let its recording stop, and another source be what comes next."""
        self.next, self.stopped = after, why
        self.left = why

    def onward(self) -> TestSource:
        assert self.next is not None
        return self.next

    def end(self, phase: Standing = Standing.ENDED, words: str = "") -> None:
        """Let the run end."""
        self.recorder.close()
        self.last_words, self.phase = words, phase

    def preview(self, event: int | None = None):
        return self._reader.preview(event)

    def index(self, progress=None, cancelled: Callable[[], bool] | None = None) -> None:
        self._reader.index(progress, cancelled)
        over = False
        while not over:
            over = self.phase.over or bool(self.left)
            if self.closed or (cancelled is not None and cancelled()):
                raise CancelledError("watching was stopped")
            if self._reader.refresh() and progress is not None:
                count = len(self.recording)
                progress(count, count)
            time.sleep(0.005)

    def control(self, what: str, answered=None, **arguments: Any) -> None:
        self.asked.append((what, arguments))
        if answered is not None:
            answered(not self.refuse, self.refuse)

    def close(self) -> None:
        self.closed = True
        self._reader.close()
        self.recorder.close()
