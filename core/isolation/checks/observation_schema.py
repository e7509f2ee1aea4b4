"""Observations whose order, dtype or unit is not as declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.isolation.control_findings import about, where
from isoscope.core.isolation.control_steps import Following, look_at
from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.observation_changes import Changed, as_stored, out_of_line
from isoscope.core.isolation.observed_natives import unlike_natives
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.space_differences import space_differences
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.control_steps import ControlSteps
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.incremental import Running

ID = "observation-schema"
SEVERITY: Severity = "error"
ABOUT = "observations whose order, dtype or unit is not as declared"
NEEDS = "observations of control steps; with names and units, and what was stored"
REMEDY = (
    "Give every component its name and unit where the space is declared, and let the "
    "consumer read by name. A policy takes a number for what stood there in training."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a difference of the spaces, and one an episode's row."""
    window = context.tells(NEEDS)
    for difference in space_differences(window):
        yield _of_space(difference.what, difference.why, difference.field)
    yield from look_at(window, look)


def begin() -> Running:
    """Keep up with a run."""
    return Following(look)


def look(steps: ControlSteps) -> Iterator[Finding]:
    """Yield a finding for each episode with such observations."""
    if not len(steps):
        return
    told = steps.group("observation_after")
    if not told:
        raise CannotRunError("no observations are recorded", NEEDS)
    for name, column in told.items():
        field = "observation_after" if name == "value" else f"observation_after.{name}"
        stored = set()
        for change in as_stored(steps, name, column):
            stored.update(change.rows.tolist())
            yield from _of_rows(steps, change, field, "the consumer stored it")
        for change in (*unlike_natives(steps, column), *out_of_line(steps, column)):
            if not stored & set(change.rows.tolist()):
                stored.update(change.rows.tolist())
                yield from _of_rows(steps, change, field, "it was told")


def _of_rows(
    steps: ControlSteps, change: Changed, field: str, who: str
) -> Iterator[Finding]:
    for rows in steps.by_episode(change.rows):
        t = int(rows[0])
        yield about(
            steps,
            ID,
            t,
            headline=f"the observation of {where(steps, t)} is not as declared",
            why=f"{who} {change.how}, in {counted(len(rows), 'row')}",
            remedy=REMEDY,
            field=field,
            confidence=change.confidence,
            evidence={"kind": change.kind, "rows": len(rows)},
            rows=rows,
        )


def _of_space(what: str, why: str, field: str) -> Finding:
    return Finding(
        id=ID,
        severity=SEVERITY,
        field=field,
        headline=what,
        message=f"{what}: {why}",
        remedy=REMEDY,
    )
