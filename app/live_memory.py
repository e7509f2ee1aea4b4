"""How much memory runs that are watched may take: chosen in the window, and kept.

All of it belongs to the GUI thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.app.following import live_run

if TYPE_CHECKING:
    from isoscope.app.settings import Settings
    from isoscope.widgets.session import Session

CHOICES_MB = (4, 16, 64, 128, 256, 512, 1024, 4096)


class LiveMemory:
    """The cap of each run that is watched, now and from now on."""

    def __init__(self, session: Session, settings: Settings) -> None:
        self._session, self._settings = session, settings

    @property
    def mb(self) -> int:
        """What a run may keep in memory of what was read, MiB."""
        return self._settings.values.live_memory_mb

    @property
    def choices(self) -> tuple[int, ...]:
        """What can be chosen, MiB; what was set by hand is one of them."""
        return tuple(sorted({*CHOICES_MB, self.mb}))

    def choose(self, mb: int) -> None:
        """Keep so much of each run, also of those that are watched already."""
        self._settings.values.live_memory_mb = mb
        self._settings.save()
        for document in self._session.documents:
            run = live_run(document.source)
            if run is not None:
                run.set_memory(self._settings.values.live_memory_bytes)
