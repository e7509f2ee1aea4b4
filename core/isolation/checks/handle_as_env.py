"""Native handles used as environment numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.control_findings import about, where
from isoscope.core.isolation.control_steps import Following, look_at
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.control_steps import ControlSteps
    from isoscope.core.isolation.findings import Finding, Severity
    from isoscope.core.isolation.incremental import Running
    from isoscope.core.recording.tracks import Array

ID = "handle-as-env"
SEVERITY: Severity = "warning"
ABOUT = "rows labelled with a native handle for their environment's number"
NEEDS = "control steps with their environment, as the tap tells them"


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an environment, or number that is none."""
    yield from look_at(context.tells(NEEDS), look)


def begin() -> Running:
    """Keep up with a run."""
    return Following(look)


def look(steps: ControlSteps) -> Iterator[Finding]:
    """Yield a finding for each number that is no environment's."""
    table = steps.table
    if not len(steps):
        return
    if not (table.env >= 0).any():
        raise CannotRunError("no row says whose it is", NEEDS)
    kept = steps.stored.get("env")
    if kept is not None:
        label = kept.values[:, 0].astype(np.float64)
        wrong = kept.there & (label != table.env) & (table.env >= 0)
        for rows in steps.by_env(np.flatnonzero(wrong)):
            yield _finding(steps, rows, label[rows[0]], "the consumer labels it with")
    count = steps.window.identity.environments
    if count is not None:
        handles = np.array(_handles(steps), np.int64)
        beyond = (table.env >= count) & np.isin(table.env, handles)
        for rows in steps.by_env(np.flatnonzero(beyond)):
            yield _finding(
                steps, rows, float(table.env[rows[0]]), "it is labelled with"
            )


def _handles(steps: ControlSteps) -> list[int]:
    """The actors' handles, and what is left of them in 32 bits."""
    known = [a.info.handle for a in steps.window.labelled.actors.values()]
    return [h for h in known if h < 1 << 63] + [h & 0x7FFFFFFF for h in known]


def _finding(steps: ControlSteps, rows: Array, label: float, who: str) -> Finding:
    t = int(rows[0])
    number = int(label)
    handle = number >= 1 << 31 or number in _handles(steps)
    what = "a native handle" if handle else "no number of this environment"
    return about(
        steps,
        ID,
        t,
        headline=f"{number} is taken for the environment of {where(steps, t)}",
        why=f"{who} {what}, in {counted(len(rows), 'row')}",
        remedy=(
            "Handles name actors and scenes of one process, and are given anew in each "
            "run. Label rows with the index in the vector environment (k·P + i over "
            "processes)."
        ),
        field="env",
        value=number,
        expected=int(steps.table.env[t]),
        evidence={"rows": len(rows), "handle": handle},
        rows=rows,
    )
