"""Control time: how long an environment has been stepped since its reset.

With M substeps of h seconds a control step takes H = M h seconds; after substep s of
control step k the control time is ``(k - 1) H + (s + 1) h``, and after the reset's own
step it is 0. That step's 1e-5 s is an offset of the scene's clock, not of this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.clock import TimeAxis, TimeKind
from isoscope.core.recording.model import StepKind
from isoscope.core.timeaxis import LONGEST_S
from isoscope.core.timeline.steps import typical_h

if TYPE_CHECKING:
    from isoscope.core.recording.model import Labels
    from isoscope.core.recording.tracks import Array, Int64Array


def control_time_s(
    labels: Labels, h_s: Array, substeps: int | None, usual_s: float | None = None
) -> Array:
    """float64 [T]: each step's control time, of its own environment; NaN if unknown.

    Parameters
    ----------
    labels
        Whose each step was [T].
    h_s
        float64 [T]: duration of each step.
    substeps
        M, or None where it is unknown; then only the resets have a control time.
    usual_s
        h of a substep; found among these by default.
    """
    out = np.full(len(labels), np.nan)
    out[labels.kind == StepKind.RESET] = 0.0
    if substeps is None:
        return out
    step = (labels.kind == StepKind.SUBSTEP) & (labels.control_step >= 1)
    step &= labels.substep >= 0
    usual = typical_h(h_s[step]) if usual_s is None else usual_s
    done = (labels.control_step[step] - 1) * substeps + labels.substep[step]
    with np.errstate(over="ignore", invalid="ignore"):  # of made-up, huge values
        out[step] = done * usual + h_s[step]
    out[~np.isfinite(out)] = np.nan
    return out


def held(values: Array, own: Int64Array, rows: int) -> Array:
    """float64 [rows]: one environment's values as they stand at every row.

    Between its own rows an environment's time stands still: the value of its last row
    holds. NaN before its first.

    Parameters
    ----------
    values
        float64 [T]: of every row, of which only those of the environment count.
    own
        int64 [n]: the environment's rows, ascending.
    """
    out = np.full(rows, np.nan)
    if len(own):
        at = np.searchsorted(own, np.arange(rows), "right") - 1
        there = at >= 0
        out[there] = values[own[at[there]]]
    return out


def control_axis(
    control_s: Array, h_s: Array, own: Int64Array | None = None
) -> TimeAxis | None:
    """The control time to play over; None where nothing is known of it.

    Parameters
    ----------
    control_s
        float64 [T]: as `control_time_s` gives it.
    h_s
        float64 [T].
    own
        Rows of the environment whose time it is: only they take time. Without it,
        every step shows and takes its own environment's time.
    """
    lasts = np.where(np.isfinite(control_s) & (control_s > 0) & (h_s > 0), h_s, 0.0)
    lasts = np.minimum(lasts, LONGEST_S)
    stamps = control_s
    if own is not None:
        mine = np.zeros(len(h_s), np.bool_)
        mine[own] = True
        lasts = np.where(mine, lasts, 0.0)
        stamps = held(control_s, own, len(h_s))
    if not lasts.any():
        return None
    return TimeAxis(TimeKind.CONTROL, stamps, lasts)


def scene_axis(scene_s: Array, h_s: Array) -> TimeAxis | None:
    """The scene's own time to play over; None where it is known nowhere.

    Each row lasts its h; what is shown goes back wherever a state was restored.
    """
    if not np.isfinite(scene_s).any():
        return None
    lasts = np.where(np.isfinite(h_s) & (h_s > 0), h_s, 0.0)
    lasts = np.minimum(lasts, LONGEST_S)
    return TimeAxis(TimeKind.SCENE, scene_s, lasts)
