"""Read a recording for a command and find out whose its steps were, with progress."""

from pathlib import Path

from isoscope.app import console
from isoscope.app.loading import load_told
from isoscope.core.attribution.attributor import Attributor
from isoscope.core.isolation.context import Examined
from isoscope.core.recording.model import Recording


def examine(path: Path) -> Examined:
    """Read all of a recording and attribute its steps.

    Raises
    ------
    ReadError
        If it can't be read at all.
    """
    return attributed(load_told(path))


def attributed(recording: Recording) -> Examined:
    """Find out whose the steps of a recording that has been read were."""
    attributor = Attributor(recording)
    with console.progress(f"attributing {recording.name}") as report:
        attributor.update(progress=report)
    return Examined(recording, attributor.result())
