"""The timer that lets the clock move: it runs only while something plays."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.clock import Clock, ClockState

INTERVAL_MS = 16
# After a stall (a busy window, a closed lid) play on from there, rather than jump.
LONGEST_S = 0.25


class Ticker(QObject):
    """Calls `clock.tick` with the time that has really passed.

    Parameters
    ----------
    clock
        What to drive.
    now
        Seconds that never go back; tests give their own.
    """

    def __init__(
        self,
        clock: Clock,
        parent: QObject | None = None,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(parent)
        self.clock = clock
        self._now = now
        self._last = now()
        self.timer = QTimer(self)
        self.timer.setTimerType(Qt.TimerType.PreciseTimer)
        self.timer.setInterval(INTERVAL_MS)
        self.timer.timeout.connect(self.tick)

    def follow(self, state: ClockState) -> None:
        """Run while the clock plays, and only then."""
        if state.playing and not self.timer.isActive():
            self._last = self._now()
            self.timer.start()
        elif not state.playing:
            self.timer.stop()

    def tick(self) -> None:
        """Let the time since the last tick pass."""
        now = self._now()
        passed, self._last = now - self._last, now
        self.clock.tick(min(passed, LONGEST_S))
