"""What two recordings tell of their configuration, and where it is not the same.

A recording without labels tells gravity, h, the precision, its actors and their fields;
M and the number of environments follow from whose the steps were. Friction, inertia,
materials and solver settings are in neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.replay.forms import ConfigurationDifference
from isoscope.core.replay.own_actors import keyed

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.fields import Common
    from isoscope.core.replay.matching import Matching

LISTED_AT_MOST = 16


def configuration_differences(
    a: Examined, b: Examined, shared: Common, matching: Matching
) -> list[ConfigurationDifference]:
    """List what is known of both and not the same."""
    rows = [p.rows for p in matching.pairs if len(p.rows)]
    twins = [p.twins for p in matching.pairs if len(p.twins)]
    sides: dict[str, tuple[Any, Any]] = {}
    if rows:
        one, two = np.concatenate(rows), np.concatenate(twins)
        sides["gravity"] = _gravity(a.recording, one, b.recording, two)
        sides["h_s"] = _h_s(a.recording, one), _h_s(b.recording, two)
    sides["substeps"] = a.attribution.substeps, b.attribution.substeps
    sides["precision"] = _precision(a.recording), _precision(b.recording)
    sides["actors"] = _actors(a, b)
    sides["fields"] = (
        [*shared.only_a, *shared.shapes] or None,
        [*shared.only_b, *shared.shapes] or None,
    )
    sides["environments"] = len(a.environments()), len(b.environments())
    return [
        ConfigurationDifference(key=key, a=mine, b=theirs)
        for key, (mine, theirs) in sides.items()
        if _other(key, mine, theirs)
    ]


def _other(key: str, a: Any, b: Any) -> bool:
    """Whether two sides differ; what is unknown on one side differs from nothing."""
    if key == "fields":
        return a is not None or b is not None
    return a is not None and b is not None and a != b


def _gravity(a: Recording, rows: Array, b: Recording, twins: Array) -> tuple[Any, Any]:
    """The gravities of the compared steps, if one of these was under another one."""
    one, two = a.steps.gravity[rows], b.steps.gravity[twins]
    if _precision(a) != _precision(b):
        # The same number in two precisions is no other configuration.
        one, two = one.astype(np.float32), two.astype(np.float32)
    known = np.isfinite(one).all(axis=1) & np.isfinite(two).all(axis=1)
    if not (one[known] != two[known]).any():
        return None, None
    return _distinct(one[known]), _distinct(two[known])


def _distinct(values: Array) -> list[list[float]]:
    """Each different row of [n, 3] once, in order of its first appearance."""
    _, first = np.unique(values, axis=0, return_index=True)
    rows = values[np.sort(first)][:LISTED_AT_MOST]
    return [[float(x) for x in row] for row in rows]


def _h_s(recording: Recording, rows: Array) -> list[float] | None:
    """The different h of these steps [s], ascending."""
    h_s = recording.steps.h_s[rows]
    known = np.unique(h_s[np.isfinite(h_s)])
    return [float(h) for h in known[:LISTED_AT_MOST]] if len(known) else None


def _precision(recording: Recording) -> str | None:
    real = recording.real
    return None if real is None else str(real.newbyteorder("="))


def _actors(a: Examined, b: Examined) -> tuple[list[str], list[str]]:
    """What each actor of an environment is, without those that are so in both."""
    mine, theirs = (
        [
            _described(name, own.actor.type, own.actor.static)
            for (name, _), own in keyed(side).items()
        ]
        for side in (a, b)
    )
    rest_a, rest_b = list(mine), list(theirs)
    for one in mine:
        if one in rest_b:
            rest_b.remove(one)
            rest_a.remove(one)
    return rest_a, rest_b


def _described(name: str, kind: str, static: bool | None) -> str:
    return f"{name} ({'static ' if static else ''}{kind})"
