"""The one door to a recording's transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.dataset.transitions.given import read_transitions
from isoscope.core.dataset.transitions.joined import joined_episodes
from isoscope.core.dataset.transitions.labelled import labelled_episodes
from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.attribution.result import Attribution
    from isoscope.core.dataset.model import Episodes
    from isoscope.core.recording.model import Recording


def episodes_of(
    recording: Recording,
    attribution: Attribution | None = None,
    transitions_file: str | Path | None = None,
) -> Episodes:
    """All episodes of transitions that a recording has.

    Parameters
    ----------
    recording
        Read to its end.
    attribution
        Whose each native step was; needed for a bare recording only.
    transitions_file
        What has the actions of a bare recording, see `given`.

    Raises
    ------
    UsageError
        If it has none; says what to give.
    ReadError
        If something can't be read.
    """
    if recording.labelled is not None and transitions_file is None:
        return labelled_episodes(recording)
    if transitions_file is None:
        raise UsageError(
            f"{recording.name} holds native steps but no actions, so there are no "
            "transitions in it (a controller's targetPose is no action); give what has "
            "them by --transitions FILE, or record with the tap"
        )
    if attribution is None:
        raise UsageError(f"{recording.name} has not been attributed yet")
    return joined_episodes(recording, attribution, read_transitions(transitions_file))
