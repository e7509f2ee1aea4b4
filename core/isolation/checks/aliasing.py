"""Rows that changed after they were stored, or are views of one buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.control_findings import about, where
from isoscope.core.isolation.control_steps import NEEDS_STORED, Following, look_at
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.row_keys import row_keys
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.control_steps import Column, ControlSteps
    from isoscope.core.isolation.findings import Finding, Severity
    from isoscope.core.isolation.incremental import Running
    from isoscope.core.recording.tracks import Array

ID = "aliasing"
SEVERITY: Severity = "error"
ABOUT = "rows that change after they were stored, or are all equal while actions vary"
NEEDS = f"observations and actions of control steps; better: {NEEDS_STORED}"
GROUPS = ("observation_before", "observation_after")
ALIKE = 8  # equal observations of an episode, one after the other, before it is odd
REMEDY = (
    "An environment that reuses its buffers (results='views', say) gives arrays that "
    "its next step overwrites: copy what you keep, or ask for results='owned'."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an environment."""
    yield from look_at(context.tells(NEEDS), look)


def begin() -> Running:
    """Keep up with a run."""
    return Following(look)


def look(steps: ControlSteps) -> Iterator[Finding]:
    """Yield a finding for each environment whose rows changed."""
    if not len(steps):
        return
    if not any(steps.group(group) for group in GROUPS):
        raise CannotRunError("no observations are recorded", NEEDS)
    changed = np.zeros(len(steps), np.bool_)
    source = np.full(len(steps), -1, np.int64)
    for group in GROUPS:
        for name, column in steps.group(group).items():
            kept = steps.stored.get(group if name == "value" else f"{group}/{name}")
            if kept is None or kept.values.shape != column.values.shape:
                continue
            there = kept.there & column.there
            own = row_keys(kept.values.astype(column.values.dtype))
            later = _told_later(steps, own, row_keys(column.values), there)
            changed |= later >= 0
            source = np.maximum(source, later)
    for rows in steps.by_env(np.flatnonzero(changed)):
        yield _changed(steps, rows, source)
    stored = bool(steps.stored)
    for rows in () if stored else _all_alike(steps):
        yield _alike(steps, rows)


def _told_later(steps: ControlSteps, own: Array, told: Array, there: Array) -> Array:
    """int64 [n]: the later row of its environment whose value a row was given; -1.

    A last observation that is the next row's first is another finding.
    """
    out = np.full(len(own), -1, np.int64)
    wrong = np.flatnonzero(there & (own != told))
    if not len(wrong):
        return out
    table = steps.table
    mix = table.env.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    keys = told ^ mix
    order = np.argsort(keys, kind="stable")
    after = np.searchsorted(keys[order], own[wrong] ^ mix[wrong], "right") - 1
    found = order[np.maximum(after, 0)]
    hit = (after >= 0) & (keys[found] == (own[wrong] ^ mix[wrong])) & (found > wrong)
    ended = steps.done[wrong] & (found == steps.after[wrong])
    hit &= ~ended
    out[wrong[hit]] = found[hit]
    return out


def _all_alike(steps: ControlSteps) -> Iterator[Array]:
    """Yield episodes whose observations are all equal while their actions vary."""
    seen = steps.group("observation_after")
    actions = steps.group("raw_action") or steps.group("action")
    if not seen or not actions:
        return
    told = np.all([c.there for c in seen.values()], axis=0)
    key = _summed(seen)
    act = _summed(actions)
    before = steps.before
    same = steps.acts & told & (before >= 0)
    same &= steps.acts[before] & (key == key[before]) & (act != act[before])
    same &= steps.table.episode == steps.table.episode[before]
    for rows in steps.by_episode(np.flatnonzero(same)):
        table = steps.table
        own = table.of(int(table.env[rows[0]]))
        own = own[(table.episode[own] == table.episode[rows[0]]) & steps.acts[own]]
        if len(rows) >= ALIKE and len(rows) == len(own) - 1 and _something(steps, own):
            yield own


def _summed(columns: dict[str, Column]) -> Array:
    """uint64 [n]: a number for all of these columns' values in a row."""
    keys = np.stack([row_keys(column.values) for column in columns.values()])
    summed: Array = keys.sum(axis=0, dtype=np.uint64)
    return summed


def _something(steps: ControlSteps, rows: Array) -> bool:
    """Whether the scene moved meanwhile, as far as that is told."""
    native = steps.window.steps
    at = steps.table.last_row[rows] - native.first
    at = at[(at >= 0) & (at < len(native))]
    after = native.after[at]
    after = after[after != 0]
    return len(after) < 2 or len(np.unique(after)) > 1


def _changed(steps: ControlSteps, rows: Array, source: Array) -> Finding:
    t = int(rows[0])
    other = where(steps, int(source[t]))
    return about(
        steps,
        ID,
        t,
        headline=f"what was stored of {where(steps, t)} changed afterwards",
        why=(
            f"it holds what {other} saw, and so do {counted(len(rows), 'row')} of this "
            "environment: they are views of one buffer"
        ),
        remedy=REMEDY,
        field="stored.observation_after",
        evidence={"rows": len(rows), "holds": other},
        rows=rows,
    )


def _alike(steps: ControlSteps, rows: Array) -> Finding:
    t = int(rows[0])
    return about(
        steps,
        ID,
        t,
        headline=f"all observations from {where(steps, t)} on are equal",
        why=f"{counted(len(rows), 'row')} to the last bit, while the actions vary",
        remedy=REMEDY,
        field="observation_after",
        confidence=0.8,
        evidence={"rows": len(rows)},
        rows=rows,
    )
