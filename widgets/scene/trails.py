"""Trails: where centres of mass came from, broken wherever a state was restored.

Two positions are joined only if the step explains the way between them: the recorded
velocity is the mean over the step, so the step began at ``x - h v``, and that has to be
where the row before ended. Where rows are labelled, a trail keeps to the environment
and episode at the cursor, and passes over the others' rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.tracks import Track
from isoscope.widgets.scene.bounds import moving
from isoscope.widgets.scene.state import Trail

if TYPE_CHECKING:
    from isoscope.core.recording.model import Actor, Labels, Recording
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.shapes import Shapes
    from isoscope.widgets.scene.state import Intent

# What a step may leave unexplained: a part of its own way, and rounding.
_OF_THE_WAY = 0.05
_ROUNDING = 64.0
# Without velocities: a way this many times the usual one is a jump.
_UNUSUAL = 8.0


def trails_at(
    recording: Recording,
    shapes: Shapes,
    row: int,
    intent: Intent,
    labels: Labels | None = None,
) -> tuple[Trail, ...]:
    """Trails of the selected actor or, without one, of all that move.

    `labels` say whose each step was; the recording's own by default.
    """
    rows = rows_of_trail(recording, row, intent.trail_rows, labels)
    if len(rows) < 2:
        return ()
    h_s = recording.steps.h_s[rows]
    found = []
    for index in _followed(shapes, intent):
        actor = recording.actors[index]
        if index in intent.hidden or not actor.alive(row):
            continue
        trail = _trail(actor, rows, h_s)
        if trail is not None:
            found.append(trail)
    return tuple(found)


def rows_of_trail(
    recording: Recording, row: int, count: int, labels: Labels | None = None
) -> Array:
    """The last rows up to this one that a trail goes through, ascending."""
    labels = labels or recording.labels
    if labels is None or row >= len(labels) or labels.env[row] < 0:
        return np.arange(max(0, row - count + 1), row + 1)
    env, episode = labels.env[row], labels.episode[row]
    # With e environments taking turns it takes e rows to find one: look back further.
    begin = max(0, row + 1 - 64 * count)
    own = (labels.env[begin : row + 1] == env) & (
        labels.episode[begin : row + 1] == episode
    )
    return begin + np.flatnonzero(own)[-count:]


def _followed(shapes: Shapes, intent: Intent) -> list[int]:
    able = moving(shapes)
    chosen = intent.selected
    if chosen is None or chosen >= len(shapes):
        return able
    family = (chosen, *shapes.links.get(chosen, ()))
    return [index for index in able if index in family]


def _trail(actor: Actor, rows: Array, h_s: Array) -> Trail | None:
    at = _columns(actor, "translationCom", rows)
    if at is None:
        at = _columns(actor, "translation", rows)
    if at is None:
        return None
    speed = _columns(actor, "vcom", rows)
    known = np.asarray(np.isfinite(at).all(axis=1))
    joined: Array = np.zeros(len(rows), np.bool_)
    with np.errstate(invalid="ignore"):
        joined[1:] = known[1:] & known[:-1] & _explained(at, speed, h_s)
    # A point that neither comes from nor leads to another has no line.
    kept = joined | np.append(joined[1:], False)
    if not kept.any():
        return None
    return Trail(actor.index, at[kept], joined[kept])


def _explained(at: Array, speed: Array | None, h_s: Array) -> Array:
    """Bool [n - 1]: whether each row's way from the row before is explained."""
    way = at[1:] - at[:-1]
    length = np.linalg.norm(way, axis=1)
    if speed is None:
        finite = length[np.isfinite(length)]
        usual = float(np.median(finite)) if len(finite) else 0.0
        return np.asarray(length <= _UNUSUAL * usual)
    expected = h_s[1:, None] * speed[1:]
    unexplained = np.linalg.norm(way - expected, axis=1)
    # Positions of a float32 recording are rounded to that.
    eps = np.finfo(np.float32).eps
    rounding = _ROUNDING * eps * np.abs(at[1:]).max(axis=1)
    allowed = _OF_THE_WAY * np.linalg.norm(expected, axis=1) + rounding
    return np.asarray(unexplained <= allowed)


def _columns(actor: Actor, field: str, rows: Array) -> Array | None:
    """Vectors [n, 3] of these rows, NaN where absent; None without such a field."""
    track = actor.fields.tracks.get(field)
    if not isinstance(track, Track) or track.shape != (3,) or track.dtype.kind != "f":
        return None
    start = int(rows[0])
    window = track.read(start, int(rows[-1]) + 1)
    values: Array = window.values[rows - start].astype(np.float64)
    values[~window.valid[rows - start]] = np.nan
    return values
