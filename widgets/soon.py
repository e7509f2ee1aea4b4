"""Do something once, soon: before the next frame, however often it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot

if TYPE_CHECKING:
    from collections.abc import Callable


class Soon(QObject):
    """Gathers requests of one turn of the event loop into one call.

    A timer of 0 ms fires only after the pending frame has been painted, so what it
    changes costs a second frame, and composing a window with OpenGL in it is dear.
    This posts itself an event, which Qt delivers before it paints.

    Parameters
    ----------
    parent
        Lives as long as this, and so does what is called.
    call
        What to do.
    """

    _asked = Signal()

    def __init__(self, parent: QObject, call: Callable[[], object]) -> None:
        super().__init__(parent)
        self._call = call
        self._wanted = False
        self._posted = False
        self._asked.connect(self._go, Qt.ConnectionType.QueuedConnection)

    def isActive(self) -> bool:  # noqa: N802 named as a QTimer's, which it stands in for
        """Whether the call is still to come."""
        return self._wanted

    def start(self) -> None:
        """Have it called, once, before the next frame."""
        self._wanted = True
        if not self._posted:
            self._posted = True
            self._asked.emit()

    def stop(self) -> None:
        """Have it not called after all."""
        self._wanted = False

    @Slot()
    def _go(self) -> None:
        self._posted = False
        if self._wanted:
            self._wanted = False
            self._call()
