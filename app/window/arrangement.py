"""Where the window and its panels are: by a named layout, as it was left last time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray

from isoscope.app.window.layouts import DEFAULT, LAYOUTS, offered

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from isoscope.app.settings import Settings
    from isoscope.app.window.docks import DockArea

FIRST_SIZE = (1440, 900)


class Arrangement:
    """Keeps the docks' arrangement and the window's place in the settings.

    Attributes
    ----------
    layouts
        Those that can be chosen: all of their panels are there.
    key
        Of the one that is on.
    done
        Whether the docks have been arranged; they are once their room is known.
    """

    def __init__(self, docks: DockArea, settings: Settings) -> None:
        self._docks, self._settings = docks, settings
        self.layouts = offered(set(docks.docks))
        keys = [layout.key for layout in self.layouts]
        wanted = settings.values.layout
        self.key = wanted if wanted in keys else next(iter(keys), DEFAULT)
        self.done = False

    @property
    def title(self) -> str:
        """What the layout that is on is called."""
        return LAYOUTS[self.key].title

    def place_window(self, window: QWidget) -> None:
        """Put the window where it was, or give it its first size."""
        geometry = self._settings.values.geometry
        saved = QByteArray.fromBase64(geometry.encode())
        if saved.isEmpty() or not window.restoreGeometry(saved):
            window.resize(*FIRST_SIZE)

    def arrange(self) -> None:
        """Arrange the docks by the layout that is on, as it was left."""
        self.done = True
        if self.key not in [layout.key for layout in self.layouts]:
            return
        self._docks.arrange(LAYOUTS[self.key])
        saved = self._settings.values.docks.get(self.key)
        if saved:
            self._docks.restore(saved)

    def choose(self, key: str) -> None:
        """Put another layout on; the one before is kept as it is."""
        if self.done:
            self._keep_docks()
        self.key = key
        if self.done:
            self.arrange()

    def reset(self) -> None:
        """Arrange as the layout means it."""
        self._settings.values.docks.pop(self.key, None)
        self.arrange()

    def keep(self, window: QWidget) -> None:
        """Save everything for the next time."""
        values = self._settings.values
        values.layout = self.key
        values.geometry = bytes(window.saveGeometry().toBase64().data()).decode()
        if self.done:
            self._keep_docks()
        self._settings.save()

    def _keep_docks(self) -> None:
        self._settings.values.docks[self.key] = self._docks.save()
