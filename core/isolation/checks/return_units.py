"""Returns that are not sums of rewards a control step, or of other frequencies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.control_findings import about, where
from isoscope.core.isolation.control_steps import NEEDS_STORED, ControlSteps
from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.registry import CannotRunError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array

ID = "return-units"
SEVERITY: Severity = "warning"
ABOUT = "returns in other units, or compared across control frequencies"
NEEDS = f"{NEEDS_STORED}: its returns; or a reference to compare with"
CLOSE = 1e-4  # relative
REMEDY = (
    "A return is a sum of rewards, one a control step: twice the frequency gives about "
    "twice the return. Divide by the episode's length, or multiply rewards by the "
    "control step's length in all runs, before you compare."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an episode, and one a reference of another frequency."""
    window = context.tells(NEEDS)
    steps = ControlSteps.of(window)
    kept = steps.stored.get("return")
    other = _reference_hz(context)
    if kept is None and other is None:
        if not len(steps):
            return
        raise CannotRunError("no return is told", NEEDS)
    mine = control_hz(window)
    if other is not None and mine is not None and not math.isclose(mine, other):
        yield _of_reference(context, mine, other)
    if kept is None:
        return
    rows = np.flatnonzero(kept.there)
    sums, known = returns(steps)
    told = kept.values[rows, 0].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = told / sums[rows]
    wrong = known[rows] & np.isfinite(ratio) & (np.abs(ratio - 1) > CLOSE)
    for t, factor in zip(rows[wrong].tolist(), ratio[wrong].tolist(), strict=True):
        yield _of_episode(steps, t, float(sums[t]), factor, mine)


def returns(steps: ControlSteps) -> tuple[Array, Array]:
    """The sum of an episode's rewards up to each row [n], and whether it is whole."""
    table, n = steps.table, len(steps)
    reward = np.where(table.valid == 1, np.nan_to_num(table.reward), 0.0)
    order = table.order
    env, episode = table.env[order], table.episode[order]
    new = np.ones(n, np.bool_)
    new[1:] = (env[1:] != env[:-1]) | (episode[1:] != episode[:-1])
    begins = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    run_ = np.cumsum(reward[order])
    offset = np.concatenate([[0.0], run_])[begins]
    sums = np.zeros(n)
    sums[order] = run_ - offset[group]
    # From its reset or first control step on, with every reward there.
    first = table.control_step[order][begins]
    missing = (table.valid == 1) & ~np.isfinite(table.reward)
    lacks = np.bincount(group, missing[order], len(begins)) > 0
    whole = ((first == 0) | (first == 1)) & ~lacks
    known = np.zeros(n, np.bool_)
    known[order] = whole[group]
    return sums, known


def control_hz(window: LabelledContext) -> float | None:
    """The control frequency as told, or by the simulation's and M."""
    identity = window.identity
    if identity.control_hz:
        return float(identity.control_hz)
    if identity.simulation_hz and identity.substeps:
        return float(identity.simulation_hz) / identity.substeps
    return None


def _reference_hz(context: Context) -> float | None:
    reference = context.reference
    if reference is None or reference.recording.labelled is None:
        return None
    identity = reference.recording.labelled.identity
    return float(identity.control_hz) if identity.control_hz else None


def _of_episode(
    steps: ControlSteps, t: int, total: float, factor: float, hz: float | None
) -> Finding:
    table = steps.table
    told = total * factor
    length = int(table.control_step[t])
    by, confidence = f"{factor:.6g} times that", 0.8
    for value, words in ((hz, "f_c"), (length, "the episode's length")):
        if not value:
            continue
        if math.isclose(factor, 1 / value, rel_tol=CLOSE):
            by, confidence = f"that divided by {words} ({value:g})", 1.0
        elif math.isclose(factor, value, rel_tol=CLOSE):
            by, confidence = f"that times {words} ({value:g})", 1.0
    return about(
        steps,
        ID,
        t,
        headline=f"the return that ends at {where(steps, t)} is in another unit",
        why=f"its rewards add up to {total:.6g}, and {told:.6g} is {by}",
        remedy=REMEDY,
        field="return",
        value=told,
        expected=total,
        confidence=confidence,
        evidence={"factor": factor, "control_hz": hz, "length": length},
        rows=np.zeros(0, np.int64),
    )


def _of_reference(context: Context, mine: float, other: float) -> Finding:
    reference = context.reference
    assert reference is not None
    headline = f"returns here are sums at {mine:g} Hz, and {other:g} Hz there"
    return Finding(
        id=ID,
        severity=SEVERITY,
        field="control_hz",
        value=mine,
        expected=other,
        headline=headline,
        message=f"{headline}: those of {reference.file} can't be compared as they are",
        remedy=REMEDY,
        evidence={"control_hz": mine, "reference_control_hz": other},
    )
