"""Whose state was in the scene when it was stepped by 0 s.

Such a step writes no velocities, but the bodies' transforms as they were left: by the
environment that stepped before it, or by the one that had just restored its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import StepKind
from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from isoscope.core.attribution.result import Attribution
    from isoscope.core.attribution.runs import Runs
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import Array

TRANSFORMS = ("translation", "rotation")


def homes(recording: Recording, result: Attribution, zero: Array) -> dict[int, int]:
    """For steps of no duration the last step of the environment whose state they show.

    Parameters
    ----------
    recording, result
        What is known of the others.
    zero
        int64 [k]: rows of such steps, ascending. One that shows the states of several
        environments, or of none, is left out.
    """
    tracks = [
        track
        for actor in recording.actors
        if not actor.static
        for name in TRANSFORMS
        if isinstance(track := actor.fields.get(name), Track)
    ]
    if not len(zero) or not tracks:
        return {}
    env, kind = result.labels.env, result.labels.kind
    last: dict[int, int] = {}
    found: dict[int, int] = {}
    seen = 0
    for row in zero.tolist():
        rows = np.flatnonzero((env[seen:row] >= 0) & (kind[seen:row] != StepKind.ZERO))
        last.update(zip(env[seen + rows].tolist(), (seen + rows).tolist(), strict=True))
        seen = row
        asked = np.array(sorted(last.values()), np.int64)
        equal = asked[_equal(tracks, row, asked)]
        if len(equal) == 1:
            found[row] = int(equal[0])
    return found


def _equal(tracks: list[Track], row: int, asked: Array) -> Array:
    """Bool [n]: whether each row asked for shows the same transforms, bit for bit."""
    same = np.ones(len(asked), np.bool_)
    compared = np.zeros(len(asked), np.bool_)
    for track in tracks:
        here = row - track.first
        if not 0 <= here < len(track) or not track.valid[here]:
            continue
        at = asked - track.first
        inside = (at >= 0) & (at < len(track))
        at[~inside] = 0
        both = inside & track.valid[at]
        equal = track.values[at] == track.values[here]
        axes = tuple(range(1, equal.ndim))
        same &= equal.all(axis=axes) | ~both
        compared |= both
    return same & compared


def count_in(result: Attribution, runs: Runs) -> None:
    """Count steps of no duration as substeps where only so control steps are whole.

    A run of native steps that is no multiple of M, but is one together with the steps
    of no duration next to it, had them as substeps. All others belong to no control
    step: somebody stepped the scene by 0 s on the side.
    """
    labels, count = result.labels, result.substeps
    zero = np.flatnonzero((labels.kind == StepKind.ZERO) & (labels.env >= 0))
    if count is None or not len(zero):
        return
    env_of = dict(zip(zero.tolist(), labels.env[zero].tolist(), strict=True))
    short = np.flatnonzero((runs.length % count != 0) & ~runs.reset)
    for run in short.tolist():
        begin = first = int(runs.first[run])
        end = int(runs.last[run])
        env = int(labels.env[first])
        while env_of.get(begin - 1) == env:
            begin -= 1
        while env_of.get(end + 1) == env:
            end += 1
        control = int(labels.control_step[first])
        if control < 0 or (end + 1 - begin) % count != 0:
            continue
        nth = np.arange(end + 1 - begin)
        labels.control_step[begin : end + 1] = control + nth // count
        labels.substep[begin : end + 1] = nth % count
