"""An episode's last observation that is the next episode's first one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.control_findings import about, where
from isoscope.core.isolation.control_steps import Following, look_at
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.row_keys import row_keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.control_steps import Column, ControlSteps
    from isoscope.core.isolation.findings import Finding, Severity
    from isoscope.core.isolation.incremental import Running
    from isoscope.core.recording.tracks import Array

ID = "final-observation"
SEVERITY: Severity = "error"
ABOUT = "an episode's last observation replaced by the next episode's first"
NEEDS = "observations after control steps and resets, and terminated and truncated"
BEFORE, AFTER = "observation_before", "observation_after"
REMEDY = (
    "With AutoresetMode.SAME_STEP the observation that is returned at an end is the "
    "new episode's; the old one's last is infos['final_obs'][i]. Values beyond a time "
    "limit are bootstrapped from that one."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an end."""
    yield from look_at(context.tells(NEEDS), look)


def begin() -> Running:
    """Keep up with a run."""
    return Following(look)


def look(steps: ControlSteps) -> Iterator[Finding]:
    """Yield a finding for each end whose observation was replaced."""
    if not len(steps):
        return
    told = steps.group(AFTER)
    if not told or not (steps.table.terminated >= 0).any():
        raise CannotRunError("ends or observations are not recorded", NEEDS)
    ends = np.flatnonzero(steps.done & (steps.after >= 0) & steps.acts)
    if not len(ends):
        return
    stored = steps.stored
    for name, column in told.items():
        key = row_keys(column.values)
        begins, known = _next_begins(steps, name, column, key, ends)
        kept = stored.get(AFTER if name == "value" else f"{AFTER}/{name}")
        if kept is not None and kept.values.shape == column.values.shape:
            own = row_keys(kept.values.astype(column.values.dtype))
            wrong = kept.there[ends] & known & (own[ends] == begins)
            wrong &= own[ends] != key[ends]
            # Where the row before changed, too, it is a view of a reused buffer.
            before = steps.before[ends]
            wrong &= ~(
                (before >= 0) & kept.there[before] & (own[before] != key[before])
            )
            for t in ends[wrong].tolist():
                yield _finding(steps, t, name, "the consumer stored", 1.0)
        before = steps.before[ends]
        wrong = column.there[ends] & known & (key[ends] == begins)
        # An observation that never changes says nothing.
        wrong &= (before >= 0) & (key[before] != key[ends])
        for t in ends[wrong].tolist():
            yield _finding(steps, t, name, "the control step tells", 0.95)


def _next_begins(
    steps: ControlSteps, name: str, column: Column, key: Array, ends: Array
) -> tuple[Array, Array]:
    """Keys of the observations that the next episodes begin with; and where known."""
    after = steps.after[ends]
    known = column.there[after] & ~steps.acts[after]
    begins = np.where(known, key[after], np.uint64(0))
    first = steps.group(BEFORE).get(name)
    if first is not None and first.values.shape == column.values.shape:
        # Where no row of the reset is told, the next control step saw it.
        acts = steps.acts[after] & first.there[after]
        acts &= steps.table.episode[after] != steps.table.episode[ends]
        begins = np.where(acts, row_keys(first.values)[after], begins)
        known |= acts
    # A reset that took no native step, where others do, gave the old one again.
    took = steps.table.first_row
    odd = (took[after] < 0) & (took[ends] >= 0) & ~steps.acts[after]
    if ((took >= 0) & ~steps.acts).any():
        known &= ~odd
    return begins, known


def _finding(
    steps: ControlSteps, t: int, name: str, who: str, confidence: float
) -> Finding:
    field = AFTER if name == "value" else f"{AFTER}.{name}"
    return about(
        steps,
        ID,
        t,
        headline=f"the last observation of {where(steps, t)} is the next episode's",
        why=f"{who} what its reset returned, not what the last action led to",
        remedy=REMEDY,
        field=field,
        confidence=confidence,
        evidence={"truncated": bool(steps.table.truncated[t] == 1)},
    )
