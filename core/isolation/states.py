"""States of the scene after a step, compared and measured.

A state here is what a recording tells of it: positions of every moving body, and all
fields that a step writes about an actor for comparing two files.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

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


def state_bytes(recording: Recording, row: int) -> bytes:
    """All state fields of all moving actors after a step, as bytes to compare.

    Equal bytes mean that two states are equal to the last bit in everything that the
    file tells; empty where it tells nothing.
    """
    parts: list[bytes] = []
    for actor in recording.actors:
        if actor.static:
            continue
        for name in STATE_FIELDS:
            track = actor.fields.get(name)
            value = None if track is None else track.at(row)
            if value is not None:
                # -0.0 and 0.0 are one place.
                parts.append((value + np.zeros(1, value.dtype)).tobytes())
    return b"".join(parts)


def as_plain(value: Array) -> object:
    """An array as plain numbers or lists of them, to be written."""
    return value.item() if value.ndim == 0 else value.tolist()
