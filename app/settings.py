"""What is remembered from one run to the next, in one JSON file."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from isoscope.app.folders import config_dir, write_whole

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)

ThemeChoice = Literal["system", "dark", "light"]
PauseOn = Literal["error", "warning", "never"]
PAUSE_ON: tuple[PauseOn, ...] = ("error", "warning", "never")
THEME_CHOICES: tuple[ThemeChoice, ...] = ("system", "dark", "light")
RECENT_AT_MOST = 12
LIVE_MEMORY_MB = 128


def theme_choice(name: str) -> ThemeChoice | None:
    """The theme of this name, or None if there is none."""
    return next((choice for choice in THEME_CHOICES if choice == name), None)


def pause_choice(name: str) -> PauseOn | None:
    """From which finding on a run is paused, by its name; None if there is none."""
    return next((choice for choice in PAUSE_ON if choice == name), None)


class Values(msgspec.Struct):
    """The settings as they are written; unknown keys are passed over.

    `docks` holds the arrangement of each layout, `geometry` the window's place, both as
    Qt writes them, in base64. `pause_on` is how severe what is found in a run that is
    watched has to be for the run to be paused. `live_memory_mb` is what a run that is
    watched may keep in memory of what was read, in MiB; the rest is read again from its
    recording when it is looked at.
    """

    theme: ThemeChoice = "system"
    interpolate: bool = False
    layout: str = "inspect"
    geometry: str = ""
    docks: dict[str, str] = {}
    recent: list[str] = []
    pause_on: PauseOn = "never"
    live_memory_mb: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)] = LIVE_MEMORY_MB

    @property
    def live_memory_bytes(self) -> int:
        """The same in bytes."""
        return self.live_memory_mb << 20


class Settings:
    """The settings file: read once, written whole on each change.

    A file that can't be read gives the defaults; one that can't be written is logged
    and changes nothing else, since a read-only home is no reason to stop.

    Parameters
    ----------
    path
        The file; in the user's settings folder by default.
    remember
        Whether to read and write it at all; without, there are the defaults.
    """

    def __init__(self, path: Path | None = None, *, remember: bool = True) -> None:
        self.path = path or config_dir() / "settings.json"
        self.remember = remember
        self.values = self._read() if remember else Values()

    def _read(self) -> Values:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Values)
        except FileNotFoundError:
            return Values()
        except (OSError, msgspec.MsgspecError) as error:
            log.warning("settings %s were not read: %s", self.path, error)
            return Values()

    def save(self) -> None:
        """Write the values."""
        if not self.remember:
            return
        content = msgspec.json.format(msgspec.json.encode(self.values), indent=1)
        try:
            write_whole(self.path, content)
        except OSError as error:
            log.warning("settings %s were not written: %s", self.path, error)

    def add_recent(self, path: Path) -> None:
        """Put a file first in the list of recent files, and save."""
        name = str(path)
        others = [other for other in self.values.recent if other != name]
        self.values.recent = [name, *others][:RECENT_AT_MOST]
        self.save()

    def drop_recent(self, path: Path) -> None:
        """Take a file off the list of recent files, and save."""
        if str(path) in self.values.recent:
            self.values.recent.remove(str(path))
            self.save()
