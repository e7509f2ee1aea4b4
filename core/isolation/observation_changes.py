"""Rows whose observation is another order, precision or unit of what it should be.

What it should be is what the environment told, where a consumer stored something else;
else what its neighbours in time make likely: a single row that lies far from them, and
right between them if it is put into another order or unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.control_steps import Column, ControlSteps
    from isoscope.core.recording.tracks import Array

AFTER = "observation_after"
FACTORS = {
    float(180.0 / np.pi): "in degrees where radians are declared",
    float(np.pi / 180.0): "in radians where degrees are declared",
    1000.0: "a thousand times as large (mm for m, or ms for s)",
    1e-3: "a thousandth (m for mm, or s for ms)",
}
HALF_MAX = 65504.0  # the largest half-precision number
FAR = 8.0  # times the motion of its neighbours, by which a row is out of line
CLOSE = 1.0  # the same, within which the changed one is in line
LOOKED_AT = 256  # rows out of line in one window
WIDEST = 512  # components; a picture has no order that could be told


class Changed(NamedTuple):
    """Rows that were changed in one way."""

    kind: str
    how: str
    rows: Array
    confidence: float


def as_stored(steps: ControlSteps, name: str, told: Column) -> Iterator[Changed]:
    """Yield what a consumer stored that is another form of what it was told."""
    kept = steps.stored.get(AFTER if name == "value" else f"{AFTER}/{name}")
    if kept is None or told.values.dtype.kind != "f":
        return
    if kept.values.shape != told.values.shape:
        rows = np.flatnonzero(kept.there & told.there)
        shape = f"{kept.values.shape[1]} numbers for {told.values.shape[1]}"
        yield Changed("shape", f"as {shape}", rows, 1.0)
        return
    kind = told.values.dtype
    with np.errstate(over="ignore", invalid="ignore"):
        own = kept.values.astype(kind)
    at = np.flatnonzero(
        kept.there & told.there & (own != told.values).any(axis=1) & steps.acts
    )
    if kept.values.dtype != kind:
        rows = np.flatnonzero(kept.there & told.there)
        how = f"as {kept.values.dtype}, not {kind}"
        yield Changed("dtype", how, rows, 1.0)
    for kind_, how, rows in _forms(own[at], told.values[at]):
        yield Changed(kind_, how, at[rows], 1.0)


def _forms(own: Array, should: Array) -> Iterator[tuple[str, str, Array]]:
    """Yield (kind, how, indices): rows that are another form of what they should be."""
    left = np.ones(len(own), np.bool_)
    half = np.clip(should, -HALF_MAX, HALF_MAX).astype(np.float16).astype(should.dtype)
    hit = (own == half).all(axis=1)
    if hit.any():
        yield "dtype", "rounded to half precision", np.flatnonzero(hit)
    left &= ~hit
    if own.shape[1] <= WIDEST:
        hit = left & (np.sort(own, axis=1) == np.sort(should, axis=1)).all(axis=1)
        if hit.any():
            yield "order", "with its numbers in another order", np.flatnonzero(hit)
        left &= ~hit
    for factor, how in FACTORS.items():
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = should.astype(np.float64) * factor
            near = np.isclose(own, scaled, rtol=1e-5, atol=0)
            hit = left & (near | (own == should)).all(axis=1) & near.any(axis=1)
        if hit.any():
            yield "unit", how, np.flatnonzero(hit)
            left &= ~hit


def out_of_line(steps: ControlSteps, told: Column) -> Iterator[Changed]:
    """Yield single rows that lie between their neighbours in another form only."""
    values = told.values
    width = values.shape[1]
    if values.dtype.kind != "f" or not 2 <= width <= WIDEST:
        return
    before, after = steps.before, steps.after
    one = np.flatnonzero((before >= 0) & steps.acts & told.there)
    two = _other_side(steps, told, one)
    one = one[two >= 0]
    two = two[two >= 0]
    one, two = one[told.there[before[one]]], two[told.there[before[one]]]
    if not len(one):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        left = values[before[one]].astype(np.float64)
        right = values[two].astype(np.float64)
        here = values[one].astype(np.float64)
        middle = (left + right) / 2
        # At an episode's end it is the two before that say where it should be.
        ahead = two != after[one]
        middle = np.where(ahead[:, None], 2 * left - right, middle)
        motion = np.abs(right - left)
        # What a component does at most between two rows, so that a jerk is no fault.
        usual = _usual(steps, values, told.there)
        allowed = np.maximum(motion.max(axis=1), usual.max())
        off = np.abs(here - middle)
        far = np.isfinite(off).all(axis=1) & (off.max(axis=1) > FAR * allowed)
    at = np.flatnonzero(far)[:LOOKED_AT]
    found: dict[tuple[str, str], list[int]] = {}
    for i in at.tolist():
        form = _form_of(here[i], middle[i], float(allowed[i]))
        if form is not None:
            found.setdefault(form, []).append(int(one[i]))
    for (kind, how), rows in found.items():
        yield Changed(kind, how, np.array(rows, np.int64), 0.8)


def _other_side(steps: ControlSteps, told: Column, rows: Array) -> Array:
    """The next row of the episode, at its end the one before the last; -1 none."""
    table, before, after = steps.table, steps.before, steps.after
    following = after[rows]
    inside = (following >= 0) & steps.acts[following] & told.there[following]
    inside &= table.episode[following] == table.episode[rows]
    earlier = before[before[rows]]
    has = (earlier >= 0) & told.there[earlier]
    has &= table.episode[earlier] == table.episode[rows]
    return np.where(inside, following, np.where(has, earlier, -1))


def _usual(steps: ControlSteps, values: Array, there: Array) -> Array:
    """float64 [width]: how far each component goes between two rows, as a median."""
    before = steps.before
    at = np.flatnonzero((before >= 0) & steps.acts & there)
    at = at[there[before[at]]]
    if not len(at):
        return np.zeros(values.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        gone = np.abs(values[at].astype(np.float64) - values[before[at]])
    gone = gone[np.isfinite(gone).all(axis=1)]  # others say nothing of how far
    return np.median(gone, axis=0) if len(gone) else np.zeros(values.shape[1])


def _form_of(here: Array, middle: Array, allowed: float) -> tuple[str, str] | None:
    """In which form a row lies where it should; None in none of them."""

    def close(changed: Array) -> bool:
        return bool(np.abs(changed - middle).max() <= CLOSE * allowed)

    if close(here[::-1]):
        return "order", "with its numbers in another order"
    for shift in range(1, min(len(here), 32)):
        if close(np.roll(here, shift)):
            return "order", "with its numbers in another order"
    for factor, how in FACTORS.items():
        # Only the components with that unit are changed.
        off = np.abs(here - middle) > CLOSE * allowed
        # Whatever is divided by much lies near to nothing: that says nothing.
        told = np.abs(middle[off]) > CLOSE * allowed
        if told.all() and close(np.where(off, here / factor, here)):
            return "unit", how
    return None
