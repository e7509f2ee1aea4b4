"""What came of a run that is followed is taken in, and told, in turns of its own.

Taking it in and telling it are each as long as a turn of the event loop should be, so
neither comes in the same one as other panels' work.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from isoscope.widgets.turns import InTurn

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtCore import QObject

    from isoscope.core.following.feed import News
    from isoscope.widgets.document import Document


class TakingIn:
    """Takes news into one document and tells its growth; for the GUI thread.

    Parameters
    ----------
    parent
        Lives as long as this.
    document
        Which the news are of; its growth is told from here until the end.
    every_s
        Gives how long it is at least from telling its growth to telling it again.
    """

    def __init__(
        self, parent: QObject, document: Document, every_s: Callable[[], float]
    ) -> None:
        self._document, self._every_s = document, every_s
        self._waiting: deque[tuple[News, Callable[[], None]]] = deque()
        self._told_s = float("-inf")
        self._take = InTurn(parent, self._take_next)
        self._tell = InTurn(parent, self._tell_growth)
        document.growth_later = self._grew

    def take(self, news: News, taken: Callable[[], None]) -> None:
        """Have this taken in, after what came before; `taken` is called then."""
        self._waiting.append((news, taken))
        if not self._take.isActive():
            self._take.start(0)

    def end(self) -> None:
        """Take all in now, and tell it; from now on growth is told as it comes."""
        while self._waiting:
            self._take_next()
        untold = self._tell.isActive()
        self.drop()
        if untold:
            self._document.tell_growth()

    def drop(self) -> None:
        """Take nothing more in."""
        self._waiting.clear()
        self._document.growth_later = None
        for turn in (self._take, self._tell):
            turn.stop()
            turn.deleteLater()

    def _take_next(self) -> None:
        news, taken = self._waiting.popleft()
        taken()
        self._document.take(news)
        if self._waiting:
            self._take.start(0)

    def _grew(self) -> None:
        if not self._tell.isActive():
            wait_s = self._told_s + self._every_s() - time.monotonic()
            self._tell.start(round(max(wait_s, 0.0) * 1000))

    def _tell_growth(self) -> None:
        self._told_s = time.monotonic()
        self._document.tell_growth()
