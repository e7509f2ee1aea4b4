"""What a plot is made of: lines, marked places, ranges not to be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.replay.fields import take

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array, Track

BEFORE, AFTER = 24, 24  # own native steps shown on either side of a finding
AXES = "xyz"


@dataclass(frozen=True, slots=True)
class Line:
    """A line or a row of points.

    Attributes
    ----------
    label
        What it is.
    x, y
        float64 [n]; NaN breaks the line.
    env
        Whose, for its colour; -1 for nobody's.
    style
        ``"line"``, ``"dashed"`` or ``"points"``.
    """

    label: str
    x: Array
    y: Array
    env: int
    style: str = "line"


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on a plot that matters: native step, value, and what it is."""

    x: float
    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot.

    Attributes
    ----------
    title, y_label
        In words; the unit is in the label.
    lines, marks
        What is drawn.
    shaded
        Ranges of native steps that are not to be trusted.
    """

    title: str
    y_label: str
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...] = ()
    shaded: tuple[tuple[float, float], ...] = ()


def line_of(
    track: Track, part: int, rows: Array, label: str, env: int, style: str = "line"
) -> Line:
    """One component of a field, flattened, at these native steps; absent is NaN."""
    values, valid = take(track, rows)
    width = int(np.prod(values.shape[1:], dtype=np.int64))
    flat = values.reshape(len(rows), width)[:, part].astype(np.float64)
    flat[~valid] = np.nan
    return Line(label, rows.astype(np.float64), flat, env, style)


def value_at(track: Track, part: int, row: int) -> float:
    """One component of a field in a native step; NaN where absent."""
    value = track.at(row)
    return float("nan") if value is None else float(value.reshape(-1)[part])
