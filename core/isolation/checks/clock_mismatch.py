"""The recording's own clock against the steps it says it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.context import runs
from isoscope.core.isolation.control_clock import control_clock
from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.registry import CannotRunError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity

ID = "clock-mismatch"
SEVERITY: Severity = "warning"
ABOUT = "recording time that is not the sum of the steps, or M steps not a control step"
ROUNDINGS = 8.0  # of the sum, per step


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a run of steps whose time does not advance by h.

    Of a labelled recording also one an environment whose control steps are not as long
    as its frequency says.
    """
    if context.labelled is not None:
        yield from control_clock(context.labelled)
    subject = context.subject
    steps = subject.recording.steps
    time_s, h_s = steps.time_s, steps.h_s
    if len(time_s) == 0:
        return
    if not (np.isfinite(time_s).any() and np.isfinite(h_s).any()):
        raise CannotRunError(
            "the steps lack their time or their h", "timeTotal and timeStep"
        )
    with np.errstate(over="ignore", invalid="ignore"):  # of made-up, huge values
        # The clock is 0 when the recording starts, or goes on where a run was joined.
        joined = context.labelled is not None
        advanced = np.diff(time_s, prepend=time_s[0] - h_s[0] if joined else 0.0)
        allowed = ROUNDINGS * np.spacing(np.maximum(np.abs(time_s), np.abs(h_s)))
        off = np.abs(advanced - h_s) > allowed
    off &= np.isfinite(advanced) & np.isfinite(h_s)
    for first, last in runs(np.flatnonzero(off)):
        env, episode, control_step = subject.place(first)
        gap = float(advanced[first] - h_s[first])
        what = "goes back" if advanced[first] < 0 else "jumps" if gap > 0 else "lags"
        headline = f"recording time {what} at native step {first}"
        yield Finding(
            id=ID,
            severity=SEVERITY,
            env=env,
            episode=episode,
            control_step=control_step,
            native=(first, last),
            field="timeTotal",
            value=float(advanced[first]),
            expected=float(h_s[first]),
            headline=headline,
            message=(
                f"{headline}: it advances by {advanced[first]:.9g} s in a step of "
                f"{h_s[first]:.9g} s"
                + (f", and so in the {last - first} after it" if last > first else "")
            ),
            remedy=(
                "Steps are missing before it, or the file was put together from "
                "several: treat what comes after as a recording of its own."
            ),
            evidence={"gap_s": gap, "rows": last - first + 1},
        )
