"""The one timer: while the clock plays, it is told how much time has passed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer

if TYPE_CHECKING:
    from isoscope.core.clock import Clock, ClockState

FRAME_MS = 16
# A window that stood still (moved, resized, a laptop that slept) goes on where it was.
LONGEST_S = 0.5


class Player(QObject):
    """Ticks the clock at up to 60 Hz while it plays, and not at all while it doesn't.

    A frame that takes longer than its time delays the next one and none is queued, so
    playing stays true to time and input is still heard, on a slow machine too.
    """

    def __init__(self, clock: Clock, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._clock = clock
        self._last = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self._tick)
        clock.changed.connect(self._on_clock)

    @property
    def running(self) -> bool:
        """Whether it ticks."""
        return self._timer.isActive()

    def release(self) -> None:
        """Stop for good."""
        self._timer.stop()
        self._clock.changed.disconnect(self._on_clock, missing_ok=True)

    def _on_clock(self, state: ClockState, _old: ClockState) -> None:
        if state.playing and not self._timer.isActive():
            self._last = time.perf_counter()
            self._timer.start()
        elif not state.playing:
            self._timer.stop()

    def _tick(self) -> None:
        now = time.perf_counter()
        passed, self._last = now - self._last, now
        self._clock.tick(min(passed, LONGEST_S))
