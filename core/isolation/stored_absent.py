"""Native fields that a consumer stored as zero where the engine has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.control_findings import about, where
from isoscope.core.isolation.control_steps import ControlSteps
from isoscope.core.recording.tracks import Track
from isoscope.core.replay.fields import take
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.control_steps import Column
    from isoscope.core.isolation.findings import Finding
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array

PREFIX = "native/"


def stored_as_zero(window: LabelledContext) -> Iterator[Finding]:
    """Yield one finding an environment's episode and field."""
    steps = ControlSteps.of(window)
    if not len(steps):
        return
    for name, kept in steps.stored.items():
        if not name.startswith(PREFIX):
            continue
        zero = kept.there & (kept.values == 0).all(axis=1)
        absent, confidence = _absent(steps, name, kept)
        for rows in steps.by_episode(np.flatnonzero(zero & absent)):
            yield _finding(steps, name.removeprefix(PREFIX), rows, confidence)


def _absent(steps: ControlSteps, name: str, kept: Column) -> tuple[Array, float]:
    """Bool [n]: rows in which the engine has no such field; and how sure that is."""
    actor, _, field = name.removeprefix(PREFIX).rpartition(".")
    native = steps.window.labelled
    known: list[Track] = [
        track
        for key, track in native.fields.items()
        if key.over == "native"
        and key.name == field
        and isinstance(track, Track)
        and (a := native.actors.get(key.actor)) is not None
        and a.info.name == actor
    ]
    last = steps.table.last_row
    if known:
        there = np.any([take(track, last)[1] for track in known], axis=0)
        return (last >= 0) & ~there, 1.0
    # Else by the rest of the column: it is absent nearly everywhere in it.
    seldom = kept.there.sum() * 2 <= len(kept.there)
    missing = not np.any(kept.values[kept.there])
    return np.full(len(kept.there), bool(seldom and missing)), 0.9


def _finding(steps: ControlSteps, name: str, rows: Array, confidence: float) -> Finding:
    t = int(rows[0])
    return about(
        steps,
        "absent-field",
        t,
        headline=f"{name} is stored as zero in {where(steps, t)}",
        why=(
            f"the engine has no such value there, in {counted(len(rows), 'row')}: "
            "absent is not zero"
        ),
        remedy=(
            "Keep a mask beside the field, or NaN, and leave these rows out where the "
            "field is needed."
        ),
        field=name,
        value=0,
        confidence=confidence,
        evidence={"rows": len(rows)},
        rows=rows,
    )
