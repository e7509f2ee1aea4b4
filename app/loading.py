"""Read a recording for a command, with progress, and say what of it can't be read."""

from pathlib import Path

from isoscope.app import console
from isoscope.core.recording import registry
from isoscope.core.recording.model import Recording

TOLD_AT_MOST = 10


def load(path: Path) -> Recording:
    """Read all of a recording.

    Raises
    ------
    ReadError
        If it can't be read at all.
    """
    with console.progress(f"reading {path.name}") as report:
        return registry.load(path, report)


def load_told(path: Path) -> Recording:
    """Read all of a recording; say on standard error what of it could not be read.

    Raises
    ------
    ReadError
        If it can't be read at all.
    """
    recording = load(path)
    problems = recording.problems
    for problem in problems[:TOLD_AT_MOST]:
        console.warn(f"{path.name}: {problem}")
    if len(problems) > TOLD_AT_MOST:
        more = len(problems) - TOLD_AT_MOST
        console.warn(f"{path.name}: {more} more problems; isoscope info lists them")
    return recording
