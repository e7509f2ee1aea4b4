"""The one door to the files that the program ships: recordings, models, themes, icons.

Everything goes through `importlib.resources`, so it is found wherever the package was
installed to. Other modules name a resource; none of them builds a path.
"""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SHIPPED_RECORDING = "shared_cartpole_missed_restore.h5"

# A package inside an archive is unpacked for as long as the program runs.
_unpacked = ExitStack()
atexit.register(_unpacked.close)


def text(*names: str) -> str:
    """The text (UTF-8) of a resource: ``text("themes", "app.qss")``."""
    return files(__name__).joinpath(*names).read_text("utf-8")


def listing(*names: str) -> tuple[str, ...]:
    """The names of a folder's files, sorted: ``listing("models")``."""
    folder = files(__name__).joinpath(*names)
    return tuple(sorted(entry.name for entry in folder.iterdir() if entry.is_file()))


def path(*names: str) -> Path:
    """The path of a resource, for libraries that open files themselves.

    Raises
    ------
    FileNotFoundError
        If the package doesn't hold it.
    """
    found = _unpacked.enter_context(as_file(files(__name__).joinpath(*names)))
    if not found.exists():
        raise FileNotFoundError(found)
    return found


def icon(name: str) -> Path:
    """The path of an icon: ``icon("isoscope.svg")``."""
    return path("icons", name)


def shipped_recording() -> Path:
    """The recording that the window opens on when no file is named.

    Two CartPole environments share one scene; before its ninth control step the first
    one's snapshot is not restored, so it goes on from the other's state.
    """
    return path("recordings", SHIPPED_RECORDING)
