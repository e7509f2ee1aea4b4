"""A controller's target, or a pose, stored as the action."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from isoscope.core.isolation.control_findings import about, where
from isoscope.core.isolation.control_steps import NEEDS_STORED, Following, look_at
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.recording.tracks import Track
from isoscope.core.replay.fields import take
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.control_steps import Column, ControlSteps
    from isoscope.core.isolation.findings import Finding, Severity
    from isoscope.core.isolation.incremental import Running
    from isoscope.core.recording.tracks import Array

ID = "target-as-action"
SEVERITY: Severity = "error"
ABOUT = "a controller's target or a joint's pose stored as the action"
NEEDS = f"{NEEDS_STORED}: its actions; and native targetPose and pose"
# Of some rows: values [n, width], and where they are there [n].
Take: TypeAlias = "Callable[[Array], tuple[Array, Array]]"
FIELDS = ("targetPose", "pose", "translation", "translationCom")
REMEDY = (
    "targetPose is what a controller follows: delayed, scaled, or held where the "
    "policy did something else. Store the action that was given to env.step."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an environment's episode."""
    yield from look_at(context.tells(NEEDS), look)


def begin() -> Running:
    """Keep up with a run."""
    return Following(look)


def look(steps: ControlSteps) -> Iterator[Finding]:
    """Yield a finding for each episode with such actions."""
    kept = steps.needs_stored("action").get("action")
    if kept is None:
        return
    told = [
        c
        for group in ("raw_action", "action")
        for n, c in steps.group(group).items()
        if n == "value" and c.values.shape == kept.values.shape
    ]
    if not told:
        raise CannotRunError("no actions are told beside the stored ones", NEEDS)
    wrong = kept.there & steps.acts
    for column in told:
        wrong &= ~(column.there & (kept.values == column.values).all(axis=1))
    wrong &= np.any([column.there for column in told], axis=0)
    rows = np.flatnonzero(wrong)
    for name, values_at in _natives(steps):
        if not len(rows):
            return
        values, there = values_at(rows)
        same = there & _equal(kept.values[rows], values)
        for own in steps.by_episode(rows[same]):
            yield _finding(steps, own, name)
        rows = rows[~same]


def _natives(steps: ControlSteps) -> Iterator[tuple[str, Take]]:
    """Yield native fields by name, and what gives their values at some rows."""
    for field in FIELDS:
        for name, column in steps.stored.items():
            if name.startswith("native/") and name.endswith(field):
                own = name.removeprefix("native/")
                yield own, partial(_as_stored, column)
        for actor, fields in _actors(steps):
            track = fields.get(field)
            if track is not None and len(track):
                yield f"{actor}.{field}", partial(_at_last_row, steps, track)


def _as_stored(column: Column, rows: Array) -> tuple[Array, Array]:
    return column.values[rows], column.there[rows]


def _at_last_row(steps: ControlSteps, track: Track, rows: Array) -> tuple[Array, Array]:
    """Values after the last native step of some rows, and where they are there."""
    values, there = take(track, steps.table.last_row[rows])
    return values.reshape(len(rows), -1), there


def _actors(steps: ControlSteps) -> list[tuple[str, dict[str, Track]]]:
    found: dict[int, dict[str, Track]] = {}
    for key, track in steps.window.labelled.fields.items():
        if key.over == "native" and key.group == "state" and isinstance(track, Track):
            found.setdefault(key.actor, {})[key.name] = track
    actors = steps.window.labelled.actors
    return [
        (actors[number].info.name if number in actors else str(number), fields)
        for number, fields in found.items()
    ]


def _equal(actions: Array, values: Array) -> Array:
    """Bool [n]: actions made of these numbers, cut or repeated to their width."""
    width = actions.shape[1]
    if not values.shape[1]:
        return np.zeros(len(actions), np.bool_)
    take = np.arange(width) % values.shape[1]
    with np.errstate(over="ignore"):
        made = values[:, take].astype(actions.dtype)
    return np.asarray((actions == made).all(axis=1) & (actions != 0).any(axis=1))


def _finding(steps: ControlSteps, rows: Array, name: str) -> Finding:
    t = int(rows[0])
    return about(
        steps,
        ID,
        t,
        headline=f"{name} is stored as the action of {where(steps, t)}",
        why=(
            f"in {counted(len(rows), 'row')} what was stored is the native field, and "
            "not the action that was given"
        ),
        remedy=REMEDY,
        field=name,
        evidence={"rows": len(rows)},
        rows=rows,
    )
