"""NaN or infinity in what a step wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.context import runs
from isoscope.core.isolation.findings import Finding
from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.recording.tracks import AnyTrack, Array

ID = "non-finite"
SEVERITY: Severity = "error"
ABOUT = "NaN or infinity in a recorded field"
BLOCK = 65536  # rows looked at together


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a field that holds such values."""
    subject = context.subject
    for name, track in subject.recording.scene.tracks.items():
        yield from _look(subject, name, track)
    for actor, name, track in subject.tracks():
        yield from _look(subject, f"{actor.name}.{name}", track)


def _look(subject: Examined, field: str, track: AnyTrack) -> Iterator[Finding]:
    if track.dtype.kind not in "fc":
        return
    rows = bad_rows(track)
    if len(rows) == 0:
        return
    first, last = int(rows[0]), int(rows[-1])
    env, episode, control_step = subject.place(first)
    value = track.at(first)
    shown = "" if value is None else str(value.reshape(-1)[~np.isfinite(value)][0])
    yield Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        episode=episode,
        control_step=control_step,
        native=(first, last),
        field=field,
        value=shown,
        message=(
            f"{field} is not finite in {len(rows)} native steps, first in {first} "
            f"({shown})"
        ),
        remedy=(
            "The simulation has diverged or a value was never set: look at the steps "
            "before the first one, and leave out this episode from there on."
        ),
        evidence={"rows": len(rows)},
        tainted=tuple(runs(rows)),
    )


def bad_rows(track: AnyTrack) -> Array:
    """int64 [n]: the rows of a real-valued track that hold NaN or infinity."""
    found: list[Array] = []
    start, stop = track.first, track.first + len(track)
    for low in range(start, stop, BLOCK):
        high = min(low + BLOCK, stop)
        if isinstance(track, Track):
            window = track.read(low, high)
            finite = np.isfinite(window.values).reshape(high - low, -1).all(axis=1)
            found.append(low + np.flatnonzero(window.valid & ~finite))
        else:
            ragged = track.read(low, high)
            places = np.flatnonzero(~np.isfinite(ragged.values))
            rows = np.searchsorted(ragged.offsets, places, side="right") - 1
            found.append(low + np.unique(rows))
    odd = [
        row
        for row, value in track.odd.items()
        if value.dtype.kind in "fc" and not np.isfinite(value).all()
    ]
    return np.unique(np.concatenate([*found, np.array(odd, np.int64)]).astype(np.int64))
