"""State that was rounded on its way into the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.rounding import precision_of
from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.states import STATE_FIELDS
from isoscope.core.recording.tracks import Track
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.recording.tracks import Array

ID = "rounded-values"
SEVERITY: Severity = "warning"
ABOUT = "states written with fewer digits than the engine computes"
SAMPLE_ROWS = 4096
# A body that moves by even amounts lies on a grid for a few steps by chance.
MIN_DISTINCT = 32
LISTED_AT_MOST = 100


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding for each way of rounding."""
    fields: dict[tuple[str, str], list[str]] = {}
    distinct: dict[tuple[str, str], int] = {}
    for actor, name, track in context.subject.tracks():
        if name not in STATE_FIELDS or not isinstance(track, Track):
            continue
        if track.dtype.kind != "f":
            continue
        values = sample(track)
        how = rounding(values)
        if how is not None:
            key = (how, track.dtype.name)
            fields.setdefault(key, []).append(f"{actor.name}.{name}")
            distinct[key] = max(distinct.get(key, 0), len(np.unique(values)))
    for (how, dtype), names in fields.items():
        what = names[0]
        if len(names) > 1:
            what += f" and {counted(len(names) - 1, 'more field')}"
        headline = f"{what} {'are' if len(names) > 1 else 'is'} written as {how}"
        yield Finding(
            id=ID,
            severity=SEVERITY,
            field=names[0],
            value=how,
            expected=f"{dtype} values",
            headline=headline,
            message=f"{headline}: not as the engine computes it",
            remedy=(
                "Replaying from such states departs from the run at once, and bit for "
                "bit can't be claimed. Record the engine's own numbers."
            ),
            evidence={
                "fields": names[:LISTED_AT_MOST],
                "distinct_values": distinct[how, dtype],
            },
        )


def sample(track: Track) -> Array:
    """Flat valid values of up to `SAMPLE_ROWS` rows, spread over the track."""
    stride = max(1, len(track) // SAMPLE_ROWS)
    values = track.values[::stride][track.valid[::stride]].reshape(-1)
    return values[np.isfinite(values)]


def rounding(values: Array) -> str | None:
    """How values of one dtype were rounded, in words; None if they weren't."""
    distinct = np.unique(values)
    distinct = distinct[distinct != 0]
    if len(distinct) < MIN_DISTINCT:
        return None
    precision = precision_of(distinct)
    if precision.grid > 0:
        # Noise about 0 lies on every grid: it has to be a grid of many points.
        points = np.unique(np.rint(distinct.astype(np.float64) / precision.grid))
        if len(points) < MIN_DISTINCT:
            return None
        return f"multiples of {precision.grid:g}"
    if precision.rounded:
        return f"half-precision numbers in {values.dtype.name}"
    if values.dtype == np.float64 and fits_float32(distinct):
        return "float32 numbers in float64"
    return None


def fits_float32(values: Array) -> bool:
    """Whether every one of these float64 numbers is a float32 number."""
    small = np.abs(values) < float(np.finfo(np.float32).max)
    if not small.all():
        return False
    return bool(np.array_equal(values, values.astype(np.float32).astype(np.float64)))
