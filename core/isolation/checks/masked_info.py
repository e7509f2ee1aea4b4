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
ROUNDED = 1e-5  # relative and absolute: of a consumer that keeps single precision


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
        if told is not None:
            # With SAME_STEP an end's own infos are in final_info, under its mask.
            other = kept.there & told.there & ~_alike(kept.values, told.values)
            for rows in steps.by_episode(np.flatnonzero(other)):
                yield _finding(steps, name, key, kept.values, rows, told.values)


def _alike(kept: Array, told: Array) -> Array:
    """Bool [n]: rows that hold the same, as far as single precision goes."""
    if kept.shape != told.shape or told.dtype.kind not in "biuf":
        return np.ones(len(kept), np.bool_)
    a, b = kept.astype(np.float64), told.astype(np.float64)
    close = np.isclose(a, b, rtol=ROUNDED, atol=ROUNDED, equal_nan=True)
    return np.asarray(close.all(axis=1))


def _finding(
    steps: ControlSteps,
    name: str,
    key: str,
    values: Array,
    rows: Array,
    told: Array | None = None,
) -> Finding:
    t = int(rows[0])
    if told is not None:
        return about(
            steps,
            ID,
            t,
            headline=f"info {key!r} of {where(steps, t)} is not what was told",
            why=(
                f"the consumer took {float(values[t, 0]):g} for its value in "
                f"{counted(len(rows), 'row')}, where the environment told "
                f"{float(told[t, 0]):g}: it stands under an unset mask, or is of "
                "another row"
            ),
            remedy=(
                f"Read infos[{key!r}][i] only where infos['_{key}'][i] is true; with "
                f"SAME_STEP an end's is in infos['final_info'][{key!r}][i]."
            ),
            field=name,
            value=float(values[t, 0]),
            expected=float(told[t, 0]),
            evidence={"rows": len(rows)},
            rows=rows,
        )
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
