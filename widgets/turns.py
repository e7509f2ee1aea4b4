"""Panels that are drawn anew take turns, so that what waits behind them waits for one.

Each panel of a live run has work of some milliseconds now and then. Where all of it
happens to fall into one turn of the event loop, a key or a click waits for the sum.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QCoreApplication, QObject, QTimer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LATE_S = 0.15  # work in parts that is not done by then is done in larger ones
LARGER = 2.0  # times as large at most
OVERDUE_S = 1.0  # later than that turns are so rare that larger ones hold up nobody
PAUSE_MS = 3  # after each, for what it has painted and what waits


def go_on(parts: Iterator[None], begun_s: float, slice_s: float) -> bool:
    """Do the next parts of a piece of work; whether that was all of it.

    Parameters
    ----------
    begun_s
        When it was begun, by `time.perf_counter`. Where turns come rarely, since the
        machine has other things to do, each does more the longer it has taken: else
        what is shown would lag behind more and more.
    slice_s
        How long to go on, in this thread's own time: what others take is none of it.
        A part that would probably take longer than what is left of it waits for the
        next turn.
    """
    late_s = time.perf_counter() - begun_s
    most = LARGER if late_s < OVERDUE_S else late_s / LATE_S
    slice_s *= min(max(1.0, late_s / LATE_S), most)
    began = before = time.thread_time()
    longest_s = 0.0
    for _ in parts:
        now = time.thread_time()
        longest_s, before = max(longest_s, now - before), now
        if now - began + longest_s > slice_s:
            return False
    return True


class InParts:
    """A panel's picture that is made a little at a time, and what making it costs.

    Attributes
    ----------
    rest
        What of it is still to be made; None when it is done.
    pause_ms
        How long to wait before the next: what costs much is not made so often that
        nothing else gets a turn.
    slice_s
        How long to go on in one turn; see `go_on`.
    """

    def __init__(self, slice_s: float, least_ms: int) -> None:
        self.rest: Iterator[None] | None = None
        self.pause_ms = least_ms
        self.slice_s, self._least_ms = slice_s, least_ms
        self._spent_s = self._begun_s = 0.0

    def work(self, begin: Callable[[], None]) -> None:
        """Begin a picture, which may set `rest`, or go on with the one begun."""
        before = time.thread_time()  # waiting for others is none of its cost
        if self.rest is None:
            self._spent_s, self._begun_s = 0.0, time.perf_counter()
            begin()
        if self.rest is not None and go_on(self.rest, self._begun_s, self.slice_s):
            self.rest = None
        self._spent_s += time.thread_time() - before
        self.pause_ms = max(self._least_ms, round(10 * 1000 * self._spent_s))


class InTurn(QObject):
    """A single-shot timer whose call is never made in the same turn as another's.

    Parameters
    ----------
    parent
        Lives as long as this, and so does what is called.
    call
        What to do.
    within_ms
        How long after `start`, unless that says it; a little later where others are
        before it.
    """

    def __init__(
        self, parent: QObject, call: Callable[[], object], within_ms: int = 0
    ) -> None:
        super().__init__(parent)
        self._call = call
        self._waiting = False
        self._timer = QTimer(self, singleShot=True, interval=within_ms)
        self._timer.timeout.connect(self._join)

    def isActive(self) -> bool:  # noqa: N802 named as a QTimer's, which it stands in for
        """Whether the call is still to come."""
        return self._waiting or self._timer.isActive()

    def setInterval(self, within_ms: int) -> None:  # noqa: N802
        """How long after the next `start`; what was started already isn't put off."""
        if self._timer.isActive():
            return  # Qt would begin to count anew
        self._timer.setInterval(within_ms)

    def start(self, within_ms: int | None = None) -> None:
        """Have it called, once, this long from now."""
        if self._waiting:
            return  # it comes next anyway
        if within_ms is None:
            self._timer.start()
        else:
            self._timer.start(within_ms)

    def stop(self) -> None:
        """Have it not called after all."""
        self._waiting = False
        self._timer.stop()

    def _join(self) -> None:
        self._waiting = True
        _line().join(self)

    def take(self) -> bool:
        """Make the call, if it is still wanted; whether it was."""
        wanted, self._waiting = self._waiting, False
        if wanted:
            self._call()
        return wanted


class _Line(QObject):
    """Those whose time has come, the first first."""

    def __init__(self, parent: QObject | None) -> None:
        super().__init__(parent)
        self._waiting: deque[InTurn] = deque()
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self._next)

    def join(self, one: InTurn) -> None:
        """Take it in; it is called at once if nobody was called just now."""
        self._waiting.append(one)
        if not self._pause.isActive():
            self._next()

    def _next(self) -> None:
        while self._waiting:
            one = self._waiting.popleft()
            if not shiboken6.isValid(one):
                continue  # its panel is gone
            self._pause.start()  # before: what it shows may run an event loop
            if one.take():
                return
            self._pause.stop()


_lines: list[_Line] = []


def _line() -> _Line:
    """The one line of this application."""
    if not _lines or not shiboken6.isValid(_lines[0]):
        _lines[:] = [_Line(QCoreApplication.instance())]
    return _lines[0]
