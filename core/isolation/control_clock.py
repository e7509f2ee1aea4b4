"""Control steps against the native steps that they took: M steps of h are 1/f_c."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.control_findings import about, where
from isoscope.core.isolation.control_steps import ControlSteps
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.findings import Finding
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array

ID = "clock-mismatch"
RELATIVE = 1e-5  # h may be a float32, and M of them add up


def control_clock(window: LabelledContext) -> Iterator[Finding]:
    """Yield one finding an environment whose control steps are not 1/f_c long."""
    hz = window.identity.control_hz
    steps = ControlSteps.of(window)
    if not hz or not len(steps) or not len(window.steps):
        return
    took_s = durations(steps)
    with np.errstate(invalid="ignore"):
        off = np.abs(took_s - 1 / hz) > RELATIVE / hz
    off &= np.isfinite(took_s) & (steps.table.valid == 1) & steps.acts
    for rows in steps.by_env(np.flatnonzero(off)):
        t = int(rows[0])
        yield about(
            steps,
            ID,
            t,
            headline=f"{where(steps, t)} is not as long as a control step",
            why=(
                f"its native steps take {took_s[t]:.6g} s, and 1/f_c is "
                f"{1 / hz:.6g} s, in "
                f"{counted(len(rows), 'control step')}"
            ),
            remedy=(
                "Control time, k times 1/f_c, runs away from the scene's: set the "
                "frequencies so that f_s is M times f_c, or say the right ones."
            ),
            field="h_s",
            value=float(took_s[t]),
            expected=1 / hz,
            evidence={"control_steps": len(rows), "control_hz": hz},
            rows=rows[:0],
        )


def durations(steps: ControlSteps) -> Array:
    """float64 [n]: sum of h over each row's own native steps; NaN where unknown."""
    native, table = steps.window.steps, steps.table
    order = native.order
    summed = np.concatenate([[0.0], np.cumsum(np.nan_to_num(native.h_s[order]))])
    unknown = np.concatenate([[0], np.cumsum(~np.isfinite(native.h_s[order]))])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    first, last = table.first_row - native.first, table.last_row - native.first
    inside = (first >= 0) & (last >= first) & (last < len(order))
    low, high = (place[np.where(inside, c, 0)] for c in (first, last))
    inside &= (native.env[order[low]] == table.env) & (
        native.env[order[high]] == table.env
    )
    took = summed[high + 1] - summed[low]
    took[~inside | (unknown[high + 1] != unknown[low])] = np.nan
    return np.asarray(took)
