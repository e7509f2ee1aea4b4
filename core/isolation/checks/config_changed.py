"""Persistent configuration that changed while the scene was shared.

A bare recording tells one such value, gravity, in every step. A snapshot does not cover
it, so a change by one environment is a change for all. It is a fault where some
environment other than the one that stepped first under the new value goes on under it.
Environments that each put their own value back before every step see no change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.registry import CannotRunError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Affected, Severity
    from isoscope.core.recording.tracks import Array

ID = "config-changed"
SEVERITY: Severity = "error"
ABOUT = "gravity that one environment changed for all that share the scene"


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a change that reached somebody."""
    subject = context.subject
    gravity = subject.recording.steps.gravity
    known = np.flatnonzero(np.isfinite(gravity).all(axis=1))
    if len(known) == 0:
        raise CannotRunError(
            "no step tells gravity", "a recording whose steps have their gravity"
        )
    env = subject.attribution.labels.env
    if subject.attribution.environments < 2:
        return
    changed = np.any(gravity[known[1:]] != gravity[known[:-1]], axis=1)
    own = _changes_seen(env, gravity, known)
    for at in np.flatnonzero(changed):
        before, after = int(known[at]), int(known[at + 1])
        end = _end_of_value(gravity, known, int(at) + 1)
        reached = _reached(subject, own, after, end)
        suspect = int(env[after])
        if suspect >= 0 and after not in own and not _carried(reached, suspect):
            continue  # everybody puts their own value back
        others = [a for a in reached if a.env != suspect]
        if not others and not _stays(env, known, int(at) + 1, suspect, end):
            continue
        yield _finding(subject, before, after, end, suspect, others)


def _changes_seen(env: Array, gravity: Array, known: Array) -> set[int]:
    """Rows whose gravity differs from what their own environment last stepped under."""
    seen: set[int] = set()
    for e in np.unique(env[known]):
        rows = known[env[known] == e]
        differs = np.any(gravity[rows[1:]] != gravity[rows[:-1]], axis=1)
        seen.update(int(row) for row in rows[1:][differs])
    return seen


def _end_of_value(gravity: Array, known: Array, at: int) -> int:
    """The last row of the run of equal gravity that begins at ``known[at]``."""
    differs = np.any(gravity[known[at:]] != gravity[known[at]], axis=1)
    later = np.flatnonzero(differs)
    return int(known[at + later[0] - 1]) if len(later) else int(known[-1])


def _reached(subject: Examined, own: set[int], first: int, last: int) -> list[Affected]:
    """Environments whose own value changes in rows first .. last, by their first."""
    env = subject.attribution.labels.env
    found: dict[int, Affected] = {}
    for row in sorted(row for row in own if first <= row <= last):
        who = int(env[row])
        if who >= 0 and who not in found:
            found[who] = subject.affected(who, row)
    return list(found.values())


def _carried(reached: list[Affected], suspect: int) -> bool:
    return any(affected.env != suspect for affected in reached)


def _stays(env: Array, known: Array, at: int, suspect: int, end: int) -> bool:
    """Whether nobody else had a turn under it, so that it may still reach them."""
    rows = known[at:]
    rows = rows[rows <= end]
    return end == int(known[-1]) and bool((env[rows] == suspect).all())


def _finding(
    subject: Examined,
    before: int,
    after: int,
    end: int,
    suspect: int,
    others: list[Affected],
) -> Finding:
    gravity = subject.recording.steps.gravity
    old, new = gravity[before].tolist(), gravity[after].tolist()
    env, episode, control_step = subject.place(after)
    who = f"env {suspect}" if suspect >= 0 else "an unknown environment"
    reach = "; ".join(
        f"env {a.env} is affected from {subject.where(a.native)}" for a in others
    )
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        other_env=others[0].env if others else None,
        episode=episode,
        control_step=control_step,
        native=(before, after),
        field="gravity",
        value=new,
        expected=old,
        confidence=float(subject.attribution.confidence[after]),
        message=(
            f"gravity changed from {_vector(old)} to {_vector(new)} m/s² between "
            f"native steps {before} and {after}; {who} stepped first under it, at "
            f"{subject.where(after)}" + (f"; {reach}" if reach else "")
        ),
        remedy=(
            "Gravity is not part of a snapshot. Put the value back before the other "
            "environments step, set it again for each environment before its step, or "
            "give this environment a scene of its own. Who changed it, only an "
            "instrumented run can say."
        ),
        evidence={"suspect": env, "last_native": end},
        tainted=tuple((a.native, end) for a in others),
        affected=tuple(others),
    )


def _vector(values: list[float]) -> str:
    return "(" + ", ".join(f"{v:.6g}" for v in values) + ")"
