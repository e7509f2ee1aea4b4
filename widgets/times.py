"""The times that a document can be played over; no Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.clock import TimeAxis
from isoscope.core.controltime import control_axis, scene_axis

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.session import Document


def axes_of(document: Document) -> list[TimeAxis]:
    """The times that a document can be played over; the usual one first.

    The control time is that of the environment that is looked at or, without one, of
    each step's own environment.
    """
    steps, analysis = document.recording.steps, document.analysis
    rows = len(steps)  # read once: more may be read in meanwhile
    h_s = steps.h_s[:rows]
    axes = []
    if _known(h_s):
        axes.append(TimeAxis.recording(steps.time_s[:rows], h_s))
    scene_s, control_s = steps.scene_time_s[:rows], None
    if analysis is not None:
        if not _known(scene_s):
            scene_s = _padded(analysis.attribution.scene_time_s, rows)
        control_s = _padded(analysis.control_s, rows)
    found = [scene_axis(scene_s, h_s)]
    if control_s is not None and analysis is not None:
        focus = document.focus
        own = analysis.rows_of(focus) if focus is not None else None
        found.append(control_axis(control_s, h_s, own))
    axes += [axis for axis in found if axis is not None]
    axes.append(TimeAxis.native(h_s))
    return axes


def _padded(values: Array, rows: int) -> Array:
    """As many rows as there are; those that nobody has looked at yet are NaN."""
    if len(values) >= rows:
        return values[:rows]
    return np.concatenate([values, np.full(rows - len(values), np.nan)])


def _known(values: Array) -> bool:
    return bool(np.isfinite(values).any())
