"""How often a window that follows a run is painted: not more than it can afford.

Whatever changes in a window with OpenGL in it has all of the window put together anew,
where OpenGL is drawn by the processor at a cost that the run, which steps on the same
one, has to do without. So what a run changes waits, to be painted together, as long as
the last painting cost; what the user does is shown at once.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject

from isoscope.widgets.document import Phase
from isoscope.widgets.turns import InTurn

if TYPE_CHECKING:
    from PySide6.QtGui import QWindow
    from PySide6.QtWidgets import QMainWindow

    from isoscope.widgets.session import Session

SHARE = 0.1  # of the time that painting may take, as long as it looks alive
LEAST_S, MOST_S = 0.04, 0.17  # from one painting to the next
NEW = 0.25  # how much the last painting counts in what one costs
TOUCHED_S = 0.5  # after the user's last doing, all is painted at once
DOINGS = frozenset(
    {
        QEvent.Type.KeyPress,
        QEvent.Type.KeyRelease,
        QEvent.Type.MouseButtonPress,
        QEvent.Type.MouseButtonRelease,
        QEvent.Type.MouseMove,
        QEvent.Type.TabletMove,
        QEvent.Type.TouchBegin,
        QEvent.Type.TouchUpdate,
        QEvent.Type.Wheel,
    }
)


class Pacing(QObject):
    """Puts requests to paint off that come too soon after the last one.

    Parameters
    ----------
    window
        Which asks `puts_off` of each request to paint it that Qt posts.
    session
        Whose active document says whether a run is followed.

    Attributes
    ----------
    cost_s
        What painting takes lately, with what OpenGL does meanwhile.
    """

    def __init__(self, window: QMainWindow, session: Session) -> None:
        super().__init__(window)
        self._window, self._session = window, session
        self.cost_s = 0.0
        self._next_s = self._touched_s = float("-inf")
        self._painting = False
        self._turn = InTurn(self, self._paint)
        self._watched: QWindow | None = None

    @property
    def every_s(self) -> float:
        """How long it is from one painting to the next, at least."""
        return min(max(self.cost_s / SHARE, LEAST_S), MOST_S)

    @property
    def waiting(self) -> bool:
        """Whether something is still to be painted."""
        return self._turn.isActive()

    def watch(self) -> None:
        """Hear of what the user does to the window; once it is shown."""
        handle = self._window.windowHandle()
        if handle is not self._watched:
            self._watched = handle
            handle.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Note that the user did something, and let what waits be painted."""
        if event.type() in DOINGS:
            self._touched_s = time.perf_counter()
            if self._turn.isActive():
                self._turn.stop()
                self._turn.start(0)
        return False

    def puts_off(self) -> bool:
        """Whether a request to paint is answered later; else it is to be done now."""
        if self._painting:
            return False
        now = time.perf_counter()
        if not self._follows() or now - self._touched_s < TOUCHED_S:
            self._turn.stop()
            return False
        if not self._turn.isActive():
            self._turn.start(round(max(self._next_s - now, 0.0) * 1000))
        return True

    def _follows(self) -> bool:
        document = self._session.active
        live = document is not None and document.phase is Phase.LIVE
        return live and not self._session.clock.state.playing

    def _paint(self) -> None:
        begun = time.perf_counter()
        self._painting = True
        try:
            QCoreApplication.sendEvent(self._window, QEvent(QEvent.Type.UpdateRequest))
        finally:
            self._painting = False
        spent_s = time.perf_counter() - begun
        self.cost_s += NEW * (spent_s - self.cost_s)
        self._next_s = begun + self.every_s
