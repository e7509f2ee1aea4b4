"""Read a recording for a command and find out whose its steps were, with progress."""

from pathlib import Path

from isoscope.app import console
from isoscope.app.loading import load_told
from isoscope.core.attribution.attributor import attribute
from isoscope.core.attribution.labels import read_labels
from isoscope.core.isolation.context import Examined


def examine(
    path: Path,
    substeps: int | None = None,
    labels: Path | None = None,
    *,
    margins: bool = True,
) -> Examined:
    """Read all of a recording and attribute its steps.

    Parameters
    ----------
    path
        The recording.
    substeps
        M, where the user says it.
    labels
        A file of what else the user knows.
    margins
        Whether the second best candidates have to be known; see `attribute`.

    Raises
    ------
    ReadError
        If the recording or the labels can't be read, or these don't fit it.
    """
    recording = load_told(path)
    given = None if labels is None else read_labels(labels, len(recording))
    with console.progress(f"attributing {path.name}") as report:
        found = attribute(recording, substeps, given, margins=margins, progress=report)
    return Examined(recording, found)
