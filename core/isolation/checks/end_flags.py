"""Terminated and truncated: confused, both set for one reason, or neither."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.control_findings import about, where
from isoscope.core.isolation.control_steps import Following, look_at
from isoscope.core.isolation.registry import CannotRunError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.control_steps import ControlSteps
    from isoscope.core.isolation.findings import Finding, Severity
    from isoscope.core.isolation.incremental import Running
    from isoscope.core.recording.tracks import Array

ID = "end-flags"
SEVERITY: Severity = "error"
ABOUT = "terminated and truncated confused, both set, or neither"
NEEDS = "control steps with terminated and truncated, and resets, as the tap tells them"
REMEDY = (
    "Terminated: the task ended here, and nothing comes after it. Truncated: it was "
    "cut, a time limit say, and the value of the last observation is bootstrapped. "
    "Keep both flags as the environment gives them; don't merge them into done."
)
FLAGS = ("terminated", "truncated")
KEYS = {"terminated_reason": "terminated", "truncated_reason": "truncated"}


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an end."""
    yield from look_at(context.tells(NEEDS), look)


def begin() -> Running:
    """Keep up with a run."""
    return Following(look)


def look(steps: ControlSteps) -> Iterator[Finding]:
    """Yield a finding for each row whose flags are wrong."""
    table = steps.table
    if not len(steps):
        return
    flags = np.stack([table.terminated, table.truncated], axis=1)
    if not (flags >= 0).any():
        raise CannotRunError("no control step tells whether it ended", NEEDS)
    told = set()
    for t, kept in _stored(steps, flags):
        told.add(t)
        yield _finding(steps, t, kept, flags[t], "the consumer stored", 1.0)
    for t, meant in _by_reasons(steps, flags):
        if t not in told:
            told.add(t)
            why = "by its reasons"
            yield _finding(steps, t, flags[t], meant, why, 1.0)
    for t in _unmarked(steps, flags):
        if t not in told:
            yield _finding(steps, t, flags[t], None, "the environment told", 0.95)


def _stored(steps: ControlSteps, flags: Array) -> Iterator[tuple[int, Array]]:
    """Yield rows that the consumer stored with other flags, and these."""
    columns = [steps.stored.get(name) for name in FLAGS]
    if any(column is None for column in columns):
        return
    there = np.all([c.there for c in columns if c is not None], axis=0)
    kept = np.stack([c.values[:, 0] for c in columns if c is not None], axis=1)
    taken = steps.stored.get("transition")
    if taken is not None:
        there &= ~taken.there | (taken.values[:, 0] == 1)
    wrong = there & (steps.table.valid == 1) & (flags >= 0).all(axis=1)
    wrong &= (kept != flags).any(axis=1)
    for t in np.flatnonzero(wrong).tolist():
        yield t, kept[t]


def _by_reasons(steps: ControlSteps, flags: Array) -> Iterator[tuple[int, Array]]:
    """Yield rows whose reasons tell other flags, and those."""
    table = steps.table
    numbers = table.column("reasons")
    rows = np.flatnonzero((numbers >= 0) & steps.done & (table.valid != 0))
    for t in rows.tolist():
        reasons = table.json("reasons", t)
        if not isinstance(reasons, dict):
            continue
        meant = np.array([bool(reasons.get(key)) for key in KEYS], np.int64)
        if meant.any() and (meant != np.maximum(flags[t], 0)).any():
            yield t, meant


def _unmarked(steps: ControlSteps, flags: Array) -> Iterator[int]:
    """Yield rows that an automatic reset follows though neither flag is set."""
    resets, table = steps.window.resets, steps.table
    automatic = resets.automatic == 1
    rows = resets.transition[automatic] - table.first
    rows = rows[(rows >= 0) & (rows < len(table))]
    before = steps.before[rows]
    before = before[before >= 0]
    neither = (flags[before] == 0).all(axis=1) & steps.acts[before]
    yield from np.unique(before[neither]).tolist()


def _finding(
    steps: ControlSteps,
    t: int,
    got: Array,
    meant: Array | None,
    who: str,
    confidence: float,
) -> Finding:
    said = _words(got)
    if meant is None:
        why = f"{who} neither flag, and an autoreset followed"
    elif who == "by its reasons":
        why = f"{who} it is {_words(meant)}"
    else:
        why = f"{who} it so; the environment told {_words(meant)}"
    return about(
        steps,
        ID,
        t,
        headline=f"{where(steps, t)} ends as {said}",
        why=why,
        remedy=REMEDY,
        field="terminated, truncated",
        value=[int(x) for x in got],
        expected=None if meant is None else [int(x) for x in meant],
        confidence=confidence,
    )


def _words(flags: Array) -> str:
    one, two = bool(flags[0] == 1), bool(flags[1] == 1)
    if one and two:
        return "both terminated and truncated"
    if one or two:
        return "terminated" if one else "truncated"
    return "neither terminated nor truncated"
