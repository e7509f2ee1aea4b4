"""Keeps rounds to a pace, and measures the pace that was kept."""

from __future__ import annotations

import time
from collections import deque

LATE_S = 0.25  # beyond it a round that came too late is not caught up with
WINDOW_S = 1.0


class Pacer:
    """When the next round is due, and how fast the last ones came.

    Rounds are due at fixed times, not so long after the one before: what one took too
    long, or a sleep lasted too long, the next ones make up for.
    """

    def __init__(self) -> None:
        self._due_s: float | None = None
        self._period_s: float | None = None
        self._done: deque[float] = deque(maxlen=4096)

    def rest_s(self, period_s: float | None) -> float:
        """How long to wait after a round, [s].

        Parameters
        ----------
        period_s
            From round to round; None for as fast as can be.
        """
        now = time.perf_counter()
        self._done.append(now)
        if period_s is None:
            self._due_s = None
            return 0.0
        if self._due_s is None or period_s != self._period_s:
            self._due_s, self._period_s = now, period_s
        self._due_s += period_s
        if now - self._due_s > max(LATE_S, period_s):
            self._due_s = now
        return max(self._due_s - now, 0.0)

    def begin_anew(self) -> None:
        """Time has passed that is not to be caught up with: a pause."""
        self._due_s = None
        self._done.clear()

    @property
    def rate_hz(self) -> float | None:
        """Rounds a second, over the last second or so; None where there were none."""
        done, now = list(self._done), time.perf_counter()
        recent = [at for at in done if now - at <= WINDOW_S]
        if len(recent) < 2:
            recent = done[-2:]
        if len(recent) < 2 or recent[-1] <= recent[0]:
            return None
        return (len(recent) - 1) / (recent[-1] - recent[0])
