"""Persistent configuration that changed while the scene was shared.

A snapshot does not cover it, so a change by one environment is a change for all. A
labelled recording has a digest of all of it in every step, and says what was changed
and by whom; a bare one tells one such value, gravity. Whom a change reached is worked
out in `isoscope.core.isolation.configuration_runs`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.configuration_changes import told_changes
from isoscope.core.isolation.configuration_runs import Change, changes
from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.words import NAMED_AT_MOST, env_named, envs_named, vector
from isoscope.core.summary import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.configuration_changes import Told
    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Affected, Severity

ID = "config-changed"
SEVERITY: Severity = "error"
ABOUT = "configuration that one environment changed for all that share the scene"
ALIKE_AT_MOST = 8  # changes by one environment to one value that are told one by one
LISTED_AT_MOST = 100  # keys
OPEN = 0.5  # confidence where the recording ends before anybody else has a turn


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a change that reached somebody."""
    subject = context.subject
    if context.labelled is not None:
        told = told_changes(context.labelled)
        if told is not None:
            yield from _labelled(subject, told)
            return
    gravity = subject.recording.steps.gravity[: len(subject.attribution)]
    if len(gravity) and not np.isfinite(gravity).all(axis=1).any():
        raise CannotRunError(
            "no step tells gravity",
            "a recording whose steps have their gravity, or the tap's digests",
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


def _labelled(subject: Examined, told: list[Told]) -> Iterator[Finding]:
    seen: Counter[tuple[object, ...]] = Counter()
    alike = Counter(one.alike for one in told)
    for one in told:
        seen[one.alike] += 1
        if seen[one.alike] <= ALIKE_AT_MOST:
            last = seen[one.alike] == ALIKE_AT_MOST
            more = alike[one.alike] - ALIKE_AT_MOST if last else 0
            yield _told_finding(subject, one, max(more, 0))


def _told_finding(subject: Examined, told: Told, more: int) -> Finding:
    change = told.change
    suspect = change.suspect if change.suspect >= 0 else None
    env, episode, control_step = subject.place(change.after)
    if env != suspect:  # who set it had its turn before that
        before = subject.rows_of(change.suspect)
        before = before[before <= change.before]
        if len(before):
            _, episode, control_step = subject.place(int(before[-1]))
    affected = tuple(subject.affected(e, row) for e, row in change.reached)
    what = told.keys[0] if told.keys else "the configuration"
    if len(told.keys) > 1:
        what += f" and {len(told.keys) - 1} more"
    verb = "changed" if told.known else "stepped first after a change of"
    headline = f"{env_named(suspect)} {verb} {what}"
    if affected:
        headline += f", and reached {envs_named([a.env for a in affected])}"
    evidence: dict[str, object] = {
        "suspect": suspect,
        "scene": told.scene,
        "last_native": change.last,
        "keys": list(told.keys[:LISTED_AT_MOST]),
    }
    if more:
        evidence["more_like_it"] = more
    sure = 1.0 if told.known else float(subject.attribution.confidence[change.after])
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=suspect,
        other_env=affected[0].env if affected else None,
        episode=episode,
        control_step=control_step,
        native=(change.before, change.after),
        field=told.keys[0] if told.keys else "configuration",
        value=told.new,
        expected=told.old,
        confidence=min(sure, OPEN) if change.only else sure,
        headline=headline,
        message=(
            f"{headline}: between native steps {change.before} and {change.after}, in "
            f"a scene that is shared; {_whom(subject, change, affected)}"
        ),
        remedy=(
            "No snapshot covers it. Put the value back before the other environments "
            "step, set it again for each environment before its step, or give this "
            "environment a scene of its own."
        ),
        evidence=evidence,
        tainted=tuple((a.native, change.last) for a in affected),
        affected=affected,
        taints=_taints(affected, change),
    )


def _taints(affected: tuple[Affected, ...], change: Change) -> tuple[Taint, ...]:
    """What was reached can't be trusted up to the reset after the value is put back."""
    return tuple(
        taint
        for a in affected
        for taint in (
            Taint(env=a.env, native=(a.native, max(change.last, a.native))),
            Taint(env=a.env, native=(max(change.last, a.native), None)),
        )
    )


def _whom(subject: Examined, change: Change, affected: tuple[Affected, ...]) -> str:
    if change.only:
        return "the recording ends before another environment steps under it"
    reach = [f"env {a.env} from {subject.where(a.native)}" for a in affected]
    if len(reach) > NAMED_AT_MOST:
        reach = [*reach[:NAMED_AT_MOST], f"{len(reach) - NAMED_AT_MOST} more"]
    return f"affected: {listed(reach)}"


def _finding(subject: Examined, change: Change, more: int) -> Finding:
    gravity = subject.recording.steps.gravity
    old, new = gravity[change.before].tolist(), gravity[change.after].tolist()
    env, episode, control_step = subject.place(change.after)
    affected = tuple(subject.affected(e, row) for e, row in change.reached)
    whom = _whom(subject, change, affected)
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
        taints=_taints(affected, change),
    )
