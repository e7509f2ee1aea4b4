"""How episodes begin, by what their resets gave back as observation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoscope.core.isolation.observation_keys import observation_keys
from isoscope.core.isolation.own_components import without_own
from isoscope.core.isolation.row_keys import rows_alike
from isoscope.core.recording.tracks import Track
from isoscope.core.replay.fields import take

if TYPE_CHECKING:
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array

LOOKED_AT = 64  # starts that are compared body by body
ROUNDINGS = 8.0  # of the numbers that a body's place before a step is made of


def observed_starts(window: LabelledContext) -> list[tuple[Array, Array]]:
    """Reset rows int64 [n], and uint64 [n], a number for what is seen there; 0 unknown.

    Once by whole observations. Once without what is the environment's own in them, a
    target say: of these only such as began with all bodies at the same places.
    """
    table = window.transitions
    at = np.flatnonzero((table.valid == 0) & (table.first_row >= 0))
    at = at[table.first_row[at] < len(window.steps)]
    at = np.asarray(at[window.steps.reset[table.first_row[at]]])
    if not len(at):
        return []
    rows = table.first_row[at]
    return [
        (rows, observation_keys(window, at)),
        (rows, _beside_own(window, at, rows)),
    ]


def _beside_own(window: LabelledContext, at: Array, rows: Array) -> Array:
    key = np.zeros(len(at), np.uint64)
    told = without_own(window, at)
    if told is None:
        return key
    following = [_next_of(window, int(row)) for row in rows]
    known = np.array(following) >= 0
    bodies = _Bodies(window)
    for alike in rows_alike(np.flatnonzero(known), told[1][known]):
        if len(alike) > LOOKED_AT:
            continue  # in so many an observation says little
        first, *others = alike
        begin = bodies.before(following[first])
        same = [k for k in others if _at_one(begin, bodies.before(following[k]))]
        if same:
            key[[first, *same]] = np.uint64(1 + first)
    return key


def _next_of(window: LabelledContext, row: int) -> int:
    """The native step after a reset's own, of the same environment; -1 if none."""
    found = window.next_row(int(window.steps.env[row]), row + 1)
    return found if found >= 0 and not window.steps.reset[found] else -1


class _Place(NamedTuple):
    """Where a body's centre was [m], and how far that may be off."""

    at: Array
    off: Array


class _Bodies:
    """Where the bodies of a scene were before a native step, by name and number.

    A step's mean velocity tells it; each environment's own scene has bodies of its own.
    """

    def __init__(self, window: LabelledContext) -> None:
        self._h_s = window.steps.h_s
        fields: dict[int, dict[str, Track]] = {}
        for key, track in window.labelled.fields.items():
            if key.over == "native" and isinstance(track, Track):
                fields.setdefault(key.actor, {})[key.name] = track
        self._tracks: list[tuple[tuple[str, int], Track, Track]] = []
        seen: dict[tuple[str, int], int] = {}
        for number, actor in sorted(window.labelled.actors.items()):
            of_scene = actor.info.name, actor.info.scene
            seen[of_scene] = seen.get(of_scene, -1) + 1
            own = fields.get(number, {})
            place, speed = own.get("translationCom"), own.get("vcom")
            if place is None or speed is None or place.shape != speed.shape:
                continue
            if place.dtype.kind == speed.dtype.kind == "f":
                which = actor.info.name, seen[of_scene]
                self._tracks.append((which, place, speed))

    def before(self, row: int) -> dict[tuple[str, int], _Place]:
        """Places before a native step, of the bodies that tell them."""
        found: dict[tuple[str, int], _Place] = {}
        rows = np.array([row])
        for which, place, speed in self._tracks:
            end, there = take(place, rows)
            mean, known = take(speed, rows)
            if not (there[0] and known[0]):
                continue
            end, moved = end[0].astype(np.float64), float(self._h_s[row]) * mean[0]
            eps = float(max(np.finfo(t.dtype).eps for t in (place, speed)))
            size = np.maximum(np.abs(end), np.abs(moved))
            found[which] = _Place(end - moved, ROUNDINGS * eps * size)
        return found


def _at_one(a: dict[tuple[str, int], _Place], b: dict[tuple[str, int], _Place]) -> bool:
    """Whether these are the same bodies at the same places."""
    return (
        bool(a)
        and a.keys() == b.keys()
        and all(
            bool((np.abs(a[k].at - b[k].at) <= a[k].off + b[k].off).all()) for k in a
        )
    )
