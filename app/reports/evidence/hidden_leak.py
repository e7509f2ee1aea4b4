"""A departure from an independent twin: both, from before they part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.app.reports.evidence.plot import (
    AFTER,
    BEFORE,
    Line,
    Mark,
    Plot,
    line_of,
    value_at,
)
from isoscope.core.recording.tracks import Track
from isoscope.core.replay.fields import take

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Finding


def plot_of(context: Context, finding: Finding) -> Plot | None:
    """The environment and its twin, from before they part."""
    subject, reference, native = context.subject, context.reference, finding.native
    twin = finding.evidence.get("reference_env")
    twin_row = finding.evidence.get("reference_native")
    if reference is None or native is None or finding.env is None:
        return None
    if not isinstance(twin, int) or not isinstance(twin_row, int):
        return None
    actor, _, field = (finding.field or "").rpartition(".")
    track, other = _named(subject, actor, field), _named(reference, actor, field)
    if track is None or other is None or track.shape != other.shape:
        return None
    apart = np.abs(np.array(finding.value, float) - np.array(finding.expected, float))
    part = int(np.nanargmax(np.nan_to_num(apart.reshape(-1), nan=np.inf)))
    own, theirs = subject.rows_of(finding.env), reference.rows_of(twin)
    at = int(np.searchsorted(own, native[0]))
    there = int(np.searchsorted(theirs, twin_row))
    low = min(at, there, BEFORE)
    high = min(len(own) - at, len(theirs) - there, AFTER)
    own, theirs = own[at - low : at + high], theirs[there - low : there + high]
    mine = line_of(track, part, own, f"env {finding.env}", finding.env)
    values, valid = take(other, theirs)
    flat = values.reshape(len(theirs), -1)[:, part].astype(np.float64)
    flat[~valid] = np.nan
    twins = Line("its twin", own.astype(np.float64), flat, -1, "dashed")
    name = f"{finding.field}" + (f" [{part}]" if apart.size > 1 else "")
    unit = finding.evidence.get("unit")
    return Plot(
        f"The environment and its twin: {name}",
        f"{name}{f' [{unit}]' if unit else ''}",
        (mine, twins),
        (Mark(float(native[0]), value_at(track, part, native[0]), "first difference"),),
        ((float(native[0]) - 0.5, float(own[-1]) + 0.5),),
    )


def _named(examined: Examined, actor: str, field: str) -> Track | None:
    for one in examined.recording.actors:
        if one.name == actor:
            track = one.fields.get(field)
            return track if isinstance(track, Track) else None
    return None
