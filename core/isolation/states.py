"""States of the scene after a step, compared and measured.

A state here is what a recording tells of it: positions of every moving body, and all
fields that a step writes about an actor for comparing two files.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.row_keys import row_keys
from isoscope.core.recording.tracks import Track
from isoscope.core.replay.fields import take

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import Array

POSITIONS = ("translationCom", "translation")
STATE_FIELDS = (
    "translationCom",
    "translation",
    "rotationCom",
    "rotation",
    "vcom",
    "omega",
    "pose",
    "displacement",
    "velocity",
)


def distance_m(recording: Recording, a: int, b: int) -> float | None:
    """How far any body's position after step `a` is from that after step `b` [m].

    None where no body has a position in both.
    """
    worst: float | None = None
    for actor in recording.actors:
        for name in POSITIONS:
            track = actor.fields.get(name)
            if track is None:
                continue
            first, second = track.at(a), track.at(b)
            if first is None or second is None or first.shape != second.shape:
                continue
            size = float(np.linalg.norm(first.astype(float) - second.astype(float)))
            if math.isfinite(size):
                worst = size if worst is None else max(worst, size)
            break
    return worst


def state_keys(recording: Recording, rows: Array) -> Array:
    """uint64 [n]: a number for the state after each of these steps; 0 where unknown.

    Equal ones mean that the states are equal to the last bit in everything that the
    recording tells.
    """
    key = np.zeros(len(rows), np.uint64)
    told = np.zeros(len(rows), np.bool_)
    for number, actor in enumerate(recording.actors):
        if actor.static:
            continue
        for place, name in enumerate(STATE_FIELDS):
            track = actor.fields.get(name)
            if not isinstance(track, Track):
                continue
            values, valid = take(track, rows)
            mix = np.uint64(2 * (number * len(STATE_FIELDS) + place) + 1)
            key += np.where(valid, row_keys(values) * mix, np.uint64(0))
            told |= valid
    return np.where(told, key | np.uint64(1), np.uint64(0))


def as_plain(value: Array) -> object:
    """An array as plain numbers or lists of them, to be written."""
    return value.item() if value.ndim == 0 else value.tolist()
