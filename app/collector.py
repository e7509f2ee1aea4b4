"""Python's cyclic garbage is collected in the GUI thread only.

The collector runs in whichever thread happens to allocate, and what it finds may hold
widgets, pixmaps and graphics items, which Qt lets nobody but the GUI thread destroy:
found in a worker thread, they take the program down. So the automatic collection is
off while there are worker threads, and a timer does the same by the same thresholds.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

LOOK_EVERY_MS = 100


class Collector(QObject):
    """Collects in the thread that made it, until it is released."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._automatic = gc.isenabled()
        gc.disable()
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_EVERY_MS)
        self._timer.timeout.connect(self.look)
        self._timer.start()

    def look(self) -> None:
        """Collect the oldest generation that is due, and the younger ones with it."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        due = [
            generation
            for generation, (count, limit) in enumerate(
                zip(counts, thresholds, strict=True)
            )
            if limit and count > limit
        ]
        if due:
            gc.collect(max(due))

    def release(self) -> None:
        """Leave it to Python again."""
        self._timer.stop()
        if self._automatic:
            gc.enable()
