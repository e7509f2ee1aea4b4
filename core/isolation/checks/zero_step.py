"""Steps of 0 s: nothing moved in them, but they count as native steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.context import runs
from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.registry import CannotRunError

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
        many = f"native steps {first} to {last} last" if last > first else ""
        value = float(h_s[first])
        yield Finding(
            id=ID,
            severity=SEVERITY,
            env=env,
            episode=episode,
            control_step=control_step,
            native=(first, last),
            field="timeStep",
            value=value,
            message=f"{many or f'native step {first} lasts'} {value:g} s",
            remedy=(
                "Leave such steps out of anything that divides by h. They come from "
                "stepping a scene by 0 s, to refresh it, say."
            ),
        )
