"""Read a recording for a command: progress while it runs, problems when it is done."""

from pathlib import Path

from isoscope.app import console
from isoscope.core.recording.model import Recording
from isoscope.core.recording.registry import load

TOLD_AT_MOST = 10


def load_told(path: Path) -> Recording:
    """Read all of a recording; say on standard error what of it could not be read.

    Raises
    ------
    ReadError
        If it can't be read at all.
    """
    with console.progress(f"reading {path.name}") as report:
        recording = load(path, report)
    problems = recording.problems
    for problem in problems[:TOLD_AT_MOST]:
        console.warn(f"{path.name}: {problem}")
    if len(problems) > TOLD_AT_MOST:
        more = len(problems) - TOLD_AT_MOST
        console.warn(f"{path.name}: {more} more problems; isoscope info lists them")
    return recording
