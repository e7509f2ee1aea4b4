"""Positions and velocities of a model's actors, from what was recorded of them.

A recording has places; velocities over a step are mean ones. A joint's velocity after a
step is its change in the step by h, which is what an implicit Euler step has at its
end. A free body's is the change of its place, and its recorded omega.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import StepKind
from isoscope.core.replay.fields import take

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array, BoolArray
    from isoscope.core.replay.stand_in.fitting import Body, Fit

# Below it the change of a float32 place by h is mostly rounding; a reset's step is.
SHORTEST_H_S = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """An episode's native steps of one environment, without those of its reset.

    Attributes
    ----------
    rows
        int64 [n], ascending.
    before
        int64 [n]: the step of the same episode before each, its reset's for the first;
        -1 where there is none.
    """

    env: int
    episode: int
    rows: Array
    before: Array


def sequences(examined: Examined, env: int | None) -> list[Sequence]:
    """The episodes of all environments, or of one."""
    labels = examined.attribution.labels
    found = []
    for number in examined.environments():
        if env is not None and env != number:
            continue
        own = np.flatnonzero(labels.env == number)
        for episode in np.unique(labels.episode[own]).tolist():
            rows = own[labels.episode[own] == episode]
            before = np.concatenate([[-1], rows[:-1]])
            steps = labels.kind[rows] != StepKind.RESET
            if steps.any():
                found.append(Sequence(number, episode, rows[steps], before[steps]))
    return found


def positions(body: Body, rows: Array) -> tuple[Array, BoolArray]:
    """float64 [n, position_size] after these rows, and where they are known."""
    tracks = body.recorded.fields.tracks
    if body.articulated:
        values, valid = take(tracks["pose"], rows)  # type: ignore[arg-type]  # looked at when fitted
        flat = values.reshape(len(rows), -1).astype(np.float64)
        return flat, valid & np.isfinite(flat).all(1)
    place, here = take(tracks["translation"], rows)  # type: ignore[arg-type]  # as above
    turn, there = take(tracks["rotation"], rows)  # type: ignore[arg-type]  # as above
    turn = turn.astype(np.float64)
    length = np.linalg.norm(turn, axis=1, keepdims=True)
    flat = np.concatenate([place, turn / np.where(length > 0, length, 1)], 1)
    return flat, here & there & np.isfinite(flat).all(1) & (length[:, 0] > 0)


def velocities(
    body: Body, rows: Array, before: Array, h_s: Array
) -> tuple[Array, BoolArray]:
    """float64 [n, velocity_size] after these rows, and where they are known.

    Parameters
    ----------
    before
        int64 [n]: the step before each of the same episode, -1 where there is none.
    h_s
        float64 [n]: of `rows`.
    """
    known = (before >= 0) & np.isfinite(h_s) & (h_s >= SHORTEST_H_S)
    safe = np.where(known, before, rows)
    after, a = positions(body, rows)
    first, b = positions(body, safe)
    known &= a & b
    h = np.where(known, h_s, 1.0)[:, None]
    if body.articulated:
        return (after - first) / h, known
    spin, told = _omega(body, rows)
    linear = (after[:, :3] - first[:, :3]) / h
    inside = _turned_back(after[:, 3:], spin)
    return np.concatenate([linear, inside], 1), known & told


def _omega(body: Body, rows: Array) -> tuple[Array, BoolArray]:
    track = body.recorded.fields.tracks.get("omega")
    if track is None:
        return np.zeros((len(rows), 3)), np.zeros(len(rows), np.bool_)
    values, valid = take(track, rows)  # type: ignore[arg-type]  # of fixed shape
    flat = values.reshape(len(rows), -1).astype(np.float64)
    return flat[:, :3], valid & np.isfinite(flat).all(1)


def _turned_back(quaternions: Array, vectors: Array) -> Array:
    """World vectors [n, 3] in the axes of bodies, by quaternions x y z w [n, 4]."""
    u, w = -quaternions[:, :3], quaternions[:, 3:]
    t = 2.0 * np.cross(u, vectors)
    found: Array = vectors + w * t + np.cross(u, t)
    return found


def in_order(
    fit: Fit, rows: Array, before: Array, h_s: Array
) -> tuple[list[tuple[Array, Array]], BoolArray]:
    """Each body's positions and velocities after these rows; where all are known."""
    known = np.ones(len(rows), np.bool_)
    found = []
    for body in fit.bodies:
        q, here = positions(body, rows)
        v, there = velocities(body, rows, before, h_s)
        known &= here & there
        found.append((q, v))
    return found, known
