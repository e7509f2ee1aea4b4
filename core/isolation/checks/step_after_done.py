"""Native steps and control steps that go on after an episode's end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from isoscope.core.isolation.control_findings import about, where
from isoscope.core.isolation.control_steps import Following, look_at
from isoscope.core.isolation.findings import Taint
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.control_steps import ControlSteps
    from isoscope.core.isolation.findings import Finding, Severity
    from isoscope.core.isolation.incremental import Running
    from isoscope.core.recording.tracks import Array

ID = "step-after-done"
SEVERITY: Severity = "error"
ABOUT = "stepping that goes on after an episode's end, without a reset"
NEEDS = "a recording by the tap: control steps with terminated and truncated"
REMEDY = (
    "Reset the environment where terminated or truncated is true (with "
    "AutoresetMode.DISABLED by options={'reset_mask': …}), and leave out what came "
    "after the end: no task defines it."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an end that stepping went on after."""
    yield from look_at(context.tells(NEEDS), look)


def begin() -> Running:
    """Keep up with a run."""
    return Following(look)


def look(steps: ControlSteps) -> Iterator[Finding]:
    """Yield a finding for each first step after an end."""
    table = steps.table
    if not len(steps):
        return
    if not ((table.terminated >= 0) | (table.truncated >= 0)).any():
        raise CannotRunError("no control step tells whether it ended", NEEDS)
    told = set()
    for t in np.flatnonzero(went_on(steps)).tolist():
        told.add(int(steps.before[t]))
        yield _finding(steps, t, int(steps.before[t]), "another control step follows")
    for end, row in _natives_after(steps):
        if end not in told:
            yield _of_native(steps, end, row)


def went_on(steps: ControlSteps) -> Array:
    """Bool [n]: control steps after an end that are no autoreset's row."""
    behind = steps.behind_an_end & (steps.table.valid != 0)
    kind = steps.native_kind()
    if steps.window.identity.autoreset_mode == "next_step":
        # There the row after an end is the reset, unless it stepped.
        behind &= kind == StepKind.SUBSTEP
    return np.asarray(behind & (kind != StepKind.RESET))


def _natives_after(steps: ControlSteps) -> Iterator[tuple[int, int]]:
    """Yield (ended row, native row): its environment's next native step is no reset."""
    table, native = steps.table, steps.window.steps
    ends = np.flatnonzero(steps.done & (table.last_row >= 0) & (table.valid != 0))
    if not len(ends) or not len(native):
        return
    before = native.previous()
    rows = np.flatnonzero((before >= 0) & (native.kind == StepKind.SUBSTEP))
    last = table.last_row[ends]
    order = np.argsort(last, kind="stable")
    at = np.searchsorted(last[order], before[rows] + native.first)
    at = np.minimum(at, len(ends) - 1)
    end = ends[order[at]]
    hit = table.last_row[end] == before[rows] + native.first
    hit &= native.env[rows] == table.env[end]
    hit &= native.episode[rows] == native.episode[before[rows]]
    for row, t in zip(rows[hit].tolist(), end[hit].tolist(), strict=True):
        yield t, row


def _of_native(steps: ControlSteps, end: int, row: int) -> Finding:
    native, after = steps.window.steps, int(steps.after[end])
    found = _finding(
        steps, end if after < 0 else after, end, "its native steps go on as before"
    )
    return structs.replace(
        found,
        episode=int(native.episode[row]) if native.episode[row] >= 0 else None,
        control_step=int(native.control_step[row]),
        native=(native.first + row, native.first + row),
        taints=(Taint(env=found.env, native=(native.first + row, None)),),
    )


def _finding(steps: ControlSteps, t: int, end: int, why: str) -> Finding:
    table = steps.table
    kind = "terminated" if table.terminated[end] == 1 else "truncated"
    return about(
        steps,
        ID,
        t,
        headline=f"{where(steps, end)} {kind}, and stepping went on",
        why=f"{why} without a reset in between",
        remedy=REMEDY,
        evidence={"ended_transition": table.first + end, "ended": kind},
        until="reset",
    )
