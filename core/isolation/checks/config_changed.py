"""Persistent configuration that changed while the scene was shared.

A bare recording tells one such value, gravity, in every step. A snapshot does not
cover it, so a change by one environment is a change for all; whom it reached is worked
out in `isoscope.core.isolation.gravity`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.gravity import Change, changes
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.words import NAMED_AT_MOST, env_named, envs_named, vector
from isoscope.core.summary import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Severity

ID = "config-changed"
SEVERITY: Severity = "error"
ABOUT = "gravity that one environment changed for all that share the scene"
ALIKE_AT_MOST = 8  # changes by one environment to one value that are told one by one
OPEN = 0.5  # confidence where the recording ends before anybody else has a turn


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a change that reached somebody."""
    subject = context.subject
    gravity = subject.recording.steps.gravity[: len(subject.attribution)]
    if len(gravity) and not np.isfinite(gravity).all(axis=1).any():
        raise CannotRunError(
            "no step tells gravity", "a recording whose steps have their gravity"
        )
    if len(subject.environments()) < 2:
        return
    seen: Counter[tuple[int, str]] = Counter()
    found = changes(subject)
    alike = Counter((c.suspect, vector(gravity[c.after])) for c in found)
    for change in found:
        key = (change.suspect, vector(gravity[change.after]))
        seen[key] += 1
        if seen[key] <= ALIKE_AT_MOST:
            more = alike[key] - ALIKE_AT_MOST if seen[key] == ALIKE_AT_MOST else 0
            yield _finding(subject, change, max(more, 0))


def _finding(subject: Examined, change: Change, more: int) -> Finding:
    gravity = subject.recording.steps.gravity
    old, new = gravity[change.before].tolist(), gravity[change.after].tolist()
    env, episode, control_step = subject.place(change.after)
    affected = tuple(subject.affected(e, row) for e, row in change.reached)
    reach = [f"env {a.env} from {subject.where(a.native)}" for a in affected]
    if len(reach) > NAMED_AT_MOST:
        reach = [*reach[:NAMED_AT_MOST], f"{len(reach) - NAMED_AT_MOST} more"]
    whom = f"affected: {listed(reach)}"
    if change.only:
        whom = "the recording ends before another environment steps under it"
    whose = f"{env_named(env)}'s turn at {subject.where(change.after)}"
    headline = f"gravity changed before {whose}"
    if affected:
        headline += f", and reached {envs_named([a.env for a in affected])}"
    rows = [change.after, *(row for _, row in change.reached)]
    sure = float(subject.attribution.confidence[rows].min())
    evidence = {"suspect": env, "last_native": change.last}
    if more:
        evidence["more_like_it"] = more
        whom += f"; {more} more changes like it follow"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        other_env=affected[0].env if affected else None,
        episode=episode,
        control_step=control_step,
        native=(change.before, change.after),
        field="gravity",
        value=new,
        expected=old,
        confidence=min(sure, OPEN) if change.only else sure,
        headline=headline,
        message=(
            f"{headline}: from {vector(old)} to {vector(new)} m/s² between native "
            f"steps {change.before} and {change.after}; {whom}"
        ),
        remedy=(
            "Gravity is not part of a snapshot. Put the value back before the other "
            "environments step, set it again for each environment before its step, or "
            "give this environment a scene of its own. Who changed it, only an "
            "instrumented run can say."
        ),
        evidence=evidence,
        tainted=tuple((a.native, change.last) for a in affected),
        affected=affected,
    )
