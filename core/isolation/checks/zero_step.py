"""Steps of 0 s: nothing moved in them, but they count as native steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.context import runs
from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.words import natives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity

ID = "zero-step"
SEVERITY: Severity = "note"
ABOUT = "native steps of no duration"


def run(context: Context) -> Iterator[Finding]:
    """Yield one note for each run of such steps of one environment."""
    subject = context.subject
    h_s = subject.recording.steps.h_s
    if len(h_s) and not np.isfinite(h_s).any():
        raise CannotRunError("no step tells its h", "steps with their timeStep")
    for first, last in runs(np.flatnonzero(h_s <= 0)):
        env, episode, control_step = subject.place(first)
        value = float(h_s[first])
        headline = f"{natives(first, last)} {'lasts' if first == last else 'last'} "
        headline += f"{value:g} s"
        yield Finding(
            id=ID,
            severity=SEVERITY,
            env=env,
            episode=episode,
            control_step=control_step,
            native=(first, last),
            field="timeStep",
            value=value,
            headline=headline,
            message=f"{headline}: nothing moved, but it counts as a step",
            remedy=(
                "Leave such steps out of anything that divides by h. They come from "
                "stepping a scene by 0 s, to refresh it, say."
            ),
        )
