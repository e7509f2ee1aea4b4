"""Infos read as values where their mask says that there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.control_findings import about, where
from isoscope.core.isolation.control_steps import NEEDS_STORED, Following, look_at
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.control_steps import ControlSteps
    from isoscope.core.isolation.findings import Finding, Severity
    from isoscope.core.isolation.incremental import Running
    from isoscope.core.recording.tracks import Array

ID = "masked-info"
SEVERITY: Severity = "error"
ABOUT = "what stands under an unset info mask, taken for a value"
NEEDS = NEEDS_STORED
GROUPS = ("info", "reward_term")


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an environment's episode and info."""
    yield from look_at(context.tells(NEEDS), look)


def begin() -> Running:
    """Keep up with a run."""
    return Following(look)


def look(steps: ControlSteps) -> Iterator[Finding]:
    """Yield a finding for each episode with such a row."""
    stored = steps.needs_stored(*(f"{group}/" for group in GROUPS))
    for name, kept in stored.items():
        group, _, key = name.partition("/")
        if group not in GROUPS:
            continue
        if key not in steps.window.fields(group):
            continue  # something of the consumer's own
        told = steps.group(group).get(key)  # none where no row has it
        absent = kept.there if told is None else kept.there & ~told.there
        for rows in steps.by_episode(np.flatnonzero(absent)):
            yield _finding(steps, name, key, kept.values, rows)


def _finding(
    steps: ControlSteps, name: str, key: str, values: Array, rows: Array
) -> Finding:
    t = int(rows[0])
    return about(
        steps,
        ID,
        t,
        headline=f"info {key!r} of {where(steps, t)} is read where there is none",
        why=(
            f"the consumer took {float(values[t, 0]):g} for its value in "
            f"{counted(len(rows), 'row')} whose mask infos['_{key}'] is unset"
        ),
        remedy=(
            f"Read infos[{key!r}][i] only where infos['_{key}'][i] is true. Elsewhere "
            "the array holds zeros, or what an earlier step left."
        ),
        field=name,
        value=float(values[t, 0]),
        evidence={"rows": len(rows)},
        rows=rows,
    )
