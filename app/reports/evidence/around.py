"""Where a finding is, for kinds without a plot of their own: its field, step by step.

The field that the finding names, if it is one of numbers; else where the environment's
fastest body is. Only its own native steps around the first one are shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.app.reports.evidence.plot import (
    AFTER,
    AXES,
    BEFORE,
    Mark,
    Plot,
    line_of,
)
from isoscope.core.isolation.stretches import stretches
from isoscope.core.recording.schema import meaning
from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Finding
    from isoscope.core.recording.tracks import Array

POSITIONS = ("translationCom", "translation")


def plot_of(context: Context, finding: Finding) -> Plot | None:
    """What the environment did around the finding; None where that has no place."""
    subject, native = context.subject, finding.native
    if finding.env is None or native is None:
        return None
    own = subject.rows_of(finding.env)
    at = int(np.searchsorted(own, native[0]))
    rows = own[max(at - BEFORE, 0) : at + AFTER]
    if at >= len(own) or len(rows) < 3:
        return None
    chosen = _named(subject, finding, rows) or _fastest(subject, rows)
    if chosen is None:
        return None
    track, part, name, label = chosen
    line = line_of(track, part, rows, f"env {finding.env}", finding.env)
    first = int(own[at])
    here = int(np.searchsorted(rows, first))
    known = np.flatnonzero(np.isfinite(line.y[: here + 1]))
    if not len(known):
        return None
    # where it is no number, its last one before is marked
    row = int(known[-1])
    where = "here" if row == here else "the last number before it"
    shaded = tuple(
        (max(one.low, int(rows[0])) - 0.5, min(one.high, int(rows[-1])) + 0.5)
        for one in stretches(subject.attribution.labels, finding, subject.rows_of)
        if one.env in (finding.env, None)
        and one.high >= rows[0]
        and one.low <= rows[-1]
    )
    mark = Mark(float(rows[row]), float(line.y[row]), where)
    return Plot(f"{name} around it", label, (line,), (mark,), shaded[:8])


def _named(
    subject: Examined, finding: Finding, rows: Array
) -> tuple[Track, int, str, str] | None:
    """The field that the finding names, and the component that moves most."""
    for actor, name, track in subject.tracks():
        if f"{actor.name}.{name}" != finding.field or not isinstance(track, Track):
            continue
        if track.dtype.kind != "f":
            return None
        part = _moving(track, rows)[0]
        unit = meaning(name).unit
        about = f"{actor.name}.{name}" + (f" [{part}]" if track.shape else "")
        return track, part, about, f"{about} [{unit}]" if unit else about
    return None


def _fastest(subject: Examined, rows: Array) -> tuple[Track, int, str, str] | None:
    best: tuple[float, Track, int, str] | None = None
    for actor in subject.recording.actors:
        if actor.static:
            continue
        for name in POSITIONS:
            track = actor.fields.get(name)
            if isinstance(track, Track) and track.shape == (3,):
                part, moved = _moving(track, rows)
                if best is None or moved > best[0]:
                    best = moved, track, part, f"{actor.name} {AXES[part]}"
                break
    if best is None or best[0] < 0:
        return None
    _, track, part, about = best
    return track, part, about, f"{about} [m]"


def _moving(track: Track, rows: Array) -> tuple[int, float]:
    """The component that moves most over these rows, and how far; -1 for unknown."""
    width = int(np.prod(track.shape, dtype=np.int64))
    moved = np.full(width, -1.0)
    for part in range(width):
        values = line_of(track, part, rows, "", -1).y
        values = values[np.isfinite(values)]
        if len(values):
            moved[part] = np.ptp(values)
    part = int(np.argmax(moved))
    return part, float(moved[part])
