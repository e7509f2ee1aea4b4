"""Rows that only reset, taken as transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.control_findings import about, where
from isoscope.core.isolation.control_steps import Following, look_at
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.control_steps import ControlSteps
    from isoscope.core.isolation.findings import Finding, Severity
    from isoscope.core.isolation.incremental import Running

ID = "reset-row"
SEVERITY: Severity = "error"
ABOUT = "rows that only reset, taken as if their action had been carried out"
NEEDS = "control steps that say whether they are transitions (`valid`), as the tap does"
REMEDY = (
    "With AutoresetMode.NEXT_STEP the row after an end is the reset: its action was "
    "ignored and its reward belongs to nothing. Leave it out, or use "
    "isoscope.core.envs.vector.transitions, which does."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a row."""
    yield from look_at(context.tells(NEEDS), look)


def begin() -> Running:
    """Keep up with a run."""
    return Following(look)


def look(steps: ControlSteps) -> Iterator[Finding]:
    """Yield a finding for each such row."""
    table = steps.table
    if not len(steps):
        return
    taken = steps.stored.get("transition")
    if taken is None and not (table.valid >= 0).any():
        raise CannotRunError("no row says whether it is a transition", NEEDS)
    if taken is not None:
        stored = taken.there & (taken.values[:, 0] == 1) & (table.valid == 0)
        for t in np.flatnonzero(stored).tolist():
            yield _finding(steps, t, "the consumer stored it as a transition", 1.0)
    says = table.valid == 1
    resets = says & (table.control_step == 0)
    resets |= says & (steps.native_kind() == StepKind.RESET)
    for t in np.flatnonzero(resets).tolist():
        yield _finding(steps, t, "it is marked as a transition", 1.0)
    if steps.window.identity.autoreset_mode == "next_step":
        behind = says & steps.behind_an_end & ~resets
        behind &= steps.native_kind() != StepKind.SUBSTEP
        for t in np.flatnonzero(behind).tolist():
            why = "the row before it ended, and yet it is marked as a transition"
            yield _finding(steps, t, why, 0.9)


def _finding(steps: ControlSteps, t: int, why: str, confidence: float) -> Finding:
    return about(
        steps,
        ID,
        t,
        headline=f"the row that resets {where(steps, t)} is taken as a transition",
        why=why,
        remedy=REMEDY,
        field="valid",
        value=1,
        expected=0,
        confidence=confidence,
    )
