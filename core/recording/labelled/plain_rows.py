"""Rows of a recording whose environments let nobody see native steps.

An ordinary Gymnasium environment tells its control steps and nothing below them. Its
recording holds no native step, so each of its rows is a control step: with its labels
and the wall's time, and no duration, no state, no scene's clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.labelled import LabelledRecording
    from isoscope.core.recording.tracks import Array

OVER = "transitions"


def without_natives(labelled: LabelledRecording) -> bool:
    """Whether it holds control steps, and nothing that could step natively."""
    engine = labelled.identity.engine
    natives = labelled.count("native") or labelled.scenes or labelled.actors or engine
    return not natives and labelled.count(OVER) > 0


def labels(labelled: LabelledRecording, start: int, stop: int) -> dict[str, Array]:
    """Labels of the rows start .. stop: each int32 [stop - start], by name.

    Which native step of its control step a row is, is not known: -1.
    """
    found = {
        name: labelled.column(OVER, name, start, stop).astype(np.int32)
        for name in ("env", "episode", "control_step")
    }
    unknown = np.full(len(found["env"]), -1, np.int32)
    resets = found["control_step"] == 0
    kind = np.where(resets, np.int32(StepKind.RESET), unknown)
    return {**found, "substep": unknown, "kind": kind}


def steps(start: int, stop: int) -> tuple[Array, Array, Array, Array, Array]:
    """Number, recording time, h, gravity and scene time of rows: all but one absent."""
    absent = np.full(stop - start, np.nan)
    gravity = np.full((stop - start, 3), np.nan)
    return np.arange(start, stop), absent, absent, gravity, absent
