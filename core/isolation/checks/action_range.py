"""Actions outside the box, clipped ones that are not, and the two confused."""

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
    from isoscope.core.isolation.control_steps import Column, ControlSteps
    from isoscope.core.isolation.findings import Finding, Severity
    from isoscope.core.isolation.incremental import Running
    from isoscope.core.recording.tracks import Array

ID = "action-range"
SEVERITY: Severity = "error"
ABOUT = "actions outside their box, saturating, or raw and clipped ones confused"
NEEDS = "raw and clipped actions, and the limits of their space, as the tap tells them"
ROUNDINGS = 4.0  # of the limits, by which clipping may be off
AT_LEAST = 50  # actions of an environment before they are said to saturate
SATURATES = 0.5  # of them beyond the limits
REMEDY = (
    "Clip once, in the environment or a ClipAction wrapper, and say which of the two "
    "is stored: a policy's log-probability belongs to the raw action."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an environment's episode and kind, and one that saturates."""
    yield from look_at(context.tells(NEEDS), look)


def begin() -> Running:
    """Keep up with a run."""
    return Following(look)


def look(steps: ControlSteps) -> Iterator[Finding]:
    """Yield a finding for each episode with such actions."""
    if not len(steps):
        return
    raw, clipped = steps.group("raw_action"), steps.group("action")
    limited = False
    for name in {**raw, **clipped}:
        either = clipped.get(name) or raw[name]
        limits = _limits(steps, name, either)
        if limits is None:
            continue
        limited = True
        yield from _of_leaf(steps, raw.get(name), clipped.get(name), limits)
    if not limited:
        raise CannotRunError("no limits of actions are known", NEEDS)


def _limits(
    steps: ControlSteps, name: str, column: Column
) -> tuple[Array, Array] | None:
    """Low and high, float64 [width]; None where there are none."""
    width = column.values.shape[1]
    low, high = column.low, column.high
    if not low and name == "value":
        for space in steps.window.identity.spaces:
            if space.role == "action" and space.low and space.high:
                low, high = tuple(space.low), tuple(space.high)
    if len(low) != width or len(high) != width:
        return None
    return np.array(low, np.float64), np.array(high, np.float64)


def _of_leaf(
    steps: ControlSteps,
    raw: Column | None,
    clipped: Column | None,
    limits: tuple[Array, Array],
) -> Iterator[Finding]:
    none = np.zeros(len(steps), np.bool_)
    raw_out = none if raw is None else raw.there & ~_inside(raw.values, limits)
    told = none if clipped is None else clipped.there
    out = none if clipped is None else told & ~_inside(clipped.values, limits)
    swapped = out & ~raw_out & (none if raw is None else raw.there)
    swapped &= raw is not None and clipped is not None
    if swapped.any() and raw is not None and clipped is not None:
        low, high = limits
        should = np.clip(clipped.values.astype(np.float64), low, high)
        swapped &= _near(raw.values, should, limits)
    for rows in steps.by_episode(np.flatnonzero(swapped)):
        what = "are the wrong way round", "the raw one is what clipping the other gives"
        yield _finding(steps, rows, f"raw and clipped action {what[0]}", what[1])
    for rows in steps.by_episode(np.flatnonzero(out & ~swapped)):
        worst = _worst(clipped, rows, limits)
        yield _finding(
            steps, rows, "an action outside the box was applied", f"it is {worst}"
        )
    if raw is not None and clipped is not None:
        should = np.clip(raw.values.astype(np.float64), *limits)
        other = told & raw.there & ~out
        other &= ~_near(clipped.values, should, limits)
        other &= np.isfinite(raw.values.astype(np.float64)).all(axis=1)
        for rows in steps.by_episode(np.flatnonzero(other)):
            why = "it is not what clipping the raw action to the box gives"
            yield _finding(steps, rows, "the clipped action is another one", why)
    unclipped = raw_out & ~told & steps.acts
    for rows in steps.by_episode(np.flatnonzero(unclipped)):
        why = f"{_worst(raw, rows, limits)}, and nothing is known to have clipped it"
        yield _finding(steps, rows, "an action outside the box was given", why, 0.8)
    yield from _saturating(steps, raw, raw_out & told)


def _saturating(
    steps: ControlSteps, raw: Column | None, out: Array
) -> Iterator[Finding]:
    """Yield environments most of whose actions are cut off."""
    if raw is None:
        return
    acts = raw.there & steps.acts
    for rows in steps.by_env(np.flatnonzero(out)):
        env = steps.table.env[rows[0]]
        given = int((acts & (steps.table.env == env)).sum())
        share = len(rows) / max(given, 1)
        if given >= AT_LEAST and share > SATURATES:
            t = int(rows[0])
            yield about(
                steps,
                ID,
                t,
                headline=f"the actions of env {env} saturate from {where(steps, t)} on",
                why=(
                    f"{share:.0%} of {counted(given, 'action')} lie beyond the box and "
                    "are cut off"
                ),
                remedy=(
                    "The policy was made for another range: scale its output to the "
                    "box (low + (a + 1)/2 (high - low) for a in -1 to 1)."
                ),
                field="raw_action",
                evidence={"share": share, "actions": given},
                rows=rows[:0],
                severity="warning",
            )


def _inside(values: Array, limits: tuple[Array, Array]) -> Array:
    """Bool [n]: rows within the limits, up to rounding; NaN is another finding."""
    low, high = limits
    wide = values.astype(np.float64)
    slack = _slack(values, limits)
    outside = (wide < low - slack) | (wide > high + slack)
    return np.asarray(~outside.any(axis=1))


def _near(values: Array, should: Array, limits: tuple[Array, Array]) -> Array:
    off = np.abs(values.astype(np.float64) - should)
    return np.asarray(~(off > _slack(values, limits)).any(axis=1))


def _slack(values: Array, limits: tuple[Array, Array]) -> Array:
    if values.dtype.kind != "f":
        return np.zeros(len(limits[0]))
    size = np.maximum(np.abs(limits[0]), np.abs(limits[1]))
    eps = float(np.finfo(values.dtype).eps)
    return np.where(size < 1e100, ROUNDINGS * eps * size, 0.0)


def _worst(column: Column | None, rows: Array, limits: tuple[Array, Array]) -> str:
    assert column is not None
    row = column.values[rows[0]].astype(np.float64)
    low, high = limits
    k = int(np.argmax(np.maximum(low - row, row - high)))
    return f"{row[k]:.6g} where {low[k]:.6g} to {high[k]:.6g} is allowed"


def _finding(
    steps: ControlSteps, rows: Array, what: str, why: str, confidence: float = 1.0
) -> Finding:
    t = int(rows[0])
    more = f", and so in {counted(len(rows) - 1, 'more row')}" if len(rows) > 1 else ""
    return about(
        steps,
        ID,
        t,
        headline=f"{what} in {where(steps, t)}",
        why=why + more,
        remedy=REMEDY,
        field="action",
        confidence=confidence,
        evidence={"rows": len(rows)},
        rows=rows,
    )
