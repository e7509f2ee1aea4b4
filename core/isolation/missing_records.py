"""What a labelled recording says, or shows, to be missing from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.control_findings import about, where
from isoscope.core.isolation.control_steps import ControlSteps
from isoscope.core.isolation.findings import Finding
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.labelled_context import LabelledContext

ID = "incomplete-recording"


def missing_records(window: LabelledContext) -> Iterator[Finding]:
    """Yield one finding a kind of dropped records, and one a gap of control steps."""
    kinds: dict[str, list[tuple[int, int, str]]] = {}
    for dropped in window.labelled.dropped():
        told = (dropped.row, dropped.count, dropped.why)
        kinds.setdefault(dropped.what, []).append(told)
    for what, times in kinds.items():
        yield _dropped(window, what, times)
    yield from _gaps(ControlSteps.of(window))


def _dropped(
    window: LabelledContext, what: str, times: list[tuple[int, int, str]]
) -> Finding:
    total = sum(count for _, count, _ in times)
    rows = [row for row, _, _ in times if 0 <= row < window.steps.stop]
    why = next((why for _, _, why in times if why), "they came faster than written")
    headline = f"{counted(total, 'record')} of {what} were dropped while recording"
    return Finding(
        id=ID,
        severity="warning",
        native=(min(rows), max(rows)) if rows else None,
        field=what,
        value=total,
        expected=0,
        headline=headline,
        message=f"{headline}: {why}; what was around them is not whole",
        remedy=(
            "Record less (fewer fields, snapshots or frames), on a faster disk, or "
            "with a larger backlog. Episodes across a gap are cut there."
        ),
        evidence={"records": total, "times": len(times)},
    )


def _gaps(steps: ControlSteps) -> Iterator[Finding]:
    """Yield control steps before which others of their episode are missing."""
    table, before = steps.table, steps.before
    if not len(steps):
        return
    k = table.control_step
    follows = (before >= 0) & (table.episode == table.episode[before])
    gap = follows & (k >= 0) & (k[before] >= 0) & (k > k[before] + 1)
    for t in np.flatnonzero(gap).tolist():
        lost = int(k[t] - k[before[t]]) - 1
        yield about(
            steps,
            ID,
            t,
            headline=(
                f"{counted(lost, 'control step')} missing before {where(steps, t)}"
            ),
            why=f"the one before it in the recording is {int(k[before[t]])}",
            remedy=(
                "The recording did not keep up, or its process died and went on: what "
                "this one saw before is not what the last one led to."
            ),
            field="control_step",
            value=int(k[t]),
            expected=int(k[before[t]]) + 1,
            evidence={"missing": lost},
            rows=np.zeros(0, np.int64),
        )
