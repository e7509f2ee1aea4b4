"""The lane of native steps: every step's h told by height, the odd ones by shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.timeline.model import Lane, LaneKind
from isoscope.core.timeline.pieces import Items, Marks, RowBits, Shape, StepLook

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array, Int64Array

# A reset's own step in the engine that writes these recordings.
RESET_H_S = 1e-5
# h is a sum of decimal fractions rounded to float32 or float64 by the writer.
SAME_H = 1e-6
USUAL_LEVEL = 60
LEVEL_PER_OCTAVE = 12
LOWEST_LEVEL = 14
FULL_LEVEL = 100


def typical_h(h_s: Array) -> float:
    """The usual h of these steps: the lower median of those above 0; NaN if none.

    Parameters
    ----------
    h_s
        float64 [T] in seconds.
    """
    known = h_s[np.isfinite(h_s) & (h_s > 0)]
    if not len(known):
        return float("nan")
    middle = (len(known) - 1) // 2
    return float(np.partition(known, middle)[middle])


def step_looks(h_s: Array, typical_s: float) -> Array:
    """What is special about each step, as uint8 [T] of `StepLook`."""
    looks = np.full(len(h_s), StepLook.USUAL, np.uint8)
    close = SAME_H * typical_s
    # As Python floats: made-up values may be as large as floats get.
    typical_s, close = float(typical_s), float(close)
    looks[h_s > typical_s + close] = StepLook.LONGER
    looks[h_s < typical_s - close] = StepLook.SHORTER
    if typical_s > 2 * RESET_H_S:
        looks[np.abs(h_s - RESET_H_S) < 1e-3 * RESET_H_S] = StepLook.TINY
    looks[h_s == 0] = StepLook.ZERO
    looks[~np.isfinite(h_s)] = StepLook.ABSENT
    return looks


def step_levels(h_s: Array, typical_s: float) -> Array:
    """Height of each step's bar, uint8 [T] in 0 .. 100: h on a log scale.

    The usual h stands at 60 and an octave is 12, cut off below 14, so that a step of
    1e-5 s can still be seen; a step of 0 s, or of unknown h, has none.
    """
    with np.errstate(all="ignore"):  # of made-up values the quotient may overflow
        octaves = np.log2(h_s / typical_s)
    level = USUAL_LEVEL + LEVEL_PER_OCTAVE * octaves
    some = np.isfinite(h_s) & (h_s > 0) & ~np.isnan(level)
    out = np.zeros(len(h_s), np.uint8)
    out[some] = np.clip(level[some], LOWEST_LEVEL, FULL_LEVEL).astype(np.uint8)
    return out


def steps_lane(h_s: Array, typical_s: float, row_is: str = "native step") -> Lane:
    """The lane of native steps, from h [T] and the usual h."""
    looks = step_looks(h_s, typical_s)
    rows, shapes = odd_steps(looks)
    marks = Marks(rows, shapes, lambda index: say_odd(Shape(int(shapes[index]))))
    return bars(RowBits(looks, step_levels(h_s, typical_s)), marks, row_is)


def bars(rows: RowBits, marks: Marks, row_is: str = "native step") -> Lane:
    """The lane of these bars, with the odd steps marked."""
    return Lane(
        key="steps",
        label=f"{row_is}s",
        about=f"one bar a {row_is}; its height is h, on a log scale",
        kind=LaneKind.STEPS,
        rows=rows,
        make=lambda: (Items.none(), marks),
    )


def odd_steps(looks: Array) -> tuple[Int64Array, Array]:
    """Rows of the steps that get a mark, and its shape (uint8), from `step_looks`."""
    odd = np.flatnonzero((looks == StepLook.ZERO) | (looks == StepLook.TINY))
    shapes = np.where(looks[odd] == StepLook.ZERO, Shape.ZERO, Shape.TINY)
    return odd.astype(np.int64), shapes.astype(np.uint8)


def say_odd(shape: Shape) -> str:
    """What a step's mark says."""
    if shape is Shape.ZERO:
        return "a step of 0 s"
    return "a step of 1e-5 s, as a reset takes it"
