"""Contact points and forces of one row, each once.

The recorder lists a contact between two moving bodies with both of them, in equal
numbers: point and force on the first body (A). Absent fields mean that there is no
contact or that contacts were not recorded; only the whole recording tells which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.tracks import RaggedTrack
from isoscope.widgets.scene.state import Contacts, no_contacts

if TYPE_CHECKING:
    from isoscope.core.recording.model import Actor, Recording
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.state import Intent

POINTS, FORCES = "contacts_posA", "contacts_force"
SAMPLED_ROWS = 2000  # over all actors


def contacts_at(recording: Recording, row: int, intent: Intent) -> Contacts:
    """The contacts of all actors that are not hidden, in this row."""
    recorded = False
    found = []
    for actor in recording.actors:
        if POINTS not in actor.fields:
            continue
        recorded = True
        if actor.index not in intent.hidden:
            points = _vectors(actor, POINTS, row)
            if points is not None:
                found.append(_with_forces(points, _vectors(actor, FORCES, row)))
    if not found:
        return no_contacts(recorded)
    rows = np.concatenate(found)
    rows = rows[np.isfinite(rows[:, :3]).all(axis=1)]
    # NaN differs from itself, so copies are found by their bytes.
    keys = np.ascontiguousarray(rows).view(f"V{rows.itemsize * 6}").reshape(-1)
    _, first = np.unique(keys, return_index=True)
    rows = rows[np.sort(first)]
    return Contacts(recorded, rows[:, :3], rows[:, 3:])


def typical_force_n(recording: Recording) -> float:
    """A force [N] that most contacts stay below, over sampled rows; 0 without any.

    The 90th percentile of the forces' lengths, so that one impact doesn't make all
    other arrows invisible.
    """
    lengths = []
    having = [a for a in recording.actors if FORCES in a.fields]
    for actor in having:
        track = actor.fields[FORCES]
        if not isinstance(track, RaggedTrack):
            continue
        end = track.first + len(track)
        stride = max(1, len(track) * len(having) // SAMPLED_ROWS)
        for row in range(track.first, end, stride):
            forces = _vectors(actor, FORCES, row)
            if forces is not None:
                lengths.append(np.linalg.norm(forces, axis=1))
    if not lengths:
        return 0.0
    found = np.concatenate(lengths)
    found = found[np.isfinite(found) & (found > 0)]
    return float(np.percentile(found, 90)) if len(found) else 0.0


def _with_forces(points: Array, forces: Array | None) -> Array:
    if forces is None or len(forces) != len(points):
        forces = np.full(points.shape, np.nan)
    return np.concatenate([points, forces], axis=1)


def _vectors(actor: Actor, field: str, row: int) -> Array | None:
    """A row's vectors [k, 3], or None where absent or of another form."""
    track = actor.fields.tracks.get(field)
    value = track.at(row) if track is not None else None
    if value is None or value.dtype.kind != "f" or value.size % 3 or not value.size:
        return None
    return value.reshape(-1, 3).astype(np.float64)
